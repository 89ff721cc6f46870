/** The longest time for which our own code held the event loop, without garbage collection. */

import { createHook } from 'node:async_hooks';
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Shorter ones are not remembered. */
const NOTED_MS = 1;
/** What runs before the event loop goes on: it belongs to the slice of the callback that it follows. */
const CONTINUATIONS: ReadonlySet<string> = new Set(['PROMISE', 'TickObject', 'Microtask']);

interface Slice {
  readonly startMs: number;
  readonly endMs: number;
  /** Processor time, which is less than the time by the clock where others are busy on the machine. */
  readonly cpuMs: number;
}

/**
 * Each call from the event loop into JavaScript is a slice, with all ticks and microtasks that follow it.
 * Node tells of the end of a call before these run, so a slice lasts until the end of the last of them.
 */
export class LongestSlice {
  readonly #slices: Slice[] = [];
  readonly #collections: { startMs: number; endMs: number }[] = [];
  readonly #continuations = new Set<number>();
  #depth = 0;
  #startMs = 0;
  #last: Slice | undefined;
  #cpu: NodeJS.CpuUsage = { user: 0, system: 0 };
  readonly #hook = createHook({
    init: (id, type) => {
      if (CONTINUATIONS.has(type)) this.#continuations.add(id);
    },
    before: (id) => this.#begin(id),
    after: () => this.#end(),
  });
  readonly #observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      this.#collections.push({ startMs: startTime, endMs: startTime + duration });
    }
  });

  start(): void {
    this.#slices.length = 0;
    this.#collections.length = 0;
    this.#continuations.clear();
    this.#last = undefined;
    this.#depth = 0;
    this.#beginSlice();
    this.#observer.observe({ entryTypes: ['gc'] });
    this.#hook.enable();
  }

  #begin(id: number): void {
    if (this.#depth++ === 0 && !this.#continuations.has(id)) this.#beginSlice();
  }

  #beginSlice(): void {
    if (this.#last !== undefined) this.#slices.push(this.#last);
    this.#last = undefined;
    this.#startMs = performance.now();
    this.#cpu = process.cpuUsage();
  }

  #end(): void {
    if (this.#depth === 0 || --this.#depth > 0) return;
    const endMs = performance.now();
    if (endMs - this.#startMs < NOTED_MS) return;
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#last = { startMs: this.#startMs, endMs, cpuMs: (user + system) / 1000 };
  }

  /** In milliseconds; 0 if none was as long as one. */
  async stop(): Promise<number> {
    this.#hook.disable();
    this.#beginSlice();
    // Collections are reported a turn later.
    await nextTurn();
    await nextTurn();
    this.#observer.disconnect();
    return Math.max(0, ...this.#slices.map((slice) => this.#ownMs(slice)));
  }

  #ownMs({ startMs, endMs, cpuMs }: Slice): number {
    const collected = this.#collections.reduce((sum, collection) => {
      const overlap = Math.min(endMs, collection.endMs) - Math.max(startMs, collection.startMs);
      return sum + Math.max(0, overlap);
    }, 0);
    const wallMs = endMs - startMs;
    // A collection is timed by the clock, so it is a share of the slice, however busy the machine is.
    return Math.min(wallMs, cpuMs) * (1 - Math.min(1, collected / wallMs));
  }
}

const STEPS = 10;
const STEP_MS = 3;
/** What the engine and other programs may add to the steps, and what a collection may hide of them. */
const ADDED_MS_MAX = 10;
const HIDDEN_SHARE_MAX = 0.2;
const LOOPS = 20_000;
let sink = 1;

/** Looks at the time seldom, since each look leaves garbage, whose collection is not counted. */
function work(): void {
  const before = process.cpuUsage();
  for (let ms = 0; ms < STEP_MS; ) {
    for (let count = 0; count < LOOPS; count++) sink = (sink * 5 + count) | 0;
    const { user, system } = process.cpuUsage(before);
    ms = (user + system) / 1000;
  }
}

/** The longest slice of so many steps, with the same pause between two of them. */
async function measureSteps(slices: LongestSlice, pause: () => Promise<void>): Promise<number> {
  await nextTurn();
  slices.start();
  await nextTurn();
  for (let step = 0; step < STEPS; step++) {
    work();
    await pause();
  }
  await nextTurn();
  return slices.stop();
}

function assertNear(what: string, ms: number, expectedMs: number): void {
  if (ms >= expectedMs * (1 - HIDDEN_SHARE_MAX) && ms <= expectedMs + ADDED_MS_MAX) return;
  throw new Error(`${what}: got a slice of ${ms.toFixed(1)} ms, expected ${expectedMs}`);
}

/** Throws unless steps without a turn of the event loop between them are seen as one slice, and others are not. */
export async function checkLongestSlice(): Promise<void> {
  const slices = new LongestSlice();
  const whole = STEPS * STEP_MS;
  assertNear('steps of a chain of promises', await measureSteps(slices, async () => {}), whole);
  const ticks = () => new Promise<void>((resolve) => process.nextTick(resolve));
  assertNear('steps with a tick between them', await measureSteps(slices, ticks), whole);
  const turns = () => nextTurn();
  assertNear('steps with a turn between them', await measureSteps(slices, turns), STEP_MS);
}

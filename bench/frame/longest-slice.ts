/**
 * Measures the longest time for which our code blocks the event loop, without garbage collection.
 */

import { createHook } from 'node:async_hooks';
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Shorter slices are not stored. */
const NOTED_MS = 1;
/**
 * Callbacks that run before the event loop continues. They belong to the slice of the callback
 * before them.
 */
const CONTINUATIONS: ReadonlySet<string> = new Set(['PROMISE', 'TickObject', 'Microtask']);

interface Slice {
  readonly startMs: number;
  readonly endMs: number;
  /**
   * The processor time, which is less than the elapsed time if other programs are busy on the
   * machine.
   */
  readonly cpuMs: number;
}

/**
 * Each call from the event loop into JavaScript is a slice, with all ticks and microtasks that
 * follow it. Node reports the end of a call before these ticks and microtasks run, so a slice lasts
 * until the end of the last of them.
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

  /**
   * Returns the longest slice in milliseconds; returns 0 if no slice was as long as a millisecond.
   */
  async stop(): Promise<number> {
    this.#hook.disable();
    this.#beginSlice();
    // Garbage collections are reported one turn later.
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
    // A collection is measured in elapsed time. The result leaves out its share of the slice's
    // elapsed time, which does not depend on how busy the machine is.
    return Math.min(wallMs, cpuMs) * (1 - Math.min(1, collected / wallMs));
  }
}

const STEPS = 10;
const STEP_MS = 3;
/**
 * The time that the engine and other programs may add to the steps, and the share that a collection
 * may hide.
 */
const ADDED_MS_MAX = 10;
const HIDDEN_SHARE_MAX = 0.2;
const LOOPS = 20_000;
let sink = 1;

/**
 * Works for one step. It reads the time seldom, because each reading leaves garbage whose
 * collection does not count.
 */
function work(): void {
  const before = process.cpuUsage();
  for (let ms = 0; ms < STEP_MS; ) {
    for (let count = 0; count < LOOPS; count++) sink = (sink * 5 + count) | 0;
    const { user, system } = process.cpuUsage(before);
    ms = (user + system) / 1000;
  }
}

/** Returns the longest slice of all steps, with this pause after each step. */
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

/**
 * Throws unless steps without a turn of the event loop between them count as one slice, and steps
 * with a turn between them as separate slices.
 */
export async function checkLongestSlice(): Promise<void> {
  const slices = new LongestSlice();
  const whole = STEPS * STEP_MS;
  assertNear('steps of a chain of promises', await measureSteps(slices, async () => {}), whole);
  const ticks = () => new Promise<void>((resolve) => process.nextTick(resolve));
  assertNear('steps with a tick between them', await measureSteps(slices, ticks), whole);
  const turns = () => nextTurn();
  assertNear('steps with a turn between them', await measureSteps(slices, turns), STEP_MS);
}

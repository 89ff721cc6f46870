/** The longest time for which our own code held the event loop, without garbage collection. */

import { createHook } from 'node:async_hooks';
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Shorter ones are not remembered. */
const NOTED_MS = 1;

interface Slice {
  readonly startMs: number;
  readonly endMs: number;
  /** Processor time, which is less than the time by the clock where others are busy on the machine. */
  readonly cpuMs: number;
}

/** Each call from the event loop into JavaScript is a slice, with the microtasks after it. */
export class LongestSlice {
  readonly #slices: Slice[] = [];
  readonly #collections: { startMs: number; endMs: number }[] = [];
  #depth = 0;
  #startMs = 0;
  #cpu: NodeJS.CpuUsage = { user: 0, system: 0 };
  readonly #hook = createHook({ before: () => this.#begin(), after: () => this.#end() });
  readonly #observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      this.#collections.push({ startMs: startTime, endMs: startTime + duration });
    }
  });

  start(): void {
    this.#slices.length = 0;
    this.#collections.length = 0;
    this.#observer.observe({ entryTypes: ['gc'] });
    this.#hook.enable();
  }

  #begin(): void {
    if (this.#depth++ > 0) return;
    this.#startMs = performance.now();
    this.#cpu = process.cpuUsage();
  }

  #end(): void {
    if (this.#depth === 0 || --this.#depth > 0) return;
    const endMs = performance.now();
    if (endMs - this.#startMs < NOTED_MS) return;
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#slices.push({ startMs: this.#startMs, endMs, cpuMs: (user + system) / 1000 });
  }

  /** In milliseconds; 0 if none was as long as one. */
  async stop(): Promise<number> {
    this.#hook.disable();
    this.#depth = 0;
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
    return Math.min(endMs - startMs, cpuMs) - collected;
  }
}

/**
 * A clock that jumps from one timer to the next: hours pass as fast as the machine computes what happens
 * in them, and a busy machine changes nothing but how long that takes.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../src/upstream/client/limits/clock.ts';

interface Timer {
  readonly atMs: number;
  callback: (() => void) | undefined;
}

export class VirtualClock implements Clock {
  #nowMs = 0;
  /** The next one last; of those of one time, the one that was set first. */
  readonly #timers: Timer[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  setTimer(delayMs: number, callback: () => void): () => void {
    const timer: Timer = { atMs: this.#nowMs + Math.max(0, delayMs), callback };
    this.#timers.splice(this.#placeOf(timer.atMs), 0, timer);
    return () => {
      timer.callback = undefined;
    };
  }

  #placeOf(atMs: number): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#timers[middle].atMs > atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  async sleep(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => this.setTimer(delayMs, resolve));
  }

  /** Calls back again and again, the first time after one interval. */
  repeat(intervalMs: number, callback: () => void): void {
    this.setTimer(intervalMs, () => {
      callback();
      this.repeat(intervalMs, callback);
    });
  }

  /** Everything that a timer sets off is done before the next one fires. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (let timer = this.#next(endMs); timer !== undefined; timer = this.#next(endMs)) {
      this.#nowMs = timer.atMs;
      timer.callback?.();
      await nextTurn();
    }
    this.#nowMs = endMs;
  }

  #next(untilMs: number): Timer | undefined {
    while (this.#timers.length > 0 && this.#timers[this.#timers.length - 1].atMs <= untilMs) {
      const timer = this.#timers.pop();
      if (timer?.callback !== undefined) return timer;
    }
    return undefined;
  }
}

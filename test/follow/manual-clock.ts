/** A clock that only a test moves: timers fire in order when it passes them. */

import type { Clock } from '../../src/upstream/client/limits/clock.ts';

interface Timer {
  readonly atMs: number;
  readonly callback: () => void;
}

export class ManualClock implements Clock {
  #nowMs = 1_000_000;
  readonly #timers = new Set<Timer>();

  nowMs(): number {
    return this.#nowMs;
  }

  setTimer(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Timers that are set and have not fired. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Whether a timer fires after exactly this delay. */
  hasTimerIn(delayMs: number): boolean {
    return [...this.#timers].some(({ atMs }) => atMs === this.#nowMs + delayMs);
  }

  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (let timer = this.#next(endMs); timer !== undefined; timer = this.#next(endMs)) {
      this.#timers.delete(timer);
      this.#nowMs = Math.max(this.#nowMs, timer.atMs);
      timer.callback();
    }
    this.#nowMs = endMs;
  }

  /** The earliest timer up to a time; of several, the one that was set first. */
  #next(untilMs: number): Timer | undefined {
    const due = [...this.#timers].filter(({ atMs }) => atMs <= untilMs);
    return due.reduce<Timer | undefined>(
      (first, timer) => (first === undefined || timer.atMs < first.atMs ? timer : first),
      undefined,
    );
  }
}

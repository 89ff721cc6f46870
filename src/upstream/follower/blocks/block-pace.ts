/**
 * Decides when the next block is written: as soon as there is something to write, but at most one
 * block in an interval.
 */

import type { Clock } from '../../client/limits/clock.ts';

export class BlockPace {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  #nextMs = Number.NEGATIVE_INFINITY;
  #wake: () => void = () => undefined;

  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  /** Makes `untilDue` check again whether there is something to write. */
  wake(): void {
    this.#wake();
  }

  /** Allows no block for the time of the interval, or for a longer time. */
  pause(pauseMs = this.#intervalMs): void {
    this.#nextMs = this.#clock.nowMs() + pauseMs;
  }

  /** Resolves when a block is due, or at once when the signal aborts. */
  async untilDue(isDue: () => boolean, signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake();
    signal.addEventListener('abort', wake, { once: true });
    try {
      while (!signal.aborted) {
        const waitMs = this.#nextMs - this.#clock.nowMs();
        if (waitMs <= 0 && isDue()) return;
        await this.#untilWoken(waitMs > 0 ? waitMs : undefined);
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  async #untilWoken(waitMs: number | undefined): Promise<void> {
    let cancelTimer: (() => void) | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (waitMs !== undefined) cancelTimer = this.#clock.setTimer(Math.ceil(waitMs), resolve);
    });
    cancelTimer?.();
  }
}

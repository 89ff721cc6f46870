/** A task that runs repeatedly: at its interval, and sooner after a failure. */

import { backoffMs } from '../../timing/backoff.ts';
import type { Clock } from '../client/limits/clock.ts';

const RETRY_FIRST_MS = 1_000;

export interface PeriodicTaskOptions {
  readonly clock: Clock;
  /** Returns the time between the end of a run and the next run. */
  intervalMs(): number;
  run(): Promise<void>;
  failed(error: Error): void;
}

export class PeriodicTask {
  readonly #options: PeriodicTaskOptions;
  #failures = 0;
  #isStopped = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: PeriodicTaskOptions) {
    this.#options = options;
    this.#schedule(0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancelTimer = this.#options.clock.setTimer(delayMs, () => void this.#run());
  }

  async #run(): Promise<void> {
    const intervalMs = this.#options.intervalMs();
    try {
      await this.#options.run();
      this.#failures = 0;
      this.#schedule(intervalMs);
    } catch (error) {
      this.#failures++;
      const terms = { firstMs: RETRY_FIRST_MS, maxMs: intervalMs };
      this.#schedule(backoffMs(this.#failures, terms));
      if (!this.#isStopped) this.#options.failed(error as Error);
    }
  }
}

/**
 * The load of this process. The load is measured as event-loop delay, which is about the time that
 * a request waits before it is read. Above a limit, requests are refused.
 */

import type { Load } from '../../http/answering/counters.ts';

const SAMPLE_MS = 20;
/** The weight of the earlier samples in the moving average. */
const SMOOTHING = 0.5;

export class LoadGauge implements Load {
  readonly #delayMsMax: number;
  readonly #timer: NodeJS.Timeout;
  #delayMs = 0;
  #dueMs = performance.now() + SAMPLE_MS;

  constructor(delayMsMax: number) {
    this.#delayMsMax = delayMsMax;
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#timer.unref();
  }

  get isOverloaded(): boolean {
    return this.#delayMs > this.#delayMsMax;
  }

  get delayMs(): number {
    return this.#delayMs;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    const nowMs = performance.now();
    const lateMs = Math.max(0, nowMs - this.#dueMs);
    this.#delayMs = this.#delayMs * SMOOTHING + lateMs * (1 - SMOOTHING);
    this.#dueMs = nowMs + SAMPLE_MS;
  }
}

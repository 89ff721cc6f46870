/**
 * How late this process is: the delay with which a timer fires is the time that a request has waited
 * before anyone looks at it. When it grows too long, requests are turned away until it is short again.
 */

const SAMPLE_MS = 20;
/** How much of the delay seen before is kept in the next estimate. */
const MEMORY = 0.5;

export class LoadGauge {
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
    this.#delayMs = this.#delayMs * MEMORY + lateMs * (1 - MEMORY);
    this.#dueMs = nowMs + SAMPLE_MS;
  }
}

/** Delays between attempts: each delay is twice the delay before, up to a maximum, with jitter. */

export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  /** From 0 to 1, as Math.random. */
  readonly random: () => number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  #attempts = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /**
   * The next delay, between half of its value and all of it, so that many clients do not retry at
   * the same moment.
   */
  nextMs(): number {
    const { firstMs, maxMs, random } = this.#options;
    const delayMs = Math.min(firstMs * 2 ** Math.min(this.#attempts++, 30), maxMs);
    return delayMs * (0.5 + random() / 2);
  }

  reset(): void {
    this.#attempts = 0;
  }
}

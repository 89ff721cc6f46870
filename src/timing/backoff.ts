/** Decides how long to wait before the next attempt at something that has failed. */

export interface BackoffTerms {
  /** The delay after the first failure. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Maximum number of doublings. It is high enough to reach any maximum delay, and low enough for the
 * product to stay finite.
 */
const DOUBLINGS_MAX = 30;

/**
 * Returns the delay, which doubles with each failure in a row, up to the maximum. Without a
 * failure, the delay is 0.
 */
export function backoffMs(failures: number, { firstMs, maxMs }: BackoffTerms): number {
  if (failures === 0) return 0;
  return Math.min(firstMs * 2 ** Math.min(failures - 1, DOUBLINGS_MAX), maxMs);
}

export interface JitterTerms extends BackoffTerms {
  /** Returns a number from 0 to 1, as Math.random does. */
  readonly random: () => number;
}

/**
 * Counts the failures in a row. Adds jitter to the delays, so that many clients do not retry at the
 * same time.
 */
export class Backoff {
  readonly #terms: JitterTerms;
  #failures = 0;

  constructor(terms: JitterTerms) {
    this.#terms = terms;
  }

  /**
   * Counts one more failure, and returns the delay: between half of the usual delay and the full
   * delay.
   */
  nextMs(): number {
    this.#failures++;
    return backoffMs(this.#failures, this.#terms) * (0.5 + this.#terms.random() / 2);
  }

  reset(): void {
    this.#failures = 0;
  }
}

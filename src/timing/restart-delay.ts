/** Decides how long to wait before a process that has ended is started again. */

import { type BackoffTerms, backoffMs } from './backoff.ts';

export interface RestartTerms extends BackoffTerms {
  /**
   * After a process that has run for at least this time, the delay starts from its first value
   * again.
   */
  readonly healthyMs: number;
}

export class RestartDelay {
  readonly #terms: RestartTerms;
  #failures = 1;

  constructor(terms: RestartTerms) {
    this.#terms = terms;
  }

  /** Returns the delay after a process that ran for `livedMs`. */
  nextMs(livedMs: number): number {
    this.#failures = livedMs >= this.#terms.healthyMs ? 1 : this.#failures + 1;
    return backoffMs(this.#failures, this.#terms);
  }
}

/** Computes how long the page waits before it tries again. */

import { type BackoffTerms, backoffMs } from '../../../src/timing/backoff.ts';

/**
 * Returns the delay after this number of failures in a row. Its jitter prevents that many pages ask
 * the same service at the same time.
 */
export function retryDelayMs(failures: number, terms: BackoffTerms): number {
  return backoffMs(failures, terms) * (0.75 + Math.random() / 2);
}

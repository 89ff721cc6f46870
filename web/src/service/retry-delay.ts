/** How long the page waits before it tries again. */

import { type BackoffTerms, backoffMs } from '../../../src/timing/backoff.ts';

/** The delay after so many failures in a row, with jitter: many pages may be waiting for one service. */
export function retryDelayMs(failures: number, terms: BackoffTerms): number {
  return backoffMs(failures, terms) * (0.75 + Math.random() / 2);
}

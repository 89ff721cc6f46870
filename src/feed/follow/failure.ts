/** What those who wait are told when the upstream did not answer. */

import type { WantBusy, WantFailed } from '../../wanted/wanted.ts';
import { UpstreamError } from './upstream/upstream-error.ts';

const RETRY_SECONDS_MIN = 1;

export function outcomeOfFailure(error: Error): WantFailed | WantBusy {
  const reason = error.message;
  const isBusy =
    error instanceof UpstreamError && (error.kind === 'busy' || error.kind === 'rate_limited');
  return isBusy ? outcomeOfShortage(reason, error.retryAfterMs) : { outcome: 'failed', reason };
}

export function outcomeOfShortage(reason: string, retryAfterMs = 0): WantBusy {
  const retryAfterSeconds = Math.max(RETRY_SECONDS_MIN, Math.ceil(retryAfterMs / 1000));
  return { outcome: 'busy', reason, retryAfterSeconds };
}

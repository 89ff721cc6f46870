/** The outcome that waiting callers get if the upstream did not answer. */

import type { FollowerBusy, FollowerFailed, ItemOutcome } from '../channel/follower-client.ts';
import { UpstreamError } from '../client/upstream-error.ts';
import type { WaitingKeys } from '../client/waiting-keys.ts';

const RETRY_SECONDS_MIN = 1;

export function outcomeOfFailure(error: Error): FollowerFailed | FollowerBusy {
  const reason = error.message;
  if (!(error instanceof UpstreamError)) return { outcome: 'failed', reason };
  const isBusy = error.kind === 'busy' || error.kind === 'rate_limited';
  const outcome = isBusy
    ? outcomeOfShortage(reason, error.retryAfterMs)
    : ({ outcome: 'failed', reason } as const);
  return error.isSent ? { ...outcome, isSent: true } : outcome;
}

/**
 * Marks a failed outcome as sent if one of its questions was sent: the last question may not have
 * been sent, but an earlier one was.
 */
export function withSent(outcome: ItemOutcome, { isSent }: WaitingKeys): ItemOutcome {
  const isMishap = outcome.outcome === 'failed' || outcome.outcome === 'busy';
  return isMishap && isSent ? { ...outcome, isSent: true } : outcome;
}

export function outcomeOfShortage(reason: string, retryAfterMs = 0): FollowerBusy {
  const retryAfterSeconds = Math.max(RETRY_SECONDS_MIN, Math.ceil(retryAfterMs / 1000));
  return { outcome: 'busy', reason, retryAfterSeconds };
}

/** Creates the outcomes for waiting callers if the upstream did not answer. */

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
 * Marks an unsuccessful outcome as sent if any question for it was sent. A read can need several
 * questions: the last question may not have been sent although an earlier question was.
 */
export function withSent(outcome: ItemOutcome, { isSent }: WaitingKeys): ItemOutcome {
  const isMishap = outcome.outcome === 'failed' || outcome.outcome === 'busy';
  return isMishap && isSent ? { ...outcome, isSent: true } : outcome;
}

export function outcomeOfShortage(reason: string, retryAfterMs = 0): FollowerBusy {
  const retryAfterSeconds = Math.max(RETRY_SECONDS_MIN, Math.ceil(retryAfterMs / 1000));
  return { outcome: 'busy', reason, retryAfterSeconds };
}

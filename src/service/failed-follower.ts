/** Says why a follower does not answer, after its feed has failed for good. */

import type { FollowerFailed, FollowerHandler } from '../upstream/channel/follower-client.ts';

/** Passes requests on to the follower, until `findFailure` returns the error that the feed failed with. */
export function withFailure(
  follower: FollowerHandler,
  findFailure: () => Error | undefined,
): FollowerHandler {
  const findReason = () => {
    const failure = findFailure();
    return failure && `the follower has failed: ${failure.message}; the service must be restarted`;
  };
  const refuse = (): FollowerFailed | undefined => {
    const reason = findReason();
    return reason === undefined ? undefined : { outcome: 'failed', reason };
  };
  return {
    readItem: async (...request) => refuse() ?? follower.readItem(...request),
    forward: async (...request) => refuse() ?? follower.forward(...request),
    noteInterest: (interests) => follower.noteInterest(interests),
    status: () => {
      const reason = findReason();
      const status = follower.status();
      return reason === undefined ? status : { ...status, isHealthy: false, reason };
    },
  };
}

/** Takes the place of the push connection if the upstream has no push connection. */

import type { PushHandler } from '../../client/push/upstream-push.ts';
import type { UpstreamLog } from '../../client/upstream.ts';
import type { FollowPush } from './follow-subscriptions.ts';

export function createNoPush(handler: PushHandler, log: UpstreamLog): FollowPush {
  const reason = 'no push connection, by --follow-push off: marks and accounts are asked for';
  log.info(reason);
  handler.lost(reason);
  return { leftOut: [], subscribe: () => undefined, close: () => undefined };
}

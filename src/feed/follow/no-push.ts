/** In place of the push connection, for an upstream that has none. */

import type { FollowPush } from './follow-subscriptions.ts';
import type { UpstreamLog } from './upstream/upstream.ts';
import type { PushHandler } from './upstream/upstream-push.ts';

export function createNoPush(handler: PushHandler, log: UpstreamLog): FollowPush {
  const reason = 'no push connection, by --follow-push off: marks and accounts are asked for';
  log.info(reason);
  handler.lost(reason);
  return { leftOut: [], subscribe: () => undefined, close: () => undefined };
}

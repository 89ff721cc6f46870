/**
 * Describes the subscriptions that the push connection leaves out, for /health and the metrics. The
 * description hides the addresses of users.
 */

import type { FollowStatus } from '../../channel/follower-client.ts';
import type { LeftOut } from '../../client/push/left-out-subscriptions.ts';
import type { UpstreamSubscription } from '../../client/push/upstream-subscription.ts';

/** The maximum number of subscriptions that are named. Further subscriptions are only counted. */
const NAMED_MAX = 20;
const USER = /0x[0-9a-f]{40}/gi;

export function describeLeftOut(leftOut: readonly LeftOut[]): FollowStatus['leftOut'] {
  const reasons = new Map<string, string>();
  for (const { subscription, reason } of leftOut) {
    if (reasons.size === NAMED_MAX) break;
    reasons.set(nameSubscription(subscription), reason.replace(USER, '0x***'));
  }
  const named = [...reasons].map(([subscription, reason]) => ({ subscription, reason }));
  return { count: leftOut.length, named };
}

/**
 * Returns the type and the market or dex, such as "trades xyz:GOLD", or "clearinghouseState xyz"
 * for a user.
 */
function nameSubscription({ type, coin, dex }: UpstreamSubscription): string {
  return [type, coin, dex].filter((text) => text !== undefined && text !== '').join(' ');
}

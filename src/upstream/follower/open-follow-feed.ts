/** Creates the feed of a live exchange from the settings. */

import { tmpdir } from 'node:os';
import type { FeedSettings } from '../../feed/settings.ts';
import { SYSTEM_CLOCK } from '../client/limits/clock.ts';
import { SpentFile } from '../client/limits/spent-file.ts';
import { UpstreamPush } from '../client/push/upstream-push.ts';
import { openUpstream, type UpstreamLog } from '../client/upstream.ts';
import { readUpstreamAddress } from '../client/upstream-address.ts';
import type { FollowSettings } from '../settings.ts';
import { FollowFeed } from './follow-feed.ts';
import type { SessionSettings } from './follow-session.ts';
import { weightsOf } from './follow-weights.ts';
import { createNoPush } from './push/no-push.ts';
import { requestHeadersOf } from './request-headers.ts';

export type FollowFeedSettings = FollowSettings &
  Pick<FeedSettings, 'aheadMax' | 'blockBytesMax' | 'data'>;

/** The part of the budget that is reserved for forwarded questions. */
const FORWARD_SHARE = 0.25;
/** The limits of the public server. */
const SUBSCRIPTIONS_MAX = 1_000;
const MESSAGES_MAX = 2_000;

/**
 * An account that no client has asked for during this time is no longer read. When a client asks
 * for it again, the reads continue.
 */
const FORGET_MS = 3_600_000;
/**
 * The time for which an answer is reused for other clients. If the budget is short, an answer is
 * reused for longer.
 */
const SHARED_MS = 1_000;
/**
 * The minimum time between two blocks. A longer time would save little disk space, and make every
 * answer older.
 */
const BLOCK_INTERVAL_MS = 100;
/**
 * The interval at which the mark of a market is recorded if no followed account has a position in
 * the market. No account depends on these marks, and with a shorter interval they would be most of
 * the ledger.
 */
const MARKS_EVERY_MS = 60_000;

export async function openFollowFeed(
  url: URL,
  settings: FollowFeedSettings,
  plainLog: UpstreamLog,
): Promise<FollowFeed> {
  const { upstreamHeader, followBudget: budget, forward, followUsersMax: usersMax } = settings;
  const address = readUpstreamAddress(url, upstreamHeader?.value);
  const { redact } = address;
  const log: UpstreamLog = {
    info: (message) => plainLog.info(redact(message)),
    warn: (message) => plainLog.warn(redact(message)),
  };
  const headers = requestHeadersOf(upstreamHeader);
  const weights = weightsOf(settings);
  const forwardShare = forward ? FORWARD_SHARE : 0;
  const spent = openSpentFile(settings, address.origin, log);
  const limits = { usersMax, subscriptionsMax: SUBSCRIPTIONS_MAX, messagesMax: MESSAGES_MAX };
  return new FollowFeed({
    origin: address.origin,
    upstream: await openUpstream({ address, budget, weights, log, forwardShare, headers, spent }),
    createPush: (handler, pushLog) =>
      settings.followPush === 'off'
        ? createNoPush(handler, pushLog)
        : new UpstreamPush({ address, headers, limits, handler, log: pushLog }),
    settings: sessionSettingsOf(settings),
    intervalMs: BLOCK_INTERVAL_MS,
    forwardKeepMs: SHARED_MS,
    redact,
    log,
    clock: SYSTEM_CLOCK,
    wallMs: () => Date.now(),
  });
}

/**
 * Opens the file for the spent weight; returns undefined if the budget has no limit. Without
 * --data, the file is in the temporary folder, where the next process can find it.
 */
function openSpentFile(
  { followBudget, data }: FollowFeedSettings,
  origin: string,
  log: UpstreamLog,
): SpentFile | undefined {
  if (followBudget === Number.POSITIVE_INFINITY) return undefined;
  return new SpentFile(data === '' ? tmpdir() : data, origin, (message) => log.warn(message));
}

/**
 * The part of the client's waiting time that the follower waits. The follower stops waiting before
 * the client does, so that the client receives the reason.
 */
const WAIT_SHARE = 0.75;

function sessionSettingsOf(settings: FollowFeedSettings): SessionSettings {
  return {
    sweepMs: settings.followSweep,
    forgetMs: FORGET_MS,
    waitMs: settings.followWait * WAIT_SHARE,
    sharedMs: SHARED_MS,
    usersMax: settings.followUsersMax,
    marksEveryMs: MARKS_EVERY_MS,
    aheadMsMax: settings.aheadMax,
    lineBytesMax: settings.blockBytesMax,
  };
}

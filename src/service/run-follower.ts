/**
 * The process of a follower without workers. The process writes the ledger, and serves the requests
 * of other processes.
 */

import type { Logger } from 'pino';
import type { Feed } from '../feed/feed.ts';
import type { FeedSettings } from '../feed/settings.ts';
import type { FollowerHandler } from '../upstream/channel/follower-client.ts';
import { listenForClients } from '../upstream/channel/open-channel.ts';
import { followerRetention } from './follower-retention.ts';
import { withDiskWarnings } from './metrics/disk-watch.ts';
import { ServiceFeed } from './service-feed.ts';
import { unlessStopped } from './stop-deadline.ts';

export interface FollowerOptions {
  readonly settings: FeedSettings;
  readonly feed: Feed & FollowerHandler;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Follows the exchange until the signal is aborted. Throws if the feed or the ledger fails. */
export async function runFollower({ settings, feed, log, signal }: FollowerOptions): Promise<void> {
  const nothing = () => undefined;
  const retention = followerRetention(settings);
  const callbacks = { durable: nothing, closed: nothing };
  const opening = ServiceFeed.open({
    settings,
    feed,
    log,
    retention,
    isRepeatable: true,
    ...callbacks,
  });
  const writer = await unlessStopped(opening, signal);
  const follower = await listenForClients(settings, feed);
  const running = writer.run();
  const stop = () => writer.stop();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  log.info({ upstream: feed.name }, 'following');
  try {
    await withDiskWarnings(settings, log, () => running);
  } finally {
    await follower.close();
  }
  if (writer.error !== undefined) throw writer.error;
  log.info('stopped');
}

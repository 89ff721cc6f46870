/** Converts the settings of a feed to options of the block writer. */

import { UsageError } from '../config/usage-error.ts';
import { retentionOf } from '../replica/retention.ts';
import type { BlockWriterOptions } from './block-writer.ts';
import type { FeedSettings } from './settings.ts';

/** Refuses retention settings for a ledger on NATS, where they have no effect. */
export function checkFeedSettings({ ledger, ...chosen }: FeedSettings): void {
  if (ledger === undefined || retentionOf(chosen) === undefined) return;
  const advice = 'on NATS, set max_msgs or max_age of the stream';
  throw new UsageError([`--keep-blocks and --keep-days are for a ledger in a folder: ${advice}`]);
}

export function writerOptionsOf(
  settings: FeedSettings,
): Pick<BlockWriterOptions, 'snapshotEvery' | 'snapshotKeep' | 'aheadMsMax' | 'retention'> {
  const { snapshotEvery, snapshotKeep, aheadMax: aheadMsMax } = settings;
  return { snapshotEvery, snapshotKeep, aheadMsMax, retention: retentionOf(settings) };
}

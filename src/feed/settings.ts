/** The settings of whoever appends blocks, as `append` and `serve --feed` have them. */

import type { Settings } from '../config/settings.ts';
import { UsageError } from '../config/usage-error.ts';
import { RETENTION_SETTINGS, retentionOf } from '../replica/retention.ts';
import { WRITER_SETTINGS } from '../replica/storage.ts';
import type { AppendOptions } from './ndjson.ts';

export const FEED_SETTINGS = [
  ...WRITER_SETTINGS,
  'snapshotEvery',
  'snapshotKeep',
  'blockBytesMax',
  'aheadMax',
  ...RETENTION_SETTINGS,
] as const;
export type FeedSettings = Settings<(typeof FEED_SETTINGS)[number]>;

/** Refuses settings that would have no effect together. */
export function checkFeedSettings({ ledger, ...chosen }: FeedSettings): void {
  if (ledger === undefined || retentionOf(chosen) === undefined) return;
  const reason = 'a stream on NATS drops blocks by its own limits (max_msgs, max_age)';
  throw new UsageError([`--keep-blocks and --keep-days are for a ledger in a folder: ${reason}`]);
}

/** What an append is told of its settings. */
export function feedOptionsOf(
  settings: FeedSettings,
): Pick<
  AppendOptions,
  'snapshotEvery' | 'snapshotKeep' | 'lineBytesMax' | 'aheadMsMax' | 'retention'
> {
  const { snapshotEvery, snapshotKeep, blockBytesMax, aheadMax } = settings;
  const retention = retentionOf(settings);
  return {
    snapshotEvery,
    snapshotKeep,
    lineBytesMax: blockBytesMax,
    aheadMsMax: aheadMax,
    retention,
  };
}

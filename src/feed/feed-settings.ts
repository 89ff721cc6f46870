/** The settings of commands that write blocks: `append` and `serve --feed`. */

import type { Settings } from '../config/settings.ts';
import { UsageError } from '../config/usage-error.ts';
import { RETENTION_SETTINGS, retentionOf } from '../replica/retention.ts';
import { WRITER_SETTINGS } from '../replica/storage.ts';
import type { BlockWriterOptions } from './block-writer.ts';

export const FEED_SETTINGS = [
  ...WRITER_SETTINGS,
  'natsWait',
  'snapshotEvery',
  'snapshotKeep',
  'blockBytesMax',
  'aheadMax',
  ...RETENTION_SETTINGS,
] as const;
export type FeedSettings = Settings<(typeof FEED_SETTINGS)[number]>;

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

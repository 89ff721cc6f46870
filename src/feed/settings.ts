/** The settings of commands that write blocks: `append`, `follow` and `serve`. */

import type { Declarations, SettingValues } from '../config/setting.ts';
import { bytes, milliseconds, standardInput } from '../config/value-types.ts';
import { LEDGER_WRITER_SETTINGS, type NatsWait } from '../ledger/settings.ts';
import { RETENTION_SETTINGS, SNAPSHOT_SETTINGS } from '../replica/settings.ts';

/** The limits that a block must meet to be appended. */
export const BLOCK_SETTINGS = {
  blockBytesMax: {
    group: 'Blocks from a feed',
    type: bytes({ from: 1024, to: 1 << 30 }),
    needs: ['writer'],
    default: 1_048_576,
    help: 'maximum size of a block, which is one line',
  },
  aheadMax: {
    group: 'Blocks from a feed',
    type: milliseconds({ from: 0 }),
    needs: ['writer'],
    default: 300_000,
    help: "refuse a block whose time is further ahead of this machine's clock; 0 for no limit",
  },
} as const satisfies Declarations;

/** The setting that chooses the feed of a service. */
export const FEED_CHOICE_SETTINGS = {
  feed: {
    group: 'Most used',
    type: standardInput,
    default: undefined,
    help: 'append blocks from this source: - for standard input',
  },
} as const satisfies Declarations;

export const FEED_SETTINGS = {
  ...LEDGER_WRITER_SETTINGS,
  ...SNAPSHOT_SETTINGS,
  ...BLOCK_SETTINGS,
  ...RETENTION_SETTINGS,
} as const satisfies Declarations;
export type FeedSettings = SettingValues<typeof FEED_SETTINGS> & NatsWait;

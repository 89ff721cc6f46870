/**
 * Decides which blocks a follower drops. A follower's ledger grows without any action of the
 * operator, so the follower prunes by default.
 */

import { readArchivedHeight } from '../archive/records/archived-height.ts';
import type { CheckpointOptions } from '../feed/checkpoints.ts';
import type { FeedSettings } from '../feed/settings.ts';
import { retentionOf } from '../replica/retention.ts';

/**
 * Maximum number of blocks that one step prunes, because the exchange is not recorded during a
 * step.
 */
const PRUNED_AT_ONCE = 100_000;

export type FollowerRetention = Pick<
  CheckpointOptions,
  'retention' | 'blocksMax' | 'archivedHeight'
>;

/** A follower keeps the blocks of a week, unless the settings say otherwise. */
const KEEP_DAYS = 7;

export function followerRetention(settings: FeedSettings): FollowerRetention {
  const { ledger, data, keepBlocks, keepDays } = settings;
  // The limits of the stream prune a ledger on NATS.
  if (ledger !== undefined) return {};
  const isChosen = keepBlocks !== undefined || keepDays !== undefined;
  const retention = retentionOf(isChosen ? settings : { ...settings, keepDays: KEEP_DAYS });
  return {
    retention,
    blocksMax: PRUNED_AT_ONCE,
    archivedHeight: (ledger) => readArchivedHeight(data, ledger),
  };
}

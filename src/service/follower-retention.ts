/** Which blocks a follower drops: its ledger grows by itself, so it is pruned unless told otherwise. */

import { readArchivedHeight } from '../archive/archived-height.ts';
import type { CheckpointOptions } from '../feed/checkpoints.ts';
import type { FeedSettings } from '../feed/settings.ts';
import { retentionOf } from '../replica/retention.ts';
import type { FollowSettings } from '../upstream/settings.ts';

/** A ledger that was never pruned is pruned in steps: the exchange is not recorded meanwhile. */
const PRUNED_AT_ONCE = 100_000;

export type FollowerRetention = Pick<
  CheckpointOptions,
  'retention' | 'blocksMax' | 'archivedHeight'
>;

export function followerRetention(
  settings: FeedSettings & Pick<FollowSettings, 'followKeepDays'>,
): FollowerRetention {
  const { ledger, data, followKeepDays } = settings;
  // On NATS, the limits of the stream prune.
  if (ledger !== undefined) return {};
  const byDefault = { keepDays: followKeepDays, keepBlocks: undefined };
  const retention = retentionOf(settings) ?? (followKeepDays === 0 ? undefined : byDefault);
  return {
    retention,
    blocksMax: PRUNED_AT_ONCE,
    archivedHeight: (ledger) => readArchivedHeight(data, ledger),
  };
}

/**
 * The health of a service: the health of its state, and on a partial ledger the health of the
 * follower.
 */

import type { Health, LiveState } from '../../replica/live-state.ts';
import type { FollowerClient, FollowStatus } from '../../upstream/channel/follower-client.ts';
import type { PastHealth } from '../answering/past-answers.ts';

/** The size of the data folder, and the time until the disk is full. */
export interface DiskReport {
  readonly bytes: number;
  /** The growth per day, estimated from the last hours; null in the first minutes. */
  readonly dayBytes: number | null;
  readonly freeBytes: number;
  /**
   * The number of days until the disk is full at this growth; null if the growth is unknown or
   * zero.
   */
  readonly daysLeft: number | null;
  /** Present only if the disk will soon be full. */
  readonly warning?: string;
}

/**
 * The health of a service. The status `upstream_failed` means that the followed exchange fails, or
 * that no follower is connected.
 */
export interface ServiceHealth extends Omit<Health, 'status'>, PastHealth {
  readonly status: Health['status'] | 'upstream_failed';
  /** The last report of the follower; present only on a partial ledger with a follower. */
  readonly follow?: FollowStatus;
  /** The disk of the data folder; absent without a data folder, and before the first check. */
  readonly disk?: DiskReport;
  /** The explorer that the dashboard links to, if the operator has set one. */
  readonly explorerUrl?: string;
}

/** If the health has one of these statuses, the status is not replaced by `upstream_failed`. */
const PRECEDING_STATUSES: readonly Health['status'][] = [
  'replaying',
  'broken',
  'cut_off',
  'behind',
  'feed_failed',
];

const NO_FOLLOWER = 'no follower is connected: accounts that the ledger does not hold are unknown';

export async function readHealth(
  live: LiveState,
  follower: FollowerClient | undefined,
  nowMs: number,
): Promise<ServiceHealth> {
  const health = await live.health(nowMs);
  if (follower === undefined || live.state?.isPartial !== true) return health;
  const follow = follower.status();
  const fault = follow === undefined ? NO_FOLLOWER : findFault(follow);
  const reported = follow === undefined ? {} : { follow };
  if (fault === undefined || PRECEDING_STATUSES.includes(health.status))
    return { ...health, ...reported };
  return { ...health, status: 'upstream_failed', message: fault, ...reported };
}

function findFault({ isHealthy, reason, upstream }: FollowStatus): string | undefined {
  return isHealthy ? undefined : `${upstream} fails: ${reason}`;
}

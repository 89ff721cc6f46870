/** The health of a service: that of its state, and on a partial ledger that of the follower. */

import type { Health, LiveState } from '../../replica/live-state.ts';
import type { FollowStatus, WantedClient } from '../../upstream/channel/wanted.ts';
import type { PastHealth } from '../answering/past-answers.ts';

/** How large the data folder is, and how long the disk will last. */
export interface DiskReport {
  readonly bytes: number;
  /** Its growth in a day, at the pace of the last hours; null in the first minutes. */
  readonly dayBytes: number | null;
  readonly freeBytes: number;
  /** Until the disk is full at that pace; null if that is not known, or nothing grows. */
  readonly daysLeft: number | null;
  /** Only if the disk is filling up. */
  readonly warning?: string;
}

/** `upstream_failed`: the exchange that the ledger follows fails, or nobody follows it. */
export interface ServiceHealth extends Omit<Health, 'status'>, PastHealth {
  readonly status: Health['status'] | 'upstream_failed';
  /** The follower's last report; only on a partial ledger with a follower. */
  readonly follow?: FollowStatus;
  /** Of the data folder; absent if there is none, or it was not looked at yet. */
  readonly disk?: DiskReport;
  /** For the dashboard: the operator's explorer, if there is one. */
  readonly explorerUrl?: string;
}

/** Reasons that say more than the state of the upstream does. */
const FIRST: readonly Health['status'][] = [
  'replaying',
  'broken',
  'cut_off',
  'behind',
  'feed_failed',
];

const NO_FOLLOWER = 'no follower is connected: accounts that the ledger does not hold are unknown';

export async function readHealth(
  live: LiveState,
  wanted: WantedClient | undefined,
  nowMs: number,
): Promise<ServiceHealth> {
  const health = await live.health(nowMs);
  if (wanted === undefined || live.state?.isPartial !== true) return health;
  const follow = wanted.status();
  const fault = follow === undefined ? NO_FOLLOWER : findFault(follow);
  const reported = follow === undefined ? {} : { follow };
  if (fault === undefined || FIRST.includes(health.status)) return { ...health, ...reported };
  return { ...health, status: 'upstream_failed', message: fault, ...reported };
}

function findFault({ isWell, reason, upstream }: FollowStatus): string | undefined {
  return isWell ? undefined : `${upstream} fails: ${reason}`;
}

/** The settings of a replica: its snapshots, the blocks to keep, and how old its state may be. */

import type { Declarations, SettingValues } from '../config/setting.ts';
import { count, milliseconds } from '../config/value-types.ts';

export const SNAPSHOT_SETTINGS = {
  snapshotEvery: {
    group: 'Snapshots and retention',
    type: count({ from: 1 }),
    default: 10_000,
    help: 'save a snapshot of the state at every Nth height',
  },
  snapshotKeep: {
    group: 'Snapshots and retention',
    type: count({ from: 1 }),
    default: 10,
    help: 'number of snapshots to keep; older snapshots are deleted',
  },
} as const satisfies Declarations;

export const RETENTION_SETTINGS = {
  keepBlocks: {
    group: 'Snapshots and retention',
    type: count({ from: 1 }),
    needs: ['writer'],
    default: undefined,
    help: 'prune all but the newest N blocks, never past the oldest snapshot (default: keep all)',
  },
  keepDays: {
    group: 'Snapshots and retention',
    type: count({ from: 0, to: 100_000 }),
    needs: ['writer'],
    default: undefined,
    help: 'prune blocks N days older than the newest, never past the oldest snapshot or the end of the archive; 0 to keep all (default: keep all; a follower keeps 7 days)',
  },
} as const satisfies Declarations;

export const FRESHNESS_SETTINGS = {
  maxAge: {
    group: 'Freshness of answers',
    type: milliseconds({ from: 0 }),
    default: 10_000,
    help: 'a ledger whose time is further than this from the clock is stale: /health is 503; 0 for no limit',
  },
  maxBehind: {
    group: 'Freshness of answers',
    type: milliseconds({ from: 0 }),
    default: 0,
    help:
      'refuse to answer from a state that may be older than the ledger by more than this, for example ' +
      'while NATS cannot be reached (503 behind); 0 for no limit',
  },
} as const satisfies Declarations;

export type RetentionSettings = SettingValues<typeof RETENTION_SETTINGS>;

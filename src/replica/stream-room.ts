/**
 * Checks whether a stream on NATS keeps its blocks long enough. A replica starts from a published
 * snapshot and the blocks after it, so the stream must not drop these blocks before the next
 * snapshot is published.
 */

import { UsageError } from '../config/usage-error.ts';
import type { StreamLimits } from '../ledger/jetstream/stream-limits.ts';

/**
 * The stream must have room for this many intervals of snapshots: one up to the next snapshot, and
 * one for blocks that arrive while the snapshot is published.
 */
const INTERVALS_MIN = 2;
/**
 * The minimum age of dropped blocks. Within it, a process notices that a snapshot is due, saves it
 * and publishes it.
 */
const AGE_MS_MIN = 60_000;
/** The share of a limit after which a snapshot is due. */
const DUE_SHARE = 0.5;

interface RoomOptions {
  /** Undefined if the ledger is in a folder. */
  readonly shared: { limits(): Promise<StreamLimits> } | undefined;
  readonly snapshotEvery: number;
  /** Called if the stream may keep too few blocks, which depends on the sizes of later blocks. */
  warn(message: string): void;
}

/** Throws a UsageError if the stream keeps too few blocks for the interval of snapshots. */
export async function checkStreamRoom(options: RoomOptions): Promise<void> {
  const { shared, snapshotEvery, warn } = options;
  if (shared === undefined) return;
  const limits = await shared.limits();
  const problems = findShortage(limits, snapshotEvery);
  if (problems.length > 0) throw new UsageError(problems);
  const doubt = findDoubt(limits, snapshotEvery);
  if (doubt !== undefined) warn(doubt);
}

/** Returns which limits are too small, and what to set. */
function findShortage(limits: StreamLimits, snapshotEvery: number): string[] {
  const { name, blocksMax, blocksOption, ageMsMax } = limits;
  const blocksMin = INTERVALS_MIN * snapshotEvery;
  const problems: string[] = [];
  if (blocksMax < blocksMin) {
    problems.push(
      `the stream ${name} keeps ${blocksMax} blocks (${blocksOption}), fewer than ${INTERVALS_MIN} ` +
        `times --snapshot-every ${snapshotEvery}: replicas could not start from a snapshot; set ` +
        `--snapshot-every to ${Math.max(1, Math.floor(blocksMax / INTERVALS_MIN))} or less, or ` +
        `${blocksOption} to ${blocksMin} or more`,
    );
  }
  if (ageMsMax < AGE_MS_MIN) {
    problems.push(
      `the stream ${name} keeps blocks for ${ageMsMax / 1000} s (max_age): expected at least ` +
        `${AGE_MS_MIN / 1000} s, so that a snapshot can be published before they are dropped`,
    );
  }
  return problems;
}

/**
 * Returns a warning if too few blocks may fit, depending on the sizes of later blocks; returns
 * undefined otherwise.
 */
function findDoubt(limits: StreamLimits, snapshotEvery: number): string | undefined {
  const { name, bytesMax, meanBytes } = limits;
  if (meanBytes === undefined) return undefined;
  const fitting = Math.floor(bytesMax / meanBytes);
  const blocksMin = INTERVALS_MIN * snapshotEvery;
  if (fitting >= blocksMin) return undefined;
  return (
    `the stream ${name} has room for about ${fitting} blocks like those stored (max_bytes), fewer than ` +
    `${INTERVALS_MIN} times --snapshot-every ${snapshotEvery}: snapshots will be made more often; ` +
    `better set max_bytes to ${Math.ceil(blocksMin * meanBytes)} or more`
  );
}

/** The blocks after the newest published snapshot. */
interface UnsavedBlocks {
  readonly count: number;
  /**
   * The time since the first of these blocks was stored; infinite if it has already been dropped.
   */
  readonly ageMs: number;
}

/**
 * True if these blocks must soon be in a snapshot, because otherwise the stream may drop them
 * first.
 */
export function isSnapshotDue(limits: StreamLimits, { count, ageMs }: UnsavedBlocks): boolean {
  const { blocksMax, bytesMax, ageMsMax, meanBytes = 0 } = limits;
  return (
    count > blocksMax * DUE_SHARE ||
    count * meanBytes > bytesMax * DUE_SHARE ||
    ageMs > ageMsMax * DUE_SHARE
  );
}

/**
 * Drops old blocks, but no block after the oldest remaining snapshot, because the replay of a
 * pruned ledger starts from a snapshot.
 */

import { parseBlock } from '../events/event.ts';
import { type ChainPoint, type Ledger, LedgerError, type LedgerWriter } from '../ledger/ledger.ts';
import type { RetentionSettings } from './settings.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';

const DAY_MS = 86_400_000;

/**
 * The limits of what is kept. If both limits are set, a block is dropped only if both limits allow
 * it.
 */
export interface Retention {
  /** The number of newest blocks to keep. */
  readonly keepBlocks: number | undefined;
  /** The age of blocks to keep, in days before the newest block, by ledger time. */
  readonly keepDays: number | undefined;
}

/** Returns undefined if no block is to be pruned. */
export function retentionOf(settings: RetentionSettings): Retention | undefined {
  const { keepBlocks } = settings;
  const keepDays = settings.keepDays === 0 ? undefined : settings.keepDays;
  return keepBlocks === undefined && keepDays === undefined ? undefined : { keepBlocks, keepDays };
}

export interface PruneOptions {
  readonly ledger: LedgerWriter;
  readonly snapshots: SnapshotFolder;
  readonly retention: Retention;
  /**
   * A snapshot that the caller has just saved, which is not verified again. Without it, snapshots are
   * read until an intact one is found.
   */
  readonly savedHeight?: number | undefined;
  /**
   * Maximum number of blocks to drop at a time, because the writer waits while blocks are dropped.
   */
  readonly blocksMax?: number | undefined;
  /** The height up to which the archive has the blocks; undefined if there is no archive. */
  readonly archivedHeight?: ((ledger: Ledger) => Promise<number | undefined>) | undefined;
}

export interface Pruned {
  /** The number of dropped blocks. */
  readonly count: number;
  /** The height of the oldest remaining block, or of the next block if no block remains. */
  readonly firstHeight: number;
  /**
   * Why fewer blocks were dropped than the retention allows; undefined if all of these blocks were
   * dropped.
   */
  readonly reason: string | undefined;
  /** True if the reason is the archive. The archive catches up only while a process writes it. */
  readonly isForArchive: boolean;
}

/** Drops the blocks that retention does not keep, and completes an interrupted prune. */
export async function pruneLedger(options: PruneOptions): Promise<Pruned> {
  const { ledger, retention } = options;
  const base = await ledger.base();
  const head = await ledger.head();
  const { blocksMax = Number.POSITIVE_INFINITY } = options;
  const old = Math.max(base.height, await findLastToDrop(ledger, retention, head));
  const wanted = Math.min(old, base.height + blocksMax);
  const bySnapshots = await limitToSnapshots(options, wanted);
  const { height, reason } = await limitToArchive(options, bySnapshots, base.height);
  // The ledger is pruned even if there is nothing new to drop, because an earlier prune may have
  // been interrupted.
  await ledger.prune(height);
  const isForArchive = reason !== bySnapshots.reason;
  return { count: height - base.height, firstHeight: height + 1, reason, isForArchive };
}

async function findLastToDrop(
  ledger: Ledger,
  { keepBlocks, keepDays }: Retention,
  head: ChainPoint,
): Promise<number> {
  const byBlocks = keepBlocks === undefined ? head.height : head.height - keepBlocks;
  const byDays = keepDays === undefined ? head.height : await findOlder(ledger, head, keepDays);
  return Math.min(byBlocks, byDays);
}

/**
 * Returns the height of the last block that is older than the given days, by binary search: block
 * times never decrease.
 */
async function findOlder(ledger: Ledger, head: ChainPoint, days: number): Promise<number> {
  let older = (await ledger.base()).height;
  let younger = head.height;
  if (older === younger) return older;
  const limit = (await readTime(ledger, head.height)) - days * DAY_MS;
  while (younger - older > 1) {
    const middle = Math.floor((older + younger) / 2);
    if ((await readTime(ledger, middle)) < limit) older = middle;
    else younger = middle;
  }
  return older;
}

async function readTime(ledger: Ledger, height: number): Promise<number> {
  for await (const [block] of ledger.read(height - 1, height)) {
    return parseBlock(block.line.toString('utf8')).time;
  }
  return 0; // The block was dropped in the meantime, so it counts as older.
}

interface Limited {
  readonly height: number;
  readonly reason: string | undefined;
}

async function limitToSnapshots(options: PruneOptions, wanted: number): Promise<Limited> {
  const { ledger, snapshots } = options;
  const base = await ledger.base();
  if (wanted === base.height) return { height: wanted, reason: undefined };
  const head = await ledger.head();
  const usable = snapshots.heights().filter((at) => at >= base.height && at <= head.height);
  if (usable.length === 0 && base.height === 0) {
    const reason =
      'no snapshot has been written yet, and without one the remaining blocks could not be replayed; ' +
      'append with a lower --snapshot-every to get one earlier';
    return { height: 0, reason };
  }
  if (!(await isAnyIntact(options, usable))) {
    const message =
      `cannot prune: no snapshot from height ${base.height} on is usable, and without one the ` +
      'remaining blocks could not be replayed; append with a lower --snapshot-every first';
    throw new LedgerError('missing', message);
  }
  const [oldest] = usable;
  if (oldest >= wanted) return { height: wanted, reason: undefined };
  const reason = `the oldest snapshot is of height ${oldest}`;
  return { height: oldest, reason };
}

async function limitToArchive(
  { ledger, archivedHeight }: PruneOptions,
  limited: Limited,
  base: number,
): Promise<Limited> {
  const archived = await archivedHeight?.(ledger);
  if (archived === undefined || archived >= limited.height) return limited;
  const reason =
    archived === 0
      ? 'the archive holds none of its blocks, and needs them'
      : `the archive ends at block ${archived}, and needs those after it`;
  return { height: Math.max(base, archived), reason };
}

/** Returns true if at least one snapshot is intact. The newest snapshot is checked first. */
async function isAnyIntact(options: PruneOptions, heights: readonly number[]): Promise<boolean> {
  const { ledger, snapshots, savedHeight } = options;
  if (savedHeight !== undefined && heights.includes(savedHeight)) return true;
  for (const at of heights.toReversed()) {
    const loaded = await snapshots.load(at).catch(() => undefined);
    const stored = await ledger.point(at);
    if (loaded !== undefined && stored?.hash.equals(loaded.point.hash)) return true;
  }
  return false;
}

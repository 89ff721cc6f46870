/** Copies a ledger to another ledger, reads the copy back, and compares it with the original. */

import { CHAIN_START, checkLink } from '../ledger/hash-chain.ts';
import { type ChainPoint, LedgerError, type LedgerWriter } from '../ledger/ledger.ts';
import { createState } from '../state/state.ts';
import { Replica, type ReplicaOptions, restoreReplica, stateDigest } from './replica.ts';
import type { Storage } from './storage.ts';

export interface CopyOptions extends Required<Pick<ReplicaOptions, 'warn' | 'progress'>> {
  readonly source: Storage;
  readonly target: Storage<LedgerWriter>;
  /** The last height to copy; undefined for all blocks. */
  readonly until: number | undefined;
  /** Reports progress; may throw to abort. */
  copying(step: string, height: number, target: number): void;
}

export interface CopiedLedger {
  readonly head: ChainPoint;
  readonly digest: string;
  /** Number of blocks that this call copied; it may have continued an earlier copy. */
  readonly copiedBlocks: number;
}

/** Copies a ledger; throws a LedgerError if the copy differs from the original. */
export async function copyLedger(options: CopyOptions): Promise<CopiedLedger> {
  const original = await restoreOriginal(options);
  const { point: head } = original;
  const start = await findStart(options, head);
  await copyBlocks(options, start, head);
  const digest = stateDigest(original.state);
  await compareCopy(options, head, digest);
  if (head.height > 0) await saveSnapshot(options.target, original);
  return { head, digest, copiedBlocks: head.height - start.height };
}

function restoreOriginal({ source, until, warn, progress }: CopyOptions): Promise<Replica> {
  return restoreReplica({ ...source, height: until, warn, progress });
}

/** Returns the head of the copy; throws if the head is not a block of the original. */
async function findStart({ source, target }: CopyOptions, end: ChainPoint): Promise<ChainPoint> {
  const base = await source.ledger.base();
  const head = await target.ledger.head();
  if (head.height === 0 && base.height > 0) {
    await target.ledger.startAt(base);
    return base;
  }
  const counterpart = head.height > end.height ? undefined : await source.ledger.point(head.height);
  if (counterpart?.hash.equals(head.hash)) return head;
  const message =
    `the target ledger is at block ${head.height}, which is not in the source: ` +
    'expected an empty ledger or an earlier copy';
  throw new LedgerError('conflict', message);
}

async function copyBlocks(
  { source, target, copying }: CopyOptions,
  start: ChainPoint,
  end: ChainPoint,
): Promise<void> {
  let previous = start;
  for await (const batch of source.ledger.read(start.height, end.height)) {
    for (const block of batch) {
      checkLink(previous, block);
      previous = block;
    }
    await target.ledger.append(batch);
    copying('copying', previous.height, end.height);
  }
  if (previous.height === end.height) return;
  throw new LedgerError('corrupt', `block ${previous.height + 1} is not in the ledger`);
}

/**
 * Reads the whole copy back, and compares its last block and its replayed state with the original.
 */
async function compareCopy(options: CopyOptions, end: ChainPoint, digest: string): Promise<void> {
  const { target, copying } = options;
  const base = await target.ledger.base();
  const replica = await createReplicaAt(base, options);
  let previous = base;
  for await (const batch of target.ledger.read(base.height, end.height)) {
    for (const block of batch) {
      if (block.height > replica.point.height) replica.apply(block);
      else checkLink(previous, block);
      previous = block;
    }
    copying('reading the copy back', previous.height, end.height);
  }
  if (previous.hash.equals(end.hash) && stateDigest(replica.state) === digest) return;
  throw new LedgerError('corrupt', `the copy differs from the original at height ${end.height}`);
}

/**
 * Returns a replica with an empty state, or with the original's earliest usable snapshot if the
 * ledger was pruned.
 */
async function createReplicaAt(base: ChainPoint, { source }: CopyOptions): Promise<Replica> {
  if (base.height === 0) return new Replica(createState(), CHAIN_START);
  const { snapshots } = source;
  for (const height of snapshots.heights().filter((at) => at >= base.height)) {
    const loaded = await snapshots.load(height).catch(() => undefined);
    if (loaded !== undefined) return new Replica(loaded.state, loaded.point);
  }
  throw new LedgerError('missing', `no snapshot of the original from ${base.height} on is usable`);
}

/** A pruned copy needs a snapshot to start from; any other copy starts faster with a snapshot. */
async function saveSnapshot(
  { snapshots, shared }: Storage,
  { state, point }: Replica,
): Promise<void> {
  await snapshots.save(state, point.hash);
  await shared?.publish(snapshots, point.height);
}

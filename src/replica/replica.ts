/**
 * A replica: the state that results from a ledger's blocks. It starts from the newest snapshot of
 * the ledger, replays the blocks after the snapshot, and can follow new blocks. Every block's link
 * is checked. At a gap, a wrong hash or a block that does not apply, the replica fails permanently.
 */

import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { splitBlock } from '../events/block-pieces.ts';
import { type Block, parseBlock } from '../events/event.ts';
import { BlockError, Refusal } from '../events/refusal.ts';
import { CHAIN_START, checkLink, checkLinkInPieces, nextBlock } from '../ledger/hash-chain.ts';
import {
  type ChainPoint,
  isUnavailable,
  type Ledger,
  LedgerError,
  type StoredBlock,
} from '../ledger/ledger.ts';
import { applyBlock, applyInPieces, type EventWatcher } from '../state/fold.ts';
import { digestBytes } from '../state/snapshot/digest.ts';
import { createState, type State, type StateView } from '../state/state.ts';
import { runInSlices } from '../timing/slices.ts';
import { saveReplayed } from './replayed-snapshot.ts';
import type { SharedSnapshots } from './shared-snapshots.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';

/** A replica works for this many milliseconds before it yields to the event loop. */
const SLICE_MS = 0.3;
/** Longer lines are applied in pieces; a shorter line takes less time than a slice. */
const LONG_LINE_BYTES = 1 << 14;

export interface ReplicaOptions {
  readonly ledger: Ledger;
  readonly snapshots: SnapshotFolder;
  /** The source of snapshots that are not in the folder. */
  readonly shared?: SharedSnapshots | undefined;
  /** Replay up to this height; undefined for the ledger's head. */
  readonly height?: number | undefined;
  /**
   * If a replay to the head takes longer than this and the ledger is in a folder, a snapshot is
   * saved; undefined for never. If the ledger is on NATS, the snapshot keeper of a service saves
   * and publishes it.
   */
  readonly saveAfterMs?: number | undefined;
  /** Reports problems that cost time, but do not affect correctness. */
  warn(message: string): void;
  /** Called after each batch of replayed blocks; may throw to abort. */
  progress?(height: number, target: number): void;
}

/** SHA-256 over the logical state, with its height and time, in hexadecimal. */
export function stateDigest(state: StateView): string {
  const hash = createHash('sha256');
  for (const chunk of digestBytes(state)) hash.update(chunk);
  return hash.digest('hex');
}

export class Replica {
  readonly #state: State;
  #point: ChainPoint;
  /** The duration of the replay of stored blocks at the start. */
  replayMs = 0;
  #isInBlock = false;

  constructor(state: State, point: ChainPoint) {
    this.#state = state;
    this.#point = point;
  }

  get state(): StateView {
    return this.#state;
  }

  /** The point in the hash chain of the last applied block. */
  get point(): ChainPoint {
    return this.#point;
  }

  /** True while a block is applied in pieces. Meanwhile the state cannot be saved. */
  get isInBlock(): boolean {
    return this.#isInBlock;
  }

  /** Returns the state to a new owner; the replica must not be used after that. */
  release(): State {
    return this.#state;
  }

  /** Checks the link of the next stored block, and applies it. */
  apply(block: StoredBlock, watcher?: EventWatcher): void {
    checkLink(this.#point, block);
    this.#applyWhole(block, watcher);
    this.#moveTo(block);
  }

  /** Moves the replica to a block. The ledger's id is derived from its first block. */
  #moveTo({ height, hash }: ChainPoint): void {
    this.#point = { height, hash };
    if (height === 1) this.#state.ledgerId = ledgerIdOf(hash);
  }

  #applyWhole({ height, line }: StoredBlock, watcher?: EventWatcher): void {
    try {
      applyBlock(this.#state, parseLine(line), watcher);
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      const message = `stored block ${height} does not apply: ${error.message}${hintAt(error)}`;
      throw new LedgerError('corrupt', message, { cause: error });
    }
  }

  /**
   * Does the same as `apply` in pieces. At each yield, readers see the state before or after the
   * block.
   */
  *#applyInPieces(block: StoredBlock): Generator<void, void, void> {
    this.#isInBlock = true;
    try {
      yield* checkLinkInPieces(this.#point, block);
      const isApplied = yield* this.#tryPieces(block.line);
      if (!isApplied) this.#applyWhole(block);
      this.#moveTo(block);
    } finally {
      this.#isInBlock = false;
    }
  }

  /**
   * Applies a block in pieces. Returns false if the block must be applied as a whole, possibly only
   * to get the error message.
   */
  *#tryPieces(line: Buffer): Generator<void, boolean, void> {
    if (!isUtf8(line)) return false;
    try {
      const cut = splitBlock(line);
      if (cut === undefined) return false;
      yield* applyInPieces(this.#state, cut, cut.pieces);
      return true;
    } catch (error) {
      const isRefused = error instanceof Refusal || error instanceof BlockError;
      if (isRefused || error instanceof SyntaxError) return false;
      throw error;
    }
  }

  *#applyBatch(batch: readonly StoredBlock[]): Generator<void, void, void> {
    for (const block of batch) {
      if (block.line.length >= LONG_LINE_BYTES) yield* this.#applyInPieces(block);
      else this.apply(block);
      yield;
    }
  }

  /**
   * Applies a line that is not stored yet; throws a BlockError if it does not apply. `check` is
   * called before the block is applied, and may also throw a BlockError.
   */
  extend(line: Buffer, check?: (block: Block) => void): StoredBlock {
    const parsed = parseLine(line);
    check?.(parsed);
    applyBlock(this.#state, parsed);
    const block = nextBlock(this.#point, line);
    this.#moveTo(block);
    return block;
  }

  /**
   * Applies each new block of the ledger until the signal aborts. It yields to the event loop, even
   * in the middle of a block: until the block is complete, readers see the state before the block.
   */
  async follow(ledger: Ledger, signal: AbortSignal, watcher: ReplicaWatcher = {}): Promise<void> {
    for await (const batch of ledger.follow(this.#point.height, signal)) {
      await watcher.beforeBlocks?.();
      const steps = this.#applyBatch(batch);
      await runInSlices(() => steps.next().done === true, SLICE_MS, watcher.worked);
      watcher.advanced?.();
    }
  }
}

/** Callbacks that report how a replica follows its ledger. */
export interface ReplicaWatcher {
  /**
   * Called before each batch of blocks. The batch is applied when the returned promise has
   * resolved.
   */
  readonly beforeBlocks?: (() => Promise<void> | undefined) | undefined;
  /** Called after each batch of blocks. */
  readonly advanced?: () => void;
  /** Called after each slice of work, with the duration of the slice. */
  readonly worked?: ((seconds: number) => void) | undefined;
}

/** The length of a ledger's id in base64url: 72 bits of the first block's hash. */
const LEDGER_ID_LENGTH = 12;

function ledgerIdOf(hash: Buffer): string {
  return hash.toString('base64url').slice(0, LEDGER_ID_LENGTH);
}

/**
 * Sets the ledger's id, which old snapshots lack. A pruned ledger no longer has the block from
 * which the id is derived, so its id stays empty.
 */
async function setLedgerId(state: State, ledger: Ledger): Promise<void> {
  if (state.ledgerId !== '' || state.height === 0) return;
  const first = await ledger.point(1);
  if (first !== undefined) state.ledgerId = ledgerIdOf(first.hash);
}

/** A hint for a stored block with an event that this version does not know. */
function hintAt({ field }: BlockError): string {
  return field === 'type' ? '; if a newer perpinfo wrote it, upgrade this one' : '';
}

/** Refuses invalid UTF-8, because decoding would silently replace the invalid bytes. */
function parseLine(line: Buffer): Block {
  if (isUtf8(line)) return parseBlock(line.toString('utf8'));
  throw new BlockError({}, new Refusal('line', line.toString('latin1'), 'valid UTF-8'));
}

export function describePruning(base: ChainPoint): string {
  return `the blocks up to ${base.height} were pruned, the ledger starts at block ${base.height + 1}`;
}

/**
 * Returns a replica at the newest usable snapshot at or below the height, or with the empty state.
 */
async function loadStart(options: ReplicaOptions, height: number): Promise<Replica> {
  const { ledger, snapshots, warn } = options;
  const base = await ledger.base();
  const isFetched = await fetchShared(options, height);
  let hasUnreadable = !isFetched;
  const heights = listSnapshots(snapshots, warn);
  const usable = heights.filter((at) => at >= base.height && at <= height);
  for (const at of usable.reverse()) {
    try {
      const loaded = await snapshots.load(at);
      if (loaded === undefined) continue;
      const stored = await ledger.point(at);
      if (stored?.hash.equals(loaded.point.hash)) {
        await setLedgerId(loaded.state, ledger);
        return new Replica(loaded.state, loaded.point);
      }
      warn(`the snapshot of height ${at} is ignored: it belongs to another ledger`);
    } catch (error) {
      // The ledger did not answer, so the snapshot may be valid.
      if (isUnavailable(error)) throw error;
      hasUnreadable ||= isSystemError(error);
      warn(`the snapshot of height ${at} is ignored: ${(error as Error).message}`);
    }
  }
  if (base.height === 0) return new Replica(createState(), CHAIN_START);
  const later = heights.find((at) => at > height);
  // A retry may succeed when the disk has room for a snapshot, or when another replica has
  // published its state.
  const isOfHead = options.height === undefined;
  const mayCome = hasUnreadable || (isOfHead && options.shared !== undefined);
  throw new LedgerError(
    mayCome ? 'unavailable' : 'missing',
    `the blocks up to ${base.height} were pruned, and no snapshot from there to ${height} is usable` +
      (later === undefined ? '' : `; the first height with a snapshot is ${later}`),
  );
}

/** True if the operating system could not read the file. The file's content may then be valid. */
function isSystemError(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).code === 'string';
}

/** Snapshots are a cache: a folder that cannot be read counts as empty. */
function listSnapshots(snapshots: SnapshotFolder, warn: ReplicaOptions['warn']): number[] {
  try {
    return snapshots.heights();
  } catch (error) {
    warn(`cannot list the snapshots, so none is used: ${(error as Error).message}`);
    return [];
  }
}

/**
 * Fetches a snapshot. Returns false if a snapshot could not be fetched or saved: the restore may
 * succeed without it. Throws if the ledger is unavailable.
 */
async function fetchShared(options: ReplicaOptions, height: number): Promise<boolean> {
  const { ledger, shared, snapshots } = options;
  let isFetched = true;
  const warn = (message: string) => {
    isFetched = false;
    options.warn(message);
  };
  try {
    await shared?.fetch({ ledger, snapshots, height, warn });
  } catch (error) {
    if (error instanceof LedgerError) throw error;
    warn(`cannot fetch a snapshot: ${(error as Error).message}`);
  }
  return isFetched;
}

/** Returns the height to replay to; throws if the ledger does not have this height. */
async function findTarget({ ledger, snapshots, height, warn }: ReplicaOptions): Promise<number> {
  // The snapshots are listed before the head is read: a snapshot ahead of that head then means that
  // blocks were lost.
  const newest = listSnapshots(snapshots, warn).at(-1) ?? 0;
  const base = await ledger.base();
  // A given height can be restored even if the head cannot be read.
  const end = height === undefined ? (await ledger.head()).height : await ledger.height();
  if (newest > end) {
    warn(`there is a snapshot of height ${newest}, but the ledger ends at ${end}`);
  }
  const target = height ?? end;
  if (target <= end && target >= base.height) return target;
  const reason = target < base.height ? describePruning(base) : `the ledger ends at ${end}`;
  throw new LedgerError('missing', `height ${target} is not in the ledger: ${reason}`);
}

async function replay(replica: Replica, options: ReplicaOptions, target: number): Promise<void> {
  for await (const batch of options.ledger.read(replica.point.height, target)) {
    for (const block of batch) replica.apply(block);
    options.progress?.(replica.point.height, target);
  }
  if (replica.point.height === target) return;
  throw new LedgerError('corrupt', `block ${replica.point.height + 1} is not in the ledger`);
}

/** True if the next blocks that the replica needs were pruned. */
export async function needsPrunedBlocks(replica: Replica, ledger: Ledger): Promise<boolean> {
  const base = await ledger.base().catch(() => CHAIN_START);
  return base.height > replica.point.height;
}

/** The maximum number of attempts to restore while the ledger is being pruned. */
const RESTORES_MAX = 5;

/** Restores the state at a height from the nearest earlier snapshot and the blocks after it. */
export async function restoreReplica(options: ReplicaOptions): Promise<Replica> {
  const { ledger } = options;
  for (let restores = 1; ; restores++) {
    const base = await ledger.base();
    try {
      return await restoreOnce(options);
    } catch (error) {
      const wasPruned = (await ledger.base().catch(() => base)).height > base.height;
      if (restores === RESTORES_MAX || !wasPruned) throw error;
    }
  }
}

async function saveIfExpensive(replica: Replica, options: ReplicaOptions): Promise<void> {
  const { height, shared, saveAfterMs = Number.POSITIVE_INFINITY } = options;
  if (height !== undefined || shared !== undefined || replica.replayMs < saveAfterMs) return;
  await saveReplayed(replica, options);
}

async function restoreOnce(options: ReplicaOptions): Promise<Replica> {
  const target = await findTarget(options);
  const replica = await loadStart(options, target);
  const startedMs = performance.now();
  await replay(replica, options, target);
  replica.replayMs = performance.now() - startedMs;
  await saveIfExpensive(replica, options);
  return replica;
}

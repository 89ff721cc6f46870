/**
 * A replica: the state that a ledger's blocks fold into. It starts from the newest snapshot of the
 * ledger, replays the blocks after it, and can follow new ones. Every block's link is checked: at a
 * gap, a wrong hash or a block that does not apply, the replica fails permanently.
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
/** Longer lines are applied in pieces; shorter ones take less than a slice. */
const LONG_LINE_BYTES = 1 << 14;

export interface ReplicaOptions {
  readonly ledger: Ledger;
  readonly snapshots: SnapshotFolder;
  /** The source of snapshots that are not in the folder. */
  readonly shared?: SharedSnapshots | undefined;
  /** Replay up to this height; undefined for the ledger's head. */
  readonly height?: number | undefined;
  /**
   * A replay to the head that takes longer is followed by a snapshot, if the ledger is in a folder;
   * undefined for never. On NATS, the keeper of a service saves and publishes it.
   */
  readonly saveAfterMs?: number | undefined;
  /** Reports problems that cost time, not correctness. */
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
  /** The time that the replay of stored blocks took at the start. */
  replayMs = 0;
  #isInBlock = false;

  constructor(state: State, point: ChainPoint) {
    this.#state = state;
    this.#point = point;
  }

  get state(): StateView {
    return this.#state;
  }

  /** The state's place in the chain. */
  get point(): ChainPoint {
    return this.#point;
  }

  /** True while a block is applied in pieces: its state cannot be saved then. */
  get isInBlock(): boolean {
    return this.#isInBlock;
  }

  /** Hands the state over to another owner; the replica must not be used after that. */
  release(): State {
    return this.#state;
  }

  /** Checks the link of the next stored block, and applies it. */
  apply(block: StoredBlock, watcher?: EventWatcher): void {
    checkLink(this.#point, block);
    this.#applyWhole(block, watcher);
    this.#moveTo(block);
  }

  /** The ledger is named after its first block. */
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

  /** `apply` in pieces. At each yield, readers see the state before or after the block. */
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

  /** False if the block must be applied whole, possibly just to get the error message. */
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
   * Applies a line that is not stored yet, or throws a BlockError. `check` is called before the block is
   * applied, and may throw one too.
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
   * Applies each new block of the ledger, until the signal. It yields to the event loop, also in the
   * middle of a block: until the block is complete, readers see the state before it.
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
  /** Called before each batch of blocks, which waits for what it returns. */
  readonly beforeBlocks?: (() => Promise<void> | undefined) | undefined;
  /** Called after each batch of blocks. */
  readonly advanced?: () => void;
  /** Called after each slice of work, with its time. */
  readonly worked?: ((seconds: number) => void) | undefined;
}

/** 72 bits of the first block's hash. */
const LEDGER_ID_LENGTH = 12;

function ledgerIdOf(hash: Buffer): string {
  return hash.toString('base64url').slice(0, LEDGER_ID_LENGTH);
}

/**
 * Sets the id, which old snapshots lack. A pruned ledger no longer has the block that the id comes
 * from.
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

/** Refuses invalid UTF-8, which decoding would silently replace. */
function parseLine(line: Buffer): Block {
  if (isUtf8(line)) return parseBlock(line.toString('utf8'));
  throw new BlockError({}, new Refusal('line', line.toString('latin1'), 'valid UTF-8'));
}

export function describePruning(base: ChainPoint): string {
  return `the blocks up to ${base.height} were pruned, the ledger starts at block ${base.height + 1}`;
}

/** The newest snapshot of this ledger at or below the height, or the empty state. */
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
      // The ledger did not answer, so nothing is known about the snapshot.
      if (isUnavailable(error)) throw error;
      hasUnreadable ||= isSystemError(error);
      warn(`the snapshot of height ${at} is ignored: ${(error as Error).message}`);
    }
  }
  if (base.height === 0) return new Replica(createState(), CHAIN_START);
  const later = heights.find((at) => at > height);
  // A retry may succeed: once the disk has room to fetch one, or another replica has published its state.
  const isOfHead = options.height === undefined;
  const mayCome = hasUnreadable || (isOfHead && options.shared !== undefined);
  throw new LedgerError(
    mayCome ? 'unavailable' : 'missing',
    `the blocks up to ${base.height} were pruned, and no snapshot from there to ${height} is usable` +
      (later === undefined ? '' : `; the first height with a snapshot is ${later}`),
  );
}

/** True if the operating system could not read the file, so that nothing is known about its content. */
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
 * False if a snapshot could not be fetched or saved: the restore may succeed without it. Throws if the
 * ledger is unavailable.
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

/** The height to replay to; throws if the ledger does not have it. */
async function findTarget({ ledger, snapshots, height, warn }: ReplicaOptions): Promise<number> {
  // Listed before the head is read: a snapshot ahead of that head means that blocks were lost.
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

/** Attempts at a restore while the ledger is pruned. */
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

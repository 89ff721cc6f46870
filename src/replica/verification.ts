/**
 * Checks a whole ledger: the hash of every block, every block by replay, and every snapshot against
 * the replay.
 */

import { checkLink } from '../ledger/hash-chain.ts';
import { type ChainPoint, type Ledger, LedgerError, type StoredBlock } from '../ledger/ledger.ts';
import { SnapshotFormatError } from '../state/snapshot/snapshot.ts';
import { createState, type StateView } from '../state/state.ts';
import { Replica, stateDigest } from './replica.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';

export interface VerificationOptions {
  readonly ledger: Ledger;
  readonly snapshots: SnapshotFolder;
  /** Called for each snapshot that is damaged, or whose format this version does not read. */
  warn(message: string): void;
  /** Called after each batch of blocks; may throw to abort. */
  progress(height: number, target: number): void;
}

export interface VerifiedLedger {
  readonly head: ChainPoint;
  /** Undefined if the ledger was pruned and there is no snapshot to replay from. */
  readonly digest: string | undefined;
  /** The replayed state; undefined if `digest` is undefined. */
  readonly state: StateView | undefined;
  /** The duration of the replay after the last valid snapshot. */
  readonly replayMs: number;
  /** The heights of snapshots that are damaged or belong to another ledger, ascending. */
  readonly badSnapshots: readonly number[];
}

/** The maximum number of attempts to verify a ledger that is pruned during the verification. */
const ATTEMPTS_MAX = 5;

/** Checks the ledger; throws a LedgerError if a block is missing, damaged or does not apply. */
export async function verifyLedger(options: VerificationOptions): Promise<VerifiedLedger> {
  const { ledger } = options;
  for (let attempts = 1; ; attempts++) {
    const base = await ledger.base();
    try {
      return await new Verification(options).run();
    } catch (error) {
      const wasPruned = (await ledger.base()).height > base.height;
      if (attempts === ATTEMPTS_MAX || !wasPruned) throw error;
    }
  }
}

class Verification {
  readonly #options: VerificationOptions;
  /**
   * The replay of the blocks. In a pruned ledger, undefined until the first snapshot, from which
   * the replay starts.
   */
  #replica: Replica | undefined;
  readonly #unchecked: Set<number>;
  readonly #damaged: number[] = [];
  #startedMs = performance.now();

  constructor(options: VerificationOptions) {
    this.#options = options;
    this.#unchecked = new Set(options.snapshots.heights());
  }

  async run(): Promise<VerifiedLedger> {
    const { ledger, progress } = this.#options;
    const base = await ledger.base();
    const head = await ledger.head();
    if (base.height === 0) this.#replica = new Replica(createState(), base);
    await this.#checkSnapshot(base);
    let previous: ChainPoint = base;
    for await (const batch of ledger.read(base.height, head.height)) {
      for (const block of batch) {
        this.#checkBlock(previous, block);
        previous = block;
        await this.#checkSnapshot(block);
      }
      progress(previous.height, head.height);
    }
    if (previous.height !== head.height) {
      throw new LedgerError('corrupt', `block ${previous.height + 1} is not in the ledger`);
    }
    const state = this.#replica?.state;
    const replayMs = performance.now() - this.#startedMs;
    const digest = state === undefined ? undefined : stateDigest(state);
    const badSnapshots = [...this.#damaged, ...this.#unchecked].sort((a, b) => a - b);
    return { head, digest, state, replayMs, badSnapshots };
  }

  #checkBlock(previous: ChainPoint, block: StoredBlock): void {
    if (this.#replica === undefined) checkLink(previous, block);
    else this.#replica.apply(block);
  }

  async #checkSnapshot({ height, hash }: ChainPoint): Promise<void> {
    if (!this.#unchecked.delete(height)) return;
    try {
      const loaded = await this.#options.snapshots.load(height);
      if (loaded === undefined) return;
      const { state, point } = loaded;
      if (!point.hash.equals(hash)) throw new Error('it belongs to another ledger');
      this.#replica ??= new Replica(state, point);
      if (stateDigest(state) !== stateDigest(this.#replica.state)) {
        throw new Error('its state differs from the replayed one');
      }
      this.#startedMs = performance.now();
    } catch (error) {
      const isOtherFormat = error instanceof SnapshotFormatError;
      if (!isOtherFormat) this.#damaged.push(height);
      const fault = isOtherFormat ? 'not checked' : 'damaged';
      const reason = (error as Error).message;
      this.#options.warn(`the snapshot of height ${height} is ${fault}: ${reason}`);
    }
  }
}

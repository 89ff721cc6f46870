/**
 * Writes the blocks of any feed to a ledger. Every block is applied to the writer's state first, and
 * only blocks that apply are stored. While one batch is being stored, the next blocks are applied.
 */

import type { Block } from '../events/event.ts';
import { BlockError } from '../events/refusal.ts';
import type { ChainPoint, LedgerWriter, StoredBlock } from '../ledger/ledger.ts';
import type { StateView } from '../state/state.ts';
import { type CheckpointOptions, Checkpoints } from './checkpoints.ts';
import { checkClock } from './clock-check.ts';
import { Committer } from './committer.ts';
import { type Feed, type FeedBlock, FeedError } from './feed.ts';

/**
 * The maximum number of bytes in pending blocks. If more bytes are pending, the feed waits
 * (backpressure).
 */
const PENDING_BYTES_MAX = 8 << 20;

/** The writer's state, at the head of the ledger. Replica implements this interface. */
export interface WriterState {
  readonly state: StateView;
  readonly point: ChainPoint;
  /**
   * Applies the next block; throws a BlockError if the block does not apply, or if `check` throws
   * one.
   */
  extend(line: Buffer, check: (block: Block) => void): StoredBlock;
}

export interface BlockWriterOptions extends CheckpointOptions {
  readonly replica: WriterState;
  /** Stores the blocks in place of the ledger's own append, which it calls. */
  readonly storage?: Pick<LedgerWriter, 'append'> | undefined;
  /** Maximum time of a block ahead of this machine's clock; 0 for no limit. */
  readonly aheadMsMax: number;
  /**
   * True if blocks must not wait for a snapshot: the saved state is then in memory together with
   * the current state. Without effect if there is a retention, because pruning pauses the writer.
   */
  readonly savesInBackground?: boolean;
  /** Called with the last height of each batch when the batch is durable. */
  durable?(height: number): void;
}

export class BlockWriter {
  readonly #options: BlockWriterOptions;
  readonly #committer: Committer;
  readonly #checkpoints: Checkpoints;
  #checkpoint = Promise.resolve();

  constructor(options: BlockWriterOptions) {
    this.#options = options;
    const storage = options.storage ?? options.ledger;
    this.#committer = new Committer(storage, (height) => options.durable?.(height));
    this.#checkpoints = new Checkpoints(options, options.replica.point.height);
  }

  /**
   * Writes until the feed ends or the signal aborts. When the promise resolves, every applied block
   * is durable. If a block without a `refused` callback is refused, the promise rejects with a
   * FeedError as soon as the earlier blocks are durable. If a batch cannot be stored, it rejects
   * with the ledger's error at once, even while the writer waits for the feed.
   */
  async run(feed: Feed, signal: AbortSignal): Promise<void> {
    const { state } = this.#options.replica;
    const end = new AbortController();
    const start = { height: state.height, time: state.time, state };
    const feedSignal = AbortSignal.any([signal, end.signal]);
    const batches = feed.blocks(start, feedSignal)[Symbol.asyncIterator]();
    try {
      await this.#writeAll(batches);
    } catch (error) {
      if (!signal.aborted || !isAbort(error, feedSignal)) throw error;
    } finally {
      end.abort();
      // The call is not awaited, because the feed may be blocked on its source.
      batches.return?.().catch(() => undefined);
      await this.#committer.flush();
      await this.#checkpoint;
    }
  }

  async #writeAll(batches: AsyncIterator<readonly FeedBlock[]>): Promise<void> {
    for (;;) {
      const { done, value } = await this.#committer.unlessFailed(batches.next());
      if (done) return;
      for (const block of value) {
        const stored = this.#extend(block);
        if (stored === undefined) continue;
        this.#committer.add(stored);
        if (this.#checkpoints.isDue(this.#options.replica.point.height))
          await this.#startCheckpoint();
      }
      if (this.#committer.pendingBytes > PENDING_BYTES_MAX) await this.#committer.flush();
      else this.#committer.start();
    }
  }

  /**
   * Applies a block and returns it; returns undefined if the block was refused and its feed was
   * notified.
   */
  #extend(block: FeedBlock): StoredBlock | undefined {
    const { line, position } = block;
    const { replica, aheadMsMax } = this.#options;
    try {
      return replica.extend(line, (parsed) => checkClock(parsed, aheadMsMax, Date.now()));
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      if (block.refused !== undefined) {
        block.refused(error);
        return undefined;
      }
      throw new FeedError(position, error.message, { cause: error });
    }
  }

  async #startCheckpoint(): Promise<void> {
    const { replica, retention, savesInBackground = false } = this.#options;
    await this.#committer.flush();
    await this.#checkpoint;
    this.#checkpoint = this.#checkpoints.run(replica.state, replica.point);
    if (!savesInBackground || retention !== undefined) await this.#checkpoint;
  }
}

function isAbort(error: unknown, { reason }: AbortSignal): boolean {
  return error === reason || (error as Error).name === 'AbortError';
}

/** The interface of a feed: a source of blocks for a ledger. */

import type { BlockError } from '../events/refusal.ts';
import type { StateView } from '../state/state.ts';

export interface FeedBlock {
  /** The block as a line of NDJSON, without the newline. */
  readonly line: Buffer;
  /** The place in the source, such as "line 12", for error messages. */
  readonly position?: string;
  /**
   * Called with a refused block, which is then skipped. Without this function, a refused block ends the
   * feed. The function must not throw. The following blocks must apply without the skipped block.
   */
  refused?(error: BlockError): void;
}

/** The ledger's head when the feed starts; height and time are 0 if the ledger is empty. */
export interface FeedStart {
  readonly height: number;
  /** The time of the last block, in milliseconds. */
  readonly time: number;
  /** The writer's state, which advances as the feed's blocks are applied. */
  readonly state: StateView;
}

export interface Feed {
  readonly name: string;
  /**
   * Yields the blocks after the start as they arrive. Blocks that arrive together are yielded
   * together, and acknowledged as one batch. The next blocks are requested when these blocks have
   * been applied.
   *
   * Ends when the source ends. When the signal aborts, the feed drops a partial block. It then ends
   * at once, or throws the signal's reason or an AbortError.
   */
  blocks(start: FeedStart, signal: AbortSignal): AsyncIterable<readonly FeedBlock[]>;
}

/** The error about a refused block. The blocks before the refused block stay in the ledger. */
export class FeedError extends Error {
  constructor(position: string | undefined, reason: string, options?: ErrorOptions) {
    super(position === undefined ? reason : `${position}: ${reason}`, options);
    this.name = 'FeedError';
  }
}

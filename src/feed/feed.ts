/** The port of a feed: a source of blocks for a ledger. */

export interface FeedBlock {
  /** The block as a line of NDJSON, without the newline. */
  readonly line: Buffer;
  /** Where the source has it, such as "line 12"; named when the block is refused. */
  readonly position?: string;
}

/** Where the ledger stands when a feed starts; height 0 and time 0 where it is empty. */
interface FeedStart {
  readonly height: number;
  /** The time of the last block, in milliseconds. */
  readonly time: number;
}

export interface Feed {
  readonly name: string;
  /**
   * The blocks after the start, as they come. Blocks that arrive together are yielded together: the
   * ledger acknowledges them as one batch. The next ones are asked for when these are applied.
   *
   * It ends with the source. At the signal it ends at once, or throws the signal's reason or an
   * AbortError; a block that has arrived in part is dropped.
   */
  blocks(start: FeedStart, signal: AbortSignal): AsyncIterable<readonly FeedBlock[]>;
}

/** A block that was refused. The blocks before it are kept. */
export class FeedError extends Error {
  constructor(position: string | undefined, reason: string, options?: ErrorOptions) {
    super(position === undefined ? reason : `${position}: ${reason}`, options);
    this.name = 'FeedError';
  }
}

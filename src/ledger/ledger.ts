/**
 * The port that every ledger implements: blocks in order, each linked to the previous one by a hash.
 * A ledger does not interpret the lines that it stores; the fold does.
 */

/** A place in the chain: a height and the hash of the block there. */
export interface ChainPoint {
  readonly height: number;
  readonly hash: Buffer;
}

/** A block as it is stored: the line's bytes as received, without the newline. */
export interface StoredBlock extends ChainPoint {
  readonly line: Buffer;
}

export interface Ledger {
  /** The point before the oldest stored block: the chain's start unless blocks were pruned. */
  base(): Promise<ChainPoint>;
  /** Returns the newest block, or the base if there is no block. */
  head(): Promise<ChainPoint>;
  /** Returns the head's height without reading the block; the height may be cached for a moment. */
  height(): Promise<number>;
  /**
   * Returns the point at a height from the base to the head; returns undefined outside of this
   * range.
   */
  point(height: number): Promise<ChainPoint | undefined>;
  /**
   * Reads the blocks after a height, in order and in batches, up to `to` or the head at the time of
   * the call. Missing blocks are skipped, never awaited: a read from below the base starts at the
   * base, and the caller finds the gap when it checks the chain.
   */
  read(after: number, to?: number): AsyncIterable<readonly StoredBlock[]>;
  /** Reads the blocks after a height, then each new block, until the signal aborts. */
  follow(after: number, signal: AbortSignal): AsyncIterable<readonly StoredBlock[]>;
  /** Closes the ledger. It may be called more than once. */
  close(): Promise<void>;
}

/** The writer of a ledger. Opening a second writer is refused while the first writer is open. */
export interface LedgerWriter extends Ledger {
  /**
   * Appends the next blocks; resolves when they are durable. Calls must not overlap. If a height is
   * wrong, all blocks are refused. After a failure, an embedded ledger has stored none of the
   * blocks, or all of them if only the flush failed; a ledger on JetStream may have stored the
   * first few blocks. So read the head before the next append.
   */
  append(blocks: readonly StoredBlock[]): Promise<void>;
  /** Drops the blocks up to a height. This height becomes the base. */
  prune(height: number): Promise<void>;
  /** Sets the base of an empty ledger: its first block comes after this point. */
  startAt(base: ChainPoint): Promise<void>;
}

/**
 * The reasons for which a ledger fails:
 *
 *   missing: the ledger, or a part of it, does not exist
 *   busy: another writer has the ledger open
 *   conflict: another writer wrote to the ledger
 *   corrupt: stored bytes were changed, or the blocks do not form a chain
 *   unavailable: the servers of the ledger cannot be reached; a retry may help
 *   limit: a block or a setting exceeds what the ledger supports
 *   unwritable: the disk is full or read-only; stored blocks can still be read
 *   newer: a newer perpinfo wrote the ledger
 */
export type LedgerFault =
  | 'missing'
  | 'busy'
  | 'conflict'
  | 'corrupt'
  | 'unavailable'
  | 'limit'
  | 'unwritable'
  | 'newer';

export function isUnavailable(error: unknown): error is LedgerError {
  return error instanceof LedgerError && error.fault === 'unavailable';
}

export class LedgerError extends Error {
  readonly fault: LedgerFault;
  /** True if nothing was written, so that the same writer may make the same call again. */
  readonly isRepeatable: boolean;

  constructor(
    fault: LedgerFault,
    message: string,
    options?: ErrorOptions & { readonly isRepeatable?: boolean },
  ) {
    super(message, options);
    this.name = 'LedgerError';
    this.fault = fault;
    this.isRepeatable = options?.isRepeatable ?? false;
  }
}

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
  /** The newest block, or the base if there is none. */
  head(): Promise<ChainPoint>;
  /** The head's height, without reading the block; may be cached for a moment. */
  height(): Promise<number>;
  /** The point at a height between base and head; undefined outside. */
  point(height: number): Promise<ChainPoint | undefined>;
  /**
   * The blocks after a height, in order and in batches, up to `to` or the head at the time of the call.
   * Missing blocks are skipped, never awaited: reading from below the base starts at the base, and the
   * caller finds the gap when it checks the chain.
   */
  read(after: number, to?: number): AsyncIterable<readonly StoredBlock[]>;
  /** The blocks after a height, then each new one as it comes, until the signal. */
  follow(after: number, signal: AbortSignal): AsyncIterable<readonly StoredBlock[]>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** The writer of a ledger. Opening a second one is refused while the first is open. */
export interface LedgerWriter extends Ledger {
  /**
   * Appends the next blocks; resolves when they are durable. Calls must not overlap. Blocks with wrong
   * heights are refused as a whole. If it fails, an embedded ledger has stored none of the blocks, or
   * all if only the flush failed, and one on JetStream possibly the first few: read the head before the
   * next append.
   */
  append(blocks: readonly StoredBlock[]): Promise<void>;
  /** Drops the blocks up to a height, which becomes the base. */
  prune(height: number): Promise<void>;
  /** Sets the base of an empty ledger: its first block comes after this point. */
  startAt(base: ChainPoint): Promise<void>;
}

/**
 * missing: the ledger, or a part of it, does not exist. busy: another writer has it open. conflict:
 * another writer wrote to it. corrupt: stored bytes were changed, or do not chain. unavailable: its
 * servers cannot be reached; a retry may help. limit: a block or a setting exceeds what it supports.
 * unwritable: its disk is full or read-only; stored blocks can still be read. newer: a newer perpinfo
 * wrote it.
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

  constructor(fault: LedgerFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LedgerError';
    this.fault = fault;
  }
}

/**
 * The port that every ledger implements: blocks in order, each with its place in a chain of hashes.
 * A ledger stores and orders lines; what they say is for the fold to judge.
 */

import { createHash } from 'node:crypto';

/** A place in the chain: a height and the hash of the block there. */
export interface ChainPoint {
  readonly height: number;
  readonly hash: Buffer;
}

/** A block as it is stored: the line's bytes as received, without the newline. */
export interface StoredBlock extends ChainPoint {
  readonly line: Buffer;
}

export const HASH_BYTES = 32;

/** The point before block 1. */
export const CHAIN_START: ChainPoint = { height: 0, hash: Buffer.alloc(HASH_BYTES) };

export interface Ledger {
  /** The point before the first block that is kept: the chain's start unless it was pruned. */
  base(): Promise<ChainPoint>;
  /** The newest block, or the base where there is none. */
  head(): Promise<ChainPoint>;
  /** The head's height, without reading the block; may be cached for a moment. */
  height(): Promise<number>;
  /** The point at a height between base and head; undefined outside. */
  point(height: number): Promise<ChainPoint | undefined>;
  /**
   * The blocks after a height, in order and in batches, up to `to` or what is there at the start.
   * Blocks that are not there are left out, never waited for: after a height below the base come
   * the blocks from the base on, and the check of the chain finds the gap.
   */
  read(after: number, to?: number): AsyncIterable<readonly StoredBlock[]>;
  /** The blocks after a height, then each new one as it comes, until the signal. */
  follow(after: number, signal: AbortSignal): AsyncIterable<readonly StoredBlock[]>;
  /** Closing what is closed does nothing. */
  close(): Promise<void>;
}

/** The writer of a ledger. Opening a second one is refused while the first is open. */
export interface LedgerWriter extends Ledger {
  /**
   * Appends the next blocks; resolves once they are durable. One call at a time. Blocks that are not
   * the next ones are refused, and none is stored. If it fails, an embedded ledger has stored none; one
   * on JetStream may have stored the first few, never others: read the head before going on.
   */
  append(blocks: readonly StoredBlock[]): Promise<void>;
  /** Drops the blocks up to a height, which becomes the base. */
  prune(height: number): Promise<void>;
  /** Sets the base of an empty ledger: its first block comes after this point. */
  startAt(base: ChainPoint): Promise<void>;
}

/**
 * missing: there is no ledger here. busy: another writer has it. conflict: someone else wrote to it.
 * corrupt: what is stored is not what was written, or does not chain. unavailable: its servers cannot
 * be reached; a retry may help. limit: a block or a setting exceeds what it supports. unwritable: its
 * disk is full or read-only; what is stored can still be read.
 */
export type LedgerFault =
  | 'missing'
  | 'busy'
  | 'conflict'
  | 'corrupt'
  | 'unavailable'
  | 'limit'
  | 'unwritable';

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

/** SHA-256 over the previous block's hash and the line. */
function chainHash(previous: Buffer, line: Buffer): Buffer {
  return createHash('sha256').update(previous).update(line).digest();
}

/** The block that a line makes when it comes after `previous`. */
export function nextBlock(previous: ChainPoint, line: Buffer): StoredBlock {
  return { height: previous.height + 1, hash: chainHash(previous.hash, line), line };
}

/** Checks that a block is the one after `previous`; a replica does so with every block it reads. */
export function checkLink(previous: ChainPoint, block: StoredBlock): void {
  checkHeight(previous, block);
  checkHash(block, chainHash(previous.hash, block.line));
}

/** Piece size for hashing a long line with pauses in between. */
const HASHED_BYTES = 1 << 17;

/** The same, in pieces: the caller decides when to go on. */
export function* checkLinkInPieces(
  previous: ChainPoint,
  block: StoredBlock,
): Generator<void, void, void> {
  checkHeight(previous, block);
  const hash = createHash('sha256').update(previous.hash);
  for (let start = 0; start < block.line.length; start += HASHED_BYTES) {
    hash.update(block.line.subarray(start, start + HASHED_BYTES));
    yield;
  }
  checkHash(block, hash.digest());
}

function checkHeight(previous: ChainPoint, { height }: StoredBlock): void {
  const expected = previous.height + 1;
  if (height === expected) return;
  throw new LedgerError('corrupt', `block ${height} found where block ${expected} was expected`);
}

function checkHash({ height, hash }: StoredBlock, computed: Buffer): void {
  if (computed.equals(hash)) return;
  const [stored, expected] = [hash.toString('hex'), computed.toString('hex')];
  throw new LedgerError(
    'corrupt',
    `block ${height} is damaged: its stored hash is ${stored}, its bytes give ${expected}`,
  );
}

/**
 * The port that every ledger implements: blocks in order, each linked to the previous one by a hash.
 * A ledger does not interpret the lines that it stores; the fold does.
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
  /** The point before the oldest block kept: the chain's start unless blocks were pruned. */
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
   * heights are refused as a whole. If it fails, an embedded ledger has stored none of the blocks, and
   * one on JetStream possibly the first few: read the head before the next append.
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
 * unwritable: its disk is full or read-only; stored blocks can still be read.
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

export function nextBlock(previous: ChainPoint, line: Buffer): StoredBlock {
  return { height: previous.height + 1, hash: chainHash(previous.hash, line), line };
}

/** Checks height and hash of the block after `previous`. */
export function checkLink(previous: ChainPoint, block: StoredBlock): void {
  checkHeight(previous, block);
  checkHash(block, chainHash(previous.hash, block.line));
}

/** Bytes hashed between two yields. */
const HASHED_BYTES = 1 << 17;

/** `checkLink` in pieces, so that the caller can pause. */
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

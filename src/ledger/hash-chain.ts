/** Links the blocks: each block's hash covers the previous block's hash and the line of the block. */

import { createHash } from 'node:crypto';
import { type ChainPoint, LedgerError, type StoredBlock } from './ledger.ts';

export const HASH_BYTES = 32;

/** The point before block 1. */
export const CHAIN_START: ChainPoint = { height: 0, hash: Buffer.alloc(HASH_BYTES) };

/** SHA-256 over the previous block's hash and the line. */
function chainHash(previous: Buffer, line: Buffer): Buffer {
  return createHash('sha256').update(previous).update(line).digest();
}

export function nextBlock(previous: ChainPoint, line: Buffer): StoredBlock {
  return { height: previous.height + 1, hash: chainHash(previous.hash, line), line };
}

/** Throws if the height or the hash of a block does not follow from `previous`. */
export function checkLink(previous: ChainPoint, block: StoredBlock): void {
  checkHeight(previous, block);
  checkHash(block, chainHash(previous.hash, block.line));
}

/** The number of bytes that are hashed between two yields. */
const HASHED_BYTES = 1 << 17;

/** Does the same as `checkLink` in pieces, so that the caller can pause. */
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

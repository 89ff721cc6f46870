/** Encodes the embedded ledger's records. */

import { describeValue } from '../../events/refusal.ts';
import { CHAIN_START, HASH_BYTES } from '../hash-chain.ts';
import { type ChainPoint, LedgerError, type StoredBlock } from '../ledger.ts';
import type { BlockRecord, LedgerStore } from './ledger-store.ts';

export const META_BASE = 'base';
export const META_WRITER = 'writer';
export const META_RESTORE = 'restore';
const META_FORMAT = 'format';

/** Throws if a newer version wrote the ledger, because this version would misread it. */
export function checkLedgerFormat(store: LedgerStore, dataDirectory: string): void {
  const format = store.readMeta(META_FORMAT)?.toString();
  if (format === undefined) return;
  const message =
    `the ledger in ${dataDirectory} has format ${describeValue(format)}, expected format 1: ` +
    'it was written by a newer perpinfo, upgrade this one';
  throw new LedgerError('newer', message);
}

/** Throws if the ledger contains only a part of a backup. */
export function checkIsRestored(store: LedgerStore, dataDirectory: string): void {
  if (store.readMeta(META_RESTORE) === undefined) return;
  const message =
    `the ledger in ${dataDirectory} is not whole: its restore from a backup is under way or was ` +
    'interrupted; continue it with perpinfo restore';
  throw new LedgerError('missing', message);
}

export function encodePoint({ height, hash }: ChainPoint): Buffer {
  const bytes = Buffer.alloc(8 + HASH_BYTES);
  bytes.writeBigUInt64BE(BigInt(height));
  hash.copy(bytes, 8);
  return bytes;
}

function decodePoint(bytes: Buffer): ChainPoint {
  return { height: Number(bytes.readBigUInt64BE()), hash: Buffer.from(bytes.subarray(8)) };
}

/** Returns the base of the ledger: the point before its oldest block. */
export function readBase(store: LedgerStore): ChainPoint {
  const base = store.readMeta(META_BASE);
  return base === undefined ? CHAIN_START : decodePoint(base);
}

export function encodeRecord({ height, hash, line }: StoredBlock): BlockRecord {
  return { height, value: Buffer.concat([hash, line]) };
}

export function decodeRecord({ height, value }: BlockRecord): StoredBlock {
  if (!Number.isSafeInteger(height)) {
    const message = `the ledger is damaged: got the key ${describeValue(height)}, expected a height`;
    throw new LedgerError('corrupt', message);
  }
  if (value.length < HASH_BYTES) {
    throw new LedgerError('corrupt', `block ${height} is damaged: it holds ${value.length} bytes`);
  }
  return { height, hash: value.subarray(0, HASH_BYTES), line: value.subarray(HASH_BYTES) };
}

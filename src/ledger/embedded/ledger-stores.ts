/**
 * The embedded ledger's layout on the disk: an LMDB environment in a folder.
 *
 *   blocks  height -> 32 bytes of hash, then the line
 *   meta    "base"   -> the height (8 bytes, big-endian) and hash before the first block
 *           "guard"  -> nothing; its version is the head's height plus one, and every append is
 *                       conditional on it, so that writers can never interleave
 *           "writer" -> JSON of the process that has the ledger open for writing
 */

import path from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { describeValue } from '../../events/refusal.ts';
import { CHAIN_START, HASH_BYTES } from '../hash-chain.ts';
import { type ChainPoint, LedgerError, type StoredBlock } from '../ledger.ts';
import { LmdbFolder } from './lmdb-environment.ts';

/** Its name in error messages. */
export const LEDGER_LABEL = 'the ledger';
export const META_BASE = 'base';
export const META_GUARD = 'guard';
export const META_WRITER = 'writer';

export interface Stores {
  readonly folder: LmdbFolder<Buffer>;
  readonly environment: RootDatabase<Buffer, string>;
  readonly blocks: Database<Buffer, number>;
  readonly meta: Database<Buffer, string>;
}

export async function openStores(
  path: string,
  { readOnly }: { readOnly: boolean },
): Promise<Stores> {
  const options = { what: LEDGER_LABEL, folder: path, readOnly };
  const folder = await LmdbFolder.open<Buffer>(options, { encoding: 'binary' });
  const { environment } = folder;
  // A table that is not there is created.
  return folder.write(() => ({
    folder,
    environment,
    blocks: environment.openDB<Buffer, number>({ name: 'blocks', encoding: 'binary' }),
    meta: environment.openDB<Buffer, string>({
      name: 'meta',
      encoding: 'binary',
      useVersions: true,
    }),
  }));
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

/** The point before the first block. */
export function readBase({ meta }: Stores): ChainPoint {
  const base = meta.get(META_BASE);
  return base === undefined ? CHAIN_START : decodePoint(base);
}

export function decodeRecord(height: number, value: Buffer): StoredBlock {
  if (!Number.isSafeInteger(height)) {
    const message = `the ledger is damaged: got the key ${describeValue(height)}, expected a height`;
    throw new LedgerError('corrupt', message);
  }
  if (value.length < HASH_BYTES) {
    throw new LedgerError('corrupt', `block ${height} is damaged: it holds ${value.length} bytes`);
  }
  return { height, hash: value.subarray(0, HASH_BYTES), line: value.subarray(HASH_BYTES) };
}

/** The folder below a data directory that holds the ledger. */
export function ledgerFolder(dataDirectory: string): string {
  return path.join(dataDirectory, 'ledger');
}

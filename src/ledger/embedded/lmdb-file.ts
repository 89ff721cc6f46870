/**
 * Checks a database file before LMDB maps it. LMDB's C code trusts the first two pages: another
 * kind of file, or a truncated file, would crash the process without a message.
 *
 * Each of these two pages starts with a page header (24 bytes), and has these fields at these
 * offsets from its start:
 *
 *   24  u32  magic          28  u32  version of the format
 *   48  u32  size of a page
 *   144 u64  last page in use
 *   152 u64  transaction that wrote the page; the page of the later transaction counts
 */

import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { LedgerError } from '../ledger.ts';

const MAGIC = 0xbeefc0de;
const VERSION = 2;
const HEAD_BYTES = 160;

interface MetaPage {
  readonly pageBytes: number;
  readonly lastPage: number;
  readonly transaction: number;
}

function readMetaPage(file: number, offset: number): MetaPage | undefined {
  const bytes = Buffer.alloc(HEAD_BYTES);
  readSync(file, bytes, 0, HEAD_BYTES, offset);
  if (bytes.readUInt32LE(24) !== MAGIC || bytes.readUInt32LE(28) !== VERSION) return undefined;
  return {
    pageBytes: bytes.readUInt32LE(48),
    lastPage: Number(bytes.readBigUInt64LE(144)),
    transaction: Number(bytes.readBigUInt64LE(152)),
  };
}

/** Returns what is wrong with the file; returns undefined if LMDB can open the file safely. */
function findFault(file: number): string | undefined {
  if (fstatSync(file).size === 0) return undefined; // Another process has just created the file.
  const first = readMetaPage(file, 0);
  const second = first === undefined ? undefined : readMetaPage(file, first.pageBytes);
  if (first === undefined || second === undefined) return 'it is not a database of this version';
  const current = second.transaction > first.transaction ? second : first;
  const expected = (current.lastPage + 1) * current.pageBytes;
  // The size is read last: another process that writes extends the file before it updates these
  // pages.
  const { size } = fstatSync(file);
  return size < expected ? `it has ${size} bytes, expected at least ${expected}` : undefined;
}

/** Throws if LMDB must not open the file. A missing file is allowed. */
export function checkDatabaseFile(path: string): void {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r');
  try {
    const fault = findFault(file);
    if (fault !== undefined) throw new LedgerError('corrupt', `${path} is damaged: ${fault}`);
  } finally {
    closeSync(file);
  }
}

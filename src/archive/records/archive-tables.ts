/** The archive's tables in LMDB, and their keys. */

import path from 'node:path';
import type { Database } from 'lmdb';
import type { Address } from '../../exact/address.ts';
import { describeDiskFailure } from '../../ledger/embedded/disk-failure.ts';
import { LmdbFolder, readFileId } from '../../ledger/embedded/lmdb-environment.ts';
import { checkSpace } from '../../ledger/embedded/lmdb-space.ts';
import { LedgerError } from '../../ledger/ledger.ts';

/** The name of the archive in error messages. */
const LABEL = 'the archive';
const FORMAT = '1';

type RecordTable<K extends Buffer | string | number> = Database<Buffer, K>;

export interface ArchiveTables {
  /** The range (ledger, heights, gaps), the format, and the process that writes. */
  readonly meta: RecordTable<string>;
  /** The times of blocks, by span. */
  readonly times: RecordTable<number>;
  /** The marks, by span and market. */
  readonly marks: RecordTable<Buffer>;
  /** The row of each address in the state, and the dexes on which the address has an account. */
  readonly addresses: RecordTable<Buffer>;
  /** Packs of account versions, by address row, dex and the height of the first version. */
  readonly accounts: RecordTable<Buffer>;
  /** Lists of delegations, by address row and height. */
  readonly delegations: RecordTable<Buffer>;
  /** Changes of dexes, markets and the auction, by height. */
  readonly listings: RecordTable<number>;
}

export interface ArchiveFolder {
  readonly tables: ArchiveTables;
  /** False if the file was removed or replaced. */
  isInPlace(): boolean;
  /** Makes later reads see the last committed transaction. */
  refresh(): void;
  /**
   * Runs `change` in one transaction. Throws before the transaction if the disk does not have room
   * for this number of bytes.
   */
  transact(bytes: number, change: () => void): Promise<void>;
  close(): Promise<void>;
}

export function archiveFolder(dataDirectory: string): string {
  return path.join(dataDirectory, 'archive');
}

/** True if there is an archive, complete or not. */
export function hasArchive(dataDirectory: string): boolean {
  return readFileId(archiveFolder(dataDirectory)) !== '';
}

/**
 * Opens the tables. Returns undefined if there is no archive, or if another process has just
 * created it.
 */
export async function openArchiveFolder(
  dataDirectory: string,
  { readOnly }: { readOnly: boolean },
): Promise<ArchiveFolder | undefined> {
  const folder = archiveFolder(dataDirectory);
  if (readOnly && !hasArchive(dataDirectory)) return undefined;
  const opening = { what: LABEL, folder, readOnly };
  const opened = await LmdbFolder.open<Buffer>(opening, { encoding: 'binary' });
  const tables = await opened.write(() => openTables(opened));
  if (tables === undefined) {
    await opened.close();
    return undefined;
  }
  try {
    await checkFormat(opened, tables, { folder, readOnly });
  } catch (error) {
    await opened.close();
    throw error;
  }
  const { environment } = opened;
  const fileId = readFileId(folder);
  return {
    tables,
    isInPlace: () => readFileId(folder) === fileId,
    refresh: () => environment.resetReadTxn(),
    async transact(bytes, change) {
      await opened.check();
      requireSpace(folder, tables, Math.max(bytes, CHANGE_BYTES_MIN));
      await opened.write(() => environment.transactionSync(change));
      environment.resetReadTxn();
    },
    close: () => opened.close(),
  };
}

/**
 * The minimum room for a change, in bytes: even the smallest change may copy pages of several
 * trees.
 */
const CHANGE_BYTES_MIN = 65_536;

function requireSpace(folder: string, tables: ArchiveTables, bytes: number): void {
  try {
    checkSpace(folder, Object.values(tables), bytes);
  } catch (error) {
    const message = `cannot write the archive: ${describeDiskFailure(error as Error, folder)}`;
    throw new LedgerError('unwritable', message, { cause: error });
  }
}

function openTables({ environment }: LmdbFolder<Buffer>): ArchiveTables | undefined {
  const open = <K extends Buffer | string | number>(name: string, isBinary = false) =>
    environment.openDB<Buffer, K>({
      name,
      encoding: 'binary',
      ...(isBinary && { keyEncoding: 'binary' as const }),
    });
  const tables = {
    meta: open<string>('meta'),
    times: open<number>('times'),
    marks: open<Buffer>('marks', true),
    addresses: open<Buffer>('addresses', true),
    accounts: open<Buffer>('accounts', true),
    delegations: open<Buffer>('delegations', true),
    listings: open<number>('listings'),
  };
  return Object.values(tables).includes(undefined as never) ? undefined : tables;
}

async function checkFormat(
  opened: LmdbFolder<Buffer>,
  { meta }: ArchiveTables,
  { folder, readOnly }: { folder: string; readOnly: boolean },
): Promise<void> {
  const format = meta.get('format')?.toString();
  if (format === FORMAT) return;
  if (format === undefined) {
    if (readOnly) return;
    const put = () => void meta.put('format', Buffer.from(FORMAT));
    await opened.write(() => opened.environment.transactionSync(put));
    return;
  }
  const message =
    `the archive in ${folder} has format ${JSON.stringify(format)}, expected format ${FORMAT}: ` +
    'it was written by a newer perpinfo; upgrade this one, or delete the folder to build it again';
  throw new LedgerError('newer', message);
}

const ADDRESS_ROW_BYTES = 4;
const DEX_BYTES = 2;
const HEIGHT_BYTES = 6;
const HEIGHT_MAX = 2 ** 48 - 1;

export function markKey(span: number, market: number): Buffer {
  const key = Buffer.allocUnsafe(HEIGHT_BYTES + ADDRESS_ROW_BYTES);
  key.writeUIntBE(span, 0, HEIGHT_BYTES);
  key.writeUInt32BE(market, HEIGHT_BYTES);
  return key;
}

/** An account: the row of its address, and its dex. */
export interface AccountId {
  readonly addressRow: number;
  readonly dexIndex: number;
}

const ACCOUNT_BYTES = ADDRESS_ROW_BYTES + DEX_BYTES;

export function accountKey({ addressRow, dexIndex }: AccountId, height: number): Buffer {
  const key = Buffer.allocUnsafe(ACCOUNT_BYTES + HEIGHT_BYTES);
  key.writeUInt32BE(addressRow);
  key.writeUInt16BE(dexIndex, ADDRESS_ROW_BYTES);
  key.writeUIntBE(height, ACCOUNT_BYTES, HEIGHT_BYTES);
  return key;
}

export function delegationsKey(addressRow: number, height: number): Buffer {
  const key = Buffer.allocUnsafe(ADDRESS_ROW_BYTES + HEIGHT_BYTES);
  key.writeUInt32BE(addressRow);
  key.writeUIntBE(height, ADDRESS_ROW_BYTES, HEIGHT_BYTES);
  return key;
}

/** The height at the end of a key. */
export function heightOfKey(key: Buffer): number {
  return key.readUIntBE(key.length - HEIGHT_BYTES, HEIGHT_BYTES);
}

/** The part of a key before the height: the account, or the address. */
export function subjectOfKey(key: Buffer): Buffer {
  return key.subarray(0, key.length - HEIGHT_BYTES);
}

/** A record that is found by its subject and a height. */
export interface ArchiveEntry {
  readonly key: Buffer;
  readonly height: number;
  readonly record: Buffer;
}

/** The newest pack of an account that does not begin after the height. */
export function findPack(
  { accounts }: ArchiveTables,
  id: AccountId,
  height = HEIGHT_MAX,
): ArchiveEntry | undefined {
  return findLast(accounts, accountKey(id, height), accountKey(id, 0));
}

/** The oldest pack of an account that does not begin before the height. */
export function findPackFrom(
  { accounts }: ArchiveTables,
  id: AccountId,
  height: number,
): ArchiveEntry | undefined {
  const range = { start: accountKey(id, height), end: accountKey(id, HEIGHT_MAX), limit: 1 };
  for (const { key, value } of accounts.getRange(range)) {
    return { key, height: heightOfKey(key), record: value };
  }
  return undefined;
}

/** The newest list of delegations that is not later than the height. */
export function findDelegations(
  { delegations }: ArchiveTables,
  addressRow: number,
  height = HEIGHT_MAX,
): ArchiveEntry | undefined {
  return findLast(delegations, delegationsKey(addressRow, height), delegationsKey(addressRow, 0));
}

/**
 * Returns the last entry from `end` down to `start`. The key `start` itself is excluded; its height
 * is 0, which no record has.
 */
function findLast(
  table: RecordTable<Buffer>,
  end: Buffer,
  start: Buffer,
): ArchiveEntry | undefined {
  for (const { key, value } of table.getRange({
    start: end,
    end: start,
    reverse: true,
    limit: 1,
  })) {
    return { key, height: heightOfKey(key), record: value };
  }
  return undefined;
}

const WORD_BYTES = 5;
export const ADDRESS_BYTES = 4 * WORD_BYTES;

export function packAddress({ word0, word1, word2, word3 }: Address): Buffer {
  const bytes = Buffer.allocUnsafe(ADDRESS_BYTES);
  bytes.writeUIntBE(word0, 0, WORD_BYTES);
  bytes.writeUIntBE(word1, WORD_BYTES, WORD_BYTES);
  bytes.writeUIntBE(word2, 2 * WORD_BYTES, WORD_BYTES);
  bytes.writeUIntBE(word3, 3 * WORD_BYTES, WORD_BYTES);
  return bytes;
}

export function unpackAddress(bytes: Buffer, offset = 0): Address {
  const word = (index: number) => bytes.readUIntBE(offset + index * WORD_BYTES, WORD_BYTES);
  return { word0: word(0), word1: word(1), word2: word(2), word3: word(3) };
}

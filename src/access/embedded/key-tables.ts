/**
 * The port for storing the keys of a folder: a database that is separate from the ledger, so that
 * managing keys does not need the ledger's writer. LMDB implements the port (lmdb-key-tables.ts);
 * in tests, a simulated disk that fails implements it.
 *
 *   keys   ID         -> checksum of the ID and the JSON, a space, the JSON of the key
 *   meta   "contents" -> JSON of { version, ids }: the version goes up with every change, and ids is
 *                        a checksum of all IDs, so that a lost record is noticed
 *          "format"   -> the number of the format; keys of format 1 have no such entry
 */

import { createHash } from 'node:crypto';
import path from 'node:path';
import { dataFile } from '../../ledger/embedded/lmdb-environment.ts';
import { type Key, KeyError } from '../keys.ts';

export interface KeyTableContents {
  readonly version: number;
  readonly ids: string;
}

/** A row of the table of keys. The value of a damaged record may be anything. */
export interface KeyRecord {
  readonly id: string;
  readonly value: unknown;
}

export interface KeyTables {
  /** Makes the newest change visible to the reads that follow. */
  refresh(): void;
  readContents(): KeyTableContents | undefined;
  readKey(id: string): unknown;
  /** Returns the keys in order of their IDs. */
  readKeys(): readonly KeyRecord[];
  /** Throws if the disk has no room for a change of this size. */
  requireSpace(bytes: number): void;
  /** Reserves room, if the disk has enough, so that a later change fits even on a full disk. */
  reserveSpace(bytes: number): void;
  /**
   * Makes all changes in one transaction, which is durable when the call returns; makes no change
   * if the callback throws. Reads in the callback already see the changes.
   */
  transact<T>(change: (changes: KeyChanges) => T): T;
  close(): Promise<void>;
}

/** The changes of a transaction. */
export interface KeyChanges {
  putKey(id: string, value: string): void;
  removeKey(id: string): void;
  putContents(contents: KeyTableContents): void;
}

export function checksum(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url');
}

export function encodeKey(key: Key): string {
  const json = JSON.stringify(key);
  return `${checksum(key.id, json)} ${json}`;
}

/** Returns the key of a record; returns undefined if the record is damaged. */
export function decodeKey(id: string, record: unknown): Key | undefined {
  if (typeof record !== 'string') return undefined;
  const space = record.indexOf(' ');
  const json = record.slice(space + 1);
  return record.slice(0, space) === checksum(id, json) ? (JSON.parse(json) as Key) : undefined;
}

export function keysFolder(dataDirectory: string): string {
  return path.join(dataDirectory, 'keys');
}

/** Creates an error that names the damaged file and the remedy. */
export function damageError(folder: string, what: string, cause?: unknown): KeyError {
  const message = `${what} in ${dataFile(folder)}: restore it from a backup, or revoke the keys and create new ones`;
  return new KeyError(message, { cause });
}

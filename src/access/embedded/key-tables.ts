/**
 * Access keys in an LMDB environment of their own beside the ledger, so that managing keys does not
 * need the ledger's writer.
 *
 *   keys   ID         -> checksum of the ID and the JSON, a space, the JSON of the key
 *   meta   "contents" -> JSON of { version, ids }: the version goes up with every change, and ids is
 *                        a checksum of all IDs, so that a lost record is noticed
 */

import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Database } from 'lmdb';
import { dataFile, LmdbFolder } from '../../ledger/embedded/lmdb-environment.ts';
import { type Key, KeyError } from '../keys.ts';

export const CONTENTS = 'contents';

export interface Contents {
  readonly version: number;
  readonly ids: string;
}

export interface Tables {
  readonly folder: LmdbFolder<unknown>;
  readonly keys: Database<string, string>;
  readonly meta: Database<Contents, string>;
}

export function checksum(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url');
}

export function encodeKey(key: Key): string {
  const json = JSON.stringify(key);
  return `${checksum(key.id, json)} ${json}`;
}

/** Undefined if the record is damaged. */
export function decodeKey(id: string, record: unknown): Key | undefined {
  if (typeof record !== 'string') return undefined;
  const space = record.indexOf(' ');
  const json = record.slice(space + 1);
  return record.slice(0, space) === checksum(id, json) ? (JSON.parse(json) as Key) : undefined;
}

export function keysFolder(dataDirectory: string): string {
  return path.join(dataDirectory, 'keys');
}

/** Names the damaged file, and what to do. */
export function damageError(folder: string, what: string, cause?: unknown): KeyError {
  const message = `${what} in ${dataFile(folder)}: restore it from a backup, or revoke the keys and create new ones`;
  return new KeyError(message, { cause });
}

/** Undefined if the tables do not exist: opening read-only does not create them. */
export async function openTables(path: string, readOnly: boolean): Promise<Tables | undefined> {
  const folder = await LmdbFolder.open<unknown>({ what: 'the keys', folder: path, readOnly });
  const { environment } = folder;
  const { keys, meta } = await folder.write(() => ({
    keys: environment.openDB<string, string>({ name: 'keys', encoding: 'string' }),
    meta: environment.openDB<Contents, string>({ name: 'meta', encoding: 'json' }),
  }));
  if (keys !== undefined && meta !== undefined) return { folder, keys, meta };
  await folder.close();
  return undefined;
}

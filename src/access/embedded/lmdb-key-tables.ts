/** The tables of keys in LMDB. */

import type { Database } from 'lmdb';
import { LmdbFolder } from '../../ledger/embedded/lmdb-environment.ts';
import { checkSpace, reserveSpace } from '../../ledger/embedded/lmdb-space.ts';
import { KeyError } from '../keys.ts';
import type { KeyChanges, KeyRecord, KeyTableContents, KeyTables } from './key-tables.ts';

const CONTENTS = 'contents';
const FORMAT_ENTRY = 'format';

interface Databases {
  readonly keys: Database<string, string>;
  readonly meta: Database<KeyTableContents, string>;
}

class LmdbKeyTables implements KeyTables {
  readonly #path: string;
  readonly #folder: LmdbFolder<unknown>;
  readonly #keys: Database<string, string>;
  readonly #meta: Database<KeyTableContents, string>;
  readonly #changes: KeyChanges;

  constructor(path: string, folder: LmdbFolder<unknown>, { keys, meta }: Databases) {
    this.#path = path;
    this.#folder = folder;
    this.#keys = keys;
    this.#meta = meta;
    // `void` drops the promise of each put, because a transaction would wait for a promise that its
    // callback returns.
    this.#changes = {
      putKey: (id, value) => void keys.put(id, value),
      removeKey: (id) => void keys.remove(id),
      putContents: (contents) => void meta.put(CONTENTS, contents),
    };
  }

  refresh(): void {
    this.#folder.environment.resetReadTxn();
  }

  readContents(): KeyTableContents | undefined {
    return this.#meta.get(CONTENTS);
  }

  readKey(id: string): unknown {
    return this.#keys.get(id);
  }

  readKeys(): readonly KeyRecord[] {
    return Array.from(this.#keys.getRange(), ({ key, value }) => ({ id: key, value }));
  }

  requireSpace(bytes: number): void {
    checkSpace(this.#path, [this.#keys, this.#meta], bytes);
  }

  reserveSpace(bytes: number): void {
    reserveSpace(this.#path, [this.#keys, this.#meta], bytes);
  }

  transact<T>(change: (changes: KeyChanges) => T): T {
    const { environment } = this.#folder;
    return this.#folder.writeAtOnce(() => environment.transactionSync(() => change(this.#changes)));
  }

  close(): Promise<void> {
    return this.#folder.close();
  }
}

/**
 * Opens the tables; returns undefined if they do not exist, because a read-only opening does not
 * create tables.
 */
export async function openLmdbKeyTables(
  path: string,
  { readOnly }: { readOnly: boolean },
): Promise<KeyTables | undefined> {
  const folder = await LmdbFolder.open<unknown>({ what: 'the keys', folder: path, readOnly });
  const { environment } = folder;
  const databases = await folder.write(() => ({
    keys: environment.openDB<string, string>({ name: 'keys', encoding: 'string' }),
    meta: environment.openDB<KeyTableContents, string>({ name: 'meta', encoding: 'json' }),
  }));
  const format: unknown = databases.meta?.get(FORMAT_ENTRY);
  const hasTables = databases.keys !== undefined && databases.meta !== undefined;
  if (hasTables && format === undefined) return new LmdbKeyTables(path, folder, databases);
  await folder.close();
  if (format === undefined) return undefined;
  throw createFormatError(path, format);
}

/**
 * Creates the error for keys of a newer version, which may limit keys in ways that this version
 * would ignore.
 */
function createFormatError(folder: string, format: unknown): KeyError {
  const message =
    `the keys in ${folder} have format ${JSON.stringify(format)}, expected format 1: ` +
    'they were written by a newer perpinfo, upgrade this one';
  return new KeyError(message);
}

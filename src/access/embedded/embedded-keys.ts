/** Changes the keys of a data directory. Each change is durable when its call returns. */

import { describeDiskFailure } from '../../ledger/embedded/disk-failure.ts';
import { readFileId } from '../../ledger/embedded/lmdb-environment.ts';
import {
  addSecretTo,
  findRemovableKeys,
  makeKey,
  type NewSecret,
  removeSecretFrom,
} from '../key-changes.ts';
import type { KeyStore } from '../key-store.ts';
import { type Key, KeyError, type KeyTerms, missingKey, parseName } from '../keys.ts';
import { EmbeddedKeyReader } from './key-reader.ts';
import {
  checksum,
  damageError,
  decodeKey,
  encodeKey,
  type KeyChanges,
  type KeyTables,
  keysFolder,
} from './key-tables.ts';
import { openLmdbKeyTables } from './lmdb-key-tables.ts';

/**
 * The maximum size of a change, in bytes. Room is reserved, so that a key can be revoked on a full
 * disk.
 */
const CHANGE_BYTES = 32_768;
/** A change removes at most this many keys that were revoked long ago. */
const FORGOTTEN_MAX = 2;
const RESERVED_BYTES = 2 * CHANGE_BYTES;

export class EmbeddedKeyStore extends EmbeddedKeyReader implements KeyStore {
  readonly #tables: KeyTables;

  constructor(folder: string, tables: KeyTables) {
    super(folder, tables);
    this.#tables = tables;
    if (this.contents() === undefined) this.#change(() => undefined);
    tables.reserveSpace(RESERVED_BYTES);
  }

  create(terms: KeyTerms): NewSecret {
    const { key, newSecret } = makeKey(terms);
    this.#change((changes) => putKey(changes, key));
    return newSecret;
  }

  addSecret(keyName: string): NewSecret {
    const { id } = parseName(keyName);
    return this.#change((changes) => {
      const { key, newSecret } = addSecretTo(this.#require(id));
      putKey(changes, key);
      return newSecret;
    });
  }

  /** Revokes a key or one of its secrets. A key with a damaged record is removed. */
  revoke(name: string): void {
    const { id, number } = parseName(name);
    this.#change((changes) => {
      const isDamaged = this.#tables.readKey(id) !== undefined && this.#find(id) === undefined;
      if (isDamaged) changes.removeKey(id);
      else putKey(changes, removeSecretFrom(this.#require(id), number));
      this.#removeForgotten(changes);
    });
  }

  /** Removes only a few keys at a time, so that a change stays within the space that is reserved for it. */
  #removeForgotten(changes: KeyChanges): void {
    const stored = this.#tables.readKeys().flatMap(({ id, value }) => decodeKey(id, value) ?? []);
    const forgotten = findRemovableKeys(stored, Date.now());
    for (const { id } of forgotten.slice(-FORGOTTEN_MAX)) changes.removeKey(id);
  }

  /** Adds keys with their existing ids and secrets: all of them, or none if the change fails. */
  restore(keys: readonly Key[]): void {
    this.#change((changes) => {
      for (const key of keys) putKey(changes, key);
    });
  }

  #find(id: string): Key | undefined {
    return decodeKey(id, this.#tables.readKey(id));
  }

  #require(id: string): Key {
    const key = this.#find(id);
    if (key !== undefined) return key;
    if (this.#tables.readKey(id) === undefined) throw missingKey(id);
    throw damageError(this.folder, `the record of key ${id} is damaged`);
  }

  /** Makes the change and raises the version in one durable transaction. */
  #change<T>(change: (changes: KeyChanges) => T): T {
    const tables = this.#tables;
    try {
      tables.requireSpace(CHANGE_BYTES);
      return tables.transact((changes) => {
        const version = (this.contents()?.version ?? 0) + 1;
        const result = change(changes);
        const ids = tables.readKeys().map(({ id }) => id);
        changes.putContents({ version, ids: checksum(...ids) });
        return result;
      });
    } catch (error) {
      if (error instanceof KeyError) throw error;
      const reason = describeDiskFailure(error as Error, this.folder);
      const message = `the keys were not changed: ${reason}`;
      throw new KeyError(message, { cause: error });
    }
  }
}

function putKey(changes: KeyChanges, key: Key): void {
  changes.putKey(key.id, encodeKey(key));
}

/**
 * Opens keys for changes. If `create` is true, the folder of the keys is created if there is none.
 */
export async function openEmbeddedKeys(
  dataDirectory: string,
  { create = true } = {},
): Promise<EmbeddedKeyStore> {
  const folder = keysFolder(dataDirectory);
  if (!create && readFileId(folder) === '') {
    throw new KeyError(`there are no keys in ${dataDirectory}`);
  }
  const tables = await openLmdbKeyTables(folder, { readOnly: false });
  if (tables === undefined) throw new Error(`LMDB created no tables in ${folder}`);
  return new EmbeddedKeyStore(folder, tables);
}

/** Changes the keys of a data directory; each change is durable when it returns. */

import { describeDiskFailure } from '../../ledger/embedded/disk-failure.ts';
import { readFileId } from '../../ledger/embedded/lmdb-environment.ts';
import { checkSpace, reserveSpace } from '../../ledger/embedded/lmdb-space.ts';
import { addSecretTo, makeKey, type NewSecret, removeSecretFrom } from '../key-changes.ts';
import type { KeyStore } from '../key-store.ts';
import { type Key, KeyError, type KeyTerms, missingKey, parseName } from '../keys.ts';
import { EmbeddedKeyReader } from './key-reader.ts';
import {
  CONTENTS,
  checksum,
  damageError,
  decodeKey,
  encodeKey,
  keysFolder,
  openTables,
  type Tables,
} from './key-tables.ts';

/** Maximum size of a change. Room is reserved, so that a key can be revoked on a full disk. */
const CHANGE_BYTES = 32_768;
const RESERVED_BYTES = 2 * CHANGE_BYTES;

class EmbeddedKeyStore extends EmbeddedKeyReader implements KeyStore {
  readonly #tables: Tables;

  constructor(folder: string, tables: Tables) {
    super(folder, tables);
    this.#tables = tables;
    if (this.contents() === undefined) this.#change(() => undefined);
    reserveSpace(folder, [tables.keys, tables.meta], RESERVED_BYTES);
  }

  create(terms: KeyTerms): NewSecret {
    const { key, newSecret } = makeKey(terms);
    this.#change(() => this.#put(key));
    return newSecret;
  }

  addSecret(keyName: string): NewSecret {
    const { id } = parseName(keyName);
    return this.#change(() => {
      const { key, newSecret } = addSecretTo(this.#require(id));
      this.#put(key);
      return newSecret;
    });
  }

  /** A key with a damaged record is revoked as a whole. */
  revoke(name: string): void {
    const { id, number } = parseName(name);
    this.#change(() => {
      const isDamaged = this.#tables.keys.get(id) !== undefined && this.#find(id) === undefined;
      const left = isDamaged ? undefined : removeSecretFrom(this.#require(id), number);
      if (left === undefined) this.#tables.keys.remove(id);
      else this.#put(left);
    });
  }

  #find(id: string): Key | undefined {
    return decodeKey(id, this.#tables.keys.get(id));
  }

  #require(id: string): Key {
    const key = this.#find(id);
    if (key !== undefined) return key;
    if (this.#tables.keys.get(id) === undefined) throw missingKey(id);
    throw damageError(this.folder, `the record of key ${id} is damaged`);
  }

  #put(key: Key): void {
    this.#tables.keys.put(key.id, encodeKey(key));
  }

  /**
   * Makes the change and raises the version in one durable transaction. The change must not return a
   * promise, such as a put's: LMDB would wait for it.
   */
  #change<T>(change: () => T): T {
    const { folder, keys, meta } = this.#tables;
    try {
      checkSpace(this.folder, [keys, meta], CHANGE_BYTES);
      return folder.writeAtOnce(() =>
        folder.environment.transactionSync(() => {
          const version = (this.contents()?.version ?? 0) + 1;
          const result = change();
          meta.put(CONTENTS, { version, ids: checksum(...keys.getKeys()) });
          return result;
        }),
      );
    } catch (error) {
      if (error instanceof KeyError) throw error;
      const reason = describeDiskFailure(error as Error, this.folder);
      const message = `the keys were not changed: ${reason}`;
      throw new KeyError(message, { cause: error });
    }
  }
}

/** Opens keys for changes; with `create`, creates their folder if there is none. */
export async function openKeyStore(
  dataDirectory: string,
  { create = true } = {},
): Promise<EmbeddedKeyStore> {
  const folder = keysFolder(dataDirectory);
  if (!create && readFileId(folder) === '') {
    throw new KeyError(`there are no keys in ${dataDirectory}`);
  }
  const tables = await openTables(folder, false);
  if (tables === undefined) throw new Error(`LMDB created no tables in ${folder}`);
  return new EmbeddedKeyStore(folder, tables);
}

/** The port that every store of access keys implements. */

import { findRemovableKeys, type NewSecret } from './key-changes.ts';
import type { Key, KeyTerms } from './keys.ts';

export interface ListedKey extends Key {
  /** Undefined if the key was never used. */
  readonly lastUsedMs: number | undefined;
}

/** The interface for reading keys. */
export interface KeyReader {
  /** Increases with every change that this process has seen. */
  version(): number;
  /** The readable keys that are not revoked. `faults` describes the unreadable keys. */
  all(): Key[];
  /** The damage that the last read of the keys found, in one sentence for each fault. */
  readonly faults: readonly string[];
  /** Returns the keys of `all`, and the keys that were revoked recently. */
  list(): ListedKey[] | Promise<ListedKey[]>;
  /** Saves when keys were last used; rejects if saving fails. */
  saveUse(usedMsById: ReadonlyMap<string, number>): Promise<void>;
  close(): Promise<void>;
}

/** The interface for changing keys. A change is durable when its call returns or resolves. */
export interface KeyStore extends KeyReader {
  /** Creates a key and returns its secret, which is not stored and cannot be shown again. */
  create(terms: KeyTerms): NewSecret | Promise<NewSecret>;
  /** Adds a second secret; the first secret still works. */
  addSecret(keyName: string): NewSecret | Promise<NewSecret>;
  /** Revokes a key ("ID") or one of its secrets ("ID.2"); a key without secrets is revoked. */
  revoke(name: string): void | Promise<void>;
}

/** Lists keys in order of creation, without keys that were revoked long ago. */
export function listKeys(
  keys: readonly Key[],
  usedMsById: ReadonlyMap<string, number>,
): ListedKey[] {
  const forgotten = new Set(findRemovableKeys(keys, Date.now()));
  const listed = keys
    .filter((key) => !forgotten.has(key))
    .map((key) => ({ ...key, lastUsedMs: usedMsById.get(key.id) }));
  return listed.sort((a, b) => a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1));
}

/**
 * Access keys. A secret is 256 random bits, shown once when it is made; only its SHA-256 is stored.
 * A key may have two live secrets at a time, so that it can be changed without a gap.
 *
 * Where the ledger is in a folder, the store is an LMDB environment of its own beside it: whoever
 * manages keys is not the ledger's writer. Every change raises a version, and a ring in each serving
 * process looks for it many times a second.
 */

import { createHash, randomBytes } from 'node:crypto';
import path from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { makeFolder } from '../folder.ts';
import { checkDatabaseFile } from '../ledger/lmdb-file.ts';
import type { Budget } from './limits.ts';

const SECRET_BYTES = 32;
const ID_BYTES = 5;
/** A key, or one of its secrets: "4f1d22a0c9", "4f1d22a0c9.1". */
const NAME = /^([0-9a-f]{10})(?:\.(\d+))?$/;
const SECRETS_MAX = 2;
const VERSION = 'version';

export interface StoredSecret {
  /** Counted from 1 over the key's life, so that "ID.2" stays what it was. */
  readonly number: number;
  readonly hash: string;
  readonly createdMs: number;
}

export interface Key {
  readonly id: string;
  readonly label: string;
  readonly createdMs: number;
  readonly budget: Budget | undefined;
  readonly expiresMs: number | undefined;
  /** The live ones. */
  readonly secrets: readonly StoredSecret[];
  /** How many it has had, live or not. */
  readonly secretCount: number;
}

export interface ListedKey extends Key {
  /** Undefined where it was never used. */
  readonly lastUsedMs: number | undefined;
}

export interface NewSecret {
  readonly id: string;
  readonly secret: string;
  /** What it is revoked by: "ID.2". */
  readonly name: string;
}

/** The request cannot be done: no such key, too many secrets. */
export class KeyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyError';
  }
}

/** What is stored of a secret, and what it is found by. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}

/** What is not a name is not shown: it may be a secret, given by mistake. */
export function parseName(name: string): { id: string; number: number | undefined } {
  const [, id, number] = NAME.exec(name) ?? [];
  if (id !== undefined) return { id, number: number === undefined ? undefined : Number(number) };
  throw new KeyError(
    'expected the id of a key as "keys list" shows it, such as 4f1d22a0c9 or 4f1d22a0c9.1',
  );
}

/** What a key is made with. */
export type KeyTerms = Pick<Key, 'label' | 'budget' | 'expiresMs'>;

/** Where keys are kept. What changes them is on the disk when it is done. */
export interface KeyStore {
  /** Goes up with every change that has come here. */
  version(): number;
  all(): Key[];
  list(): ListedKey[] | Promise<ListedKey[]>;
  /** Makes a key and returns its id and its secret, which nobody can ask for again. */
  create(terms: KeyTerms): NewSecret | Promise<NewSecret>;
  /** Gives a key a further secret; the one it has goes on working. */
  addSecret(keyName: string): NewSecret | Promise<NewSecret>;
  /** Revokes a key ("ID") or one of its secrets ("ID.2"); with the last secret goes the key. */
  revoke(name: string): void | Promise<void>;
  /** Notes when keys were last used; nobody needs to know of it at once. */
  noteUse(usedMsById: ReadonlyMap<string, number>): void;
  close(): Promise<void>;
}

/** A change to one key, and the secret that it makes. */
export interface KeyChange {
  readonly key: Key;
  readonly made: NewSecret;
}

export function makeKey(terms: KeyTerms): KeyChange {
  const id = randomBytes(ID_BYTES).toString('hex');
  const key = { id, ...terms, createdMs: Date.now(), secrets: [], secretCount: 0 };
  return giveSecret(key);
}

function giveSecret(key: Key): KeyChange {
  const { id } = key;
  const number = key.secretCount + 1;
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const added = { number, hash: hashSecret(secret), createdMs: Date.now() };
  return {
    key: { ...key, secrets: [...key.secrets, added], secretCount: number },
    made: { id, secret, name: `${id}.${number}` },
  };
}

/** The key with one more secret, unless it must not have one. */
export function addSecretTo(key: Key): KeyChange {
  const { id, expiresMs, secrets } = key;
  if (expiresMs !== undefined && Date.now() >= expiresMs) {
    throw new KeyError(`key ${id} has expired: make a new one`);
  }
  if (secrets.length >= SECRETS_MAX) {
    const live = secrets.map(({ number }) => `${id}.${number}`).join(' and ');
    throw new KeyError(`key ${id} has two live secrets, ${live}: revoke one first`);
  }
  return giveSecret(key);
}

/** The key without one of its secrets, or without all; undefined where none is left. */
export function takeSecretFrom(key: Key, number: number | undefined): Key | undefined {
  const left = number === undefined ? [] : key.secrets.filter((s) => s.number !== number);
  if (left.length === key.secrets.length) {
    throw new KeyError(`key ${key.id} has no secret ${number}`);
  }
  return left.length === 0 ? undefined : { ...key, secrets: left };
}

export function missingKey(id: string): KeyError {
  return new KeyError(`there is no key ${id}`);
}

/** In the order in which they were made. */
export function sortKeys(keys: ListedKey[]): ListedKey[] {
  return keys.sort((a, b) => a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1));
}

export class EmbeddedKeyStore implements KeyStore {
  readonly #environment: RootDatabase<unknown, string>;
  readonly #keys: Database<Key, string>;
  readonly #used: Database<number, string>;
  readonly #meta: Database<number, string>;

  constructor(environment: RootDatabase<unknown, string>) {
    this.#environment = environment;
    this.#keys = environment.openDB<Key, string>({ name: 'keys', encoding: 'json' });
    this.#used = environment.openDB<number, string>({ name: 'used', encoding: 'json' });
    this.#meta = environment.openDB<number, string>({ name: 'meta', encoding: 'json' });
  }

  version(): number {
    this.#environment.resetReadTxn();
    return this.#meta.get(VERSION) ?? 0;
  }

  all(): Key[] {
    return Array.from(this.#keys.getRange(), ({ value }) => value);
  }

  list(): ListedKey[] {
    this.#environment.resetReadTxn();
    return sortKeys(this.all().map((key) => ({ ...key, lastUsedMs: this.#used.get(key.id) })));
  }

  create(terms: KeyTerms): NewSecret {
    const { key, made } = makeKey(terms);
    this.#change(() => {
      this.#keys.put(key.id, key);
    });
    return made;
  }

  addSecret(keyName: string): NewSecret {
    const { id } = parseName(keyName);
    return this.#change(() => {
      const { key, made } = addSecretTo(this.#require(id));
      this.#keys.put(id, key);
      return made;
    });
  }

  revoke(name: string): void {
    const { id, number } = parseName(name);
    this.#change(() => {
      const left = takeSecretFrom(this.#require(id), number);
      if (left === undefined) this.#keys.remove(id);
      else this.#keys.put(id, left);
    });
  }

  noteUse(usedMsById: ReadonlyMap<string, number>): void {
    for (const [id, usedMs] of usedMsById) this.#used.put(id, usedMs);
  }

  async close(): Promise<void> {
    await this.#environment.close();
  }

  #require(id: string): Key {
    const key = this.#keys.get(id);
    if (key === undefined) throw missingKey(id);
    return key;
  }

  /**
   * One transaction with the version's step: on the disk when it returns. The change must not return
   * a promise, such as that of a put: LMDB would take it for one that is still under way.
   */
  #change<T>(change: () => T): T {
    return this.#environment.transactionSync(() => {
      const result = change();
      this.#meta.put(VERSION, (this.#meta.get(VERSION) ?? 0) + 1);
      return result;
    });
  }
}

export async function openKeyStore(dataDirectory: string): Promise<EmbeddedKeyStore> {
  const folder = path.join(dataDirectory, 'keys');
  makeFolder(folder);
  checkDatabaseFile(path.join(folder, 'data.mdb'));
  const { open } = await import('lmdb');
  return new EmbeddedKeyStore(open<unknown, string>({ path: folder, maxDbs: 8 }));
}

const REFRESH_MS = 20;
const NOTE_USE_MS = 5_000;

/** The keys of a serving process, by the hash of their secrets: the store's, REFRESH_MS later. */
export class KeyRing {
  readonly #store: KeyStore;
  #version = -1;
  #keyByHash = new Map<string, Key>();
  readonly #usedMsById = new Map<string, number>();
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(store: KeyStore) {
    this.#store = store;
    this.#refresh();
    this.#timers.push(setInterval(() => this.#refresh(), REFRESH_MS));
    this.#timers.push(setInterval(() => this.#noteUse(), NOTE_USE_MS));
  }

  /** The key that a secret of this hash opens; undefined where there is none, or no longer. */
  find(secretHash: string, nowMs: number): Key | undefined {
    if (!this.isLive(secretHash, nowMs)) return undefined;
    const key = this.#keyByHash.get(secretHash);
    if (key !== undefined) this.#usedMsById.set(key.id, nowMs);
    return key;
  }

  /** Whether a secret of this hash opens a key; that is no use of the key. */
  isLive(secretHash: string, nowMs: number): boolean {
    const key = this.#keyByHash.get(secretHash);
    return key !== undefined && (key.expiresMs === undefined || nowMs < key.expiresMs);
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#noteUse();
  }

  #refresh(): void {
    const version = this.#store.version();
    if (version === this.#version) return;
    this.#version = version;
    this.#keyByHash = new Map(
      this.#store.all().flatMap((key) => key.secrets.map(({ hash }) => [hash, key] as const)),
    );
  }

  #noteUse(): void {
    this.#store.noteUse(this.#usedMsById);
    this.#usedMsById.clear();
  }
}

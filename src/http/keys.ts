/**
 * Access keys. A secret is 256 random bits, shown once when it is made; only its SHA-256 is stored.
 * A key may have two live secrets at a time, so that it can be changed without a gap.
 *
 * The store is an LMDB environment of its own, beside the ledger: whoever manages keys is not the
 * ledger's writer. Every change raises a version, and a ring in each serving process looks for it
 * many times a second.
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
function parseName(name: string): { id: string; number: number | undefined } {
  const [, id, number] = NAME.exec(name) ?? [];
  if (id !== undefined) return { id, number: number === undefined ? undefined : Number(number) };
  throw new KeyError(
    'expected the id of a key as "keys list" shows it, such as 4f1d22a0c9 or 4f1d22a0c9.1',
  );
}

export class KeyStore {
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

  /** Goes up with every change. */
  version(): number {
    this.#environment.resetReadTxn();
    return this.#meta.get(VERSION) ?? 0;
  }

  all(): Key[] {
    return Array.from(this.#keys.getRange(), ({ value }) => value);
  }

  list(): ListedKey[] {
    this.#environment.resetReadTxn();
    return this.all()
      .map((key) => ({ ...key, lastUsedMs: this.#used.get(key.id) }))
      .sort((a, b) => a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1));
  }

  /** Makes a key and returns its id and its secret, which nobody can ask for again. */
  create(terms: Pick<Key, 'label' | 'budget' | 'expiresMs'>): NewSecret {
    const id = randomBytes(ID_BYTES).toString('hex');
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    const createdMs = Date.now();
    const secrets = [{ number: 1, hash: hashSecret(secret), createdMs }];
    this.#change(() => {
      this.#keys.put(id, { id, ...terms, createdMs, secrets, secretCount: 1 });
    });
    return { id, secret, name: `${id}.1` };
  }

  /** Gives a key a further secret; the one it has goes on working. */
  addSecret(keyName: string): NewSecret {
    const { id } = parseName(keyName);
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    const name = this.#change(() => {
      const key = this.#require(id);
      if (key.expiresMs !== undefined && Date.now() >= key.expiresMs) {
        throw new KeyError(`key ${id} has expired: make a new one`);
      }
      if (key.secrets.length >= SECRETS_MAX) {
        const live = key.secrets.map(({ number }) => `${id}.${number}`).join(' and ');
        throw new KeyError(`key ${id} has two live secrets, ${live}: revoke one first`);
      }
      const number = key.secretCount + 1;
      const added = { number, hash: hashSecret(secret), createdMs: Date.now() };
      this.#keys.put(id, { ...key, secrets: [...key.secrets, added], secretCount: number });
      return `${id}.${number}`;
    });
    return { id, secret, name };
  }

  /** Revokes a key ("ID") or one of its secrets ("ID.2"); with the last secret goes the key. */
  revoke(name: string): void {
    const { id, number } = parseName(name);
    this.#change(() => {
      const key = this.#require(id);
      const left = number === undefined ? [] : key.secrets.filter((s) => s.number !== number);
      if (left.length === key.secrets.length) {
        throw new KeyError(`key ${id} has no secret ${number}`);
      }
      if (left.length > 0) this.#keys.put(id, { ...key, secrets: left });
      else this.#keys.remove(id);
    });
  }

  /** Notes when keys were last used; nobody needs to know of it at once. */
  noteUse(usedMsById: ReadonlyMap<string, number>): void {
    for (const [id, usedMs] of usedMsById) this.#used.put(id, usedMs);
  }

  async close(): Promise<void> {
    await this.#environment.close();
  }

  #require(id: string): Key {
    const key = this.#keys.get(id);
    if (key === undefined) throw new KeyError(`there is no key ${id}`);
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

export async function openKeyStore(dataDirectory: string): Promise<KeyStore> {
  const folder = path.join(dataDirectory, 'keys');
  makeFolder(folder);
  checkDatabaseFile(path.join(folder, 'data.mdb'));
  const { open } = await import('lmdb');
  return new KeyStore(open<unknown, string>({ path: folder, maxDbs: 8 }));
}

const REFRESH_MS = 20;
const NOTE_USE_MS = 5_000;

/** The keys of a serving process, by the hash of their secrets, never older than REFRESH_MS. */
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

/**
 * Access keys. A secret is 256 random bits, shown once when it is made; only its SHA-256 is stored.
 * A key may have two live secrets at a time, so that it can be changed without a gap.
 */

import { createHash, randomBytes } from 'node:crypto';
import type { Budget } from '../config/budget.ts';

const SECRET_BYTES = 32;
const ID_BYTES = 5;
/** A key, or one of its secrets: "4f1d22a0c9", "4f1d22a0c9.1". */
const NAME = /^([0-9a-f]{10})(?:\.(\d+))?$/;
const SECRETS_MAX = 2;

interface StoredSecret {
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

/** The request cannot be done: no such key, too many secrets, or keys that cannot be read. */
export class KeyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
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

/** Where keys are read from. */
export interface KeyReader {
  /** Goes up with every change that has come here. */
  version(): number;
  /** Those that can be read; what is wrong with others is told by `faults`. */
  all(): Key[];
  /** What was found damaged when keys were last read, in sentences. */
  readonly faults: readonly string[];
  list(): ListedKey[] | Promise<ListedKey[]>;
  /** Notes when keys were last used; nobody needs to know of it at once. Rejects where it cannot. */
  noteUse(usedMsById: ReadonlyMap<string, number>): Promise<void>;
  close(): Promise<void>;
}

/** Where keys are kept. What changes them is on the disk when it is done. */
export interface KeyStore extends KeyReader {
  /** Makes a key and returns its id and its secret, which nobody can ask for again. */
  create(terms: KeyTerms): NewSecret | Promise<NewSecret>;
  /** Gives a key a further secret; the one it has goes on working. */
  addSecret(keyName: string): NewSecret | Promise<NewSecret>;
  /** Revokes a key ("ID") or one of its secrets ("ID.2"); with the last secret goes the key. */
  revoke(name: string): void | Promise<void>;
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

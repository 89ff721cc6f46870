/** How keys change: each function returns the new key, which a store then saves. */

import { randomBytes } from 'node:crypto';
import { hashSecret, type Key, KeyError, type KeyTerms } from './keys.ts';

const SECRET_BYTES = 32;
const ID_BYTES = 5;
const SECRETS_MAX = 2;

export interface NewSecret {
  readonly id: string;
  readonly secret: string;
  /** The name to revoke it by: "ID.2". */
  readonly name: string;
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

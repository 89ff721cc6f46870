/** Changes keys. Each function returns the changed key, which a store then saves. */

import { randomBytes } from 'node:crypto';
import { hashSecret, isRevoked, type Key, KeyError, type KeyTerms } from './keys.ts';

const SECRET_BYTES = 32;
const ID_BYTES = 5;
const SECRETS_MAX = 2;
/** The list shows a revoked key for this long, and at most this number of revoked keys. */
const REVOKED_MS_MAX = 90 * 86_400_000;
const REVOKED_COUNT_MAX = 1_000;

export interface NewSecret {
  readonly id: string;
  readonly secret: string;
  /** The name by which the secret is revoked, such as "ID.2". */
  readonly name: string;
}

/** A changed key, and its new secret. */
export interface KeyChange {
  readonly key: Key;
  readonly newSecret: NewSecret;
}

export function makeKey(terms: KeyTerms): KeyChange {
  const id = randomBytes(ID_BYTES).toString('hex');
  const key = { id, ...terms, createdMs: Date.now(), secrets: [], secretCount: 0 };
  return addNewSecret(key);
}

/**
 * Returns a secret that begins with a letter or a digit, because commands would read a leading "-"
 * as a flag.
 */
function makeSecret(): string {
  for (;;) {
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    if (/^[a-z0-9]/i.test(secret)) return secret;
  }
}

function addNewSecret(key: Key): KeyChange {
  const { id } = key;
  const number = key.secretCount + 1;
  const secret = makeSecret();
  const added = { number, hash: hashSecret(secret), createdMs: Date.now() };
  return {
    key: { ...key, secrets: [...key.secrets, added], secretCount: number },
    newSecret: { id, secret, name: `${id}.${number}` },
  };
}

/** Adds a secret; throws if the key is revoked, has expired or already has two secrets. */
export function addSecretTo(key: Key): KeyChange {
  refuseRevoked(key);
  const { id, expiresMs, secrets } = key;
  if (expiresMs !== undefined && Date.now() >= expiresMs) {
    throw new KeyError(`key ${id} has expired: create a new one`);
  }
  if (secrets.length >= SECRETS_MAX) {
    const live = secrets.map(({ number }) => `${id}.${number}`).join(' and ');
    throw new KeyError(`key ${id} has two live secrets, ${live}: revoke one first`);
  }
  return addNewSecret(key);
}

function refuseRevoked({ id, revokedMs }: Key): void {
  if (revokedMs === undefined) return;
  throw new KeyError(`key ${id} was revoked at ${new Date(revokedMs).toISOString()}`);
}

/**
 * Removes one secret, or all secrets if `number` is undefined. A key without secrets is revoked.
 */
export function removeSecretFrom(key: Key, number: number | undefined): Key {
  refuseRevoked(key);
  const left = number === undefined ? [] : key.secrets.filter((s) => s.number !== number);
  if (left.length === key.secrets.length) {
    throw new KeyError(`key ${key.id} has no secret ${number}`);
  }
  const revocation = left.length === 0 ? { revokedMs: Date.now() } : {};
  return { ...key, secrets: left, ...revocation };
}

/** Returns the revoked keys that the list no longer shows, and that a later revocation removes. */
export function findRemovableKeys(keys: readonly Key[], nowMs: number): Key[] {
  const revoked = keys.filter(isRevoked).sort((a, b) => revokedAt(b) - revokedAt(a));
  return revoked.filter(
    (key, index) => index >= REVOKED_COUNT_MAX || nowMs - revokedAt(key) > REVOKED_MS_MAX,
  );
}

function revokedAt({ revokedMs = 0 }: Key): number {
  return revokedMs;
}

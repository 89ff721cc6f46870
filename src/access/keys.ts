/**
 * Access keys. A secret is 256 random bits, shown once at creation; only its SHA-256 is stored. A key
 * may have two live secrets, so that they can be rotated without downtime.
 */

import { createHash } from 'node:crypto';
import type { Budget } from '../config/budget.ts';

/** A key, or one of its secrets: "4f1d22a0c9", "4f1d22a0c9.1". */
const NAME = /^([0-9a-f]{10})(?:\.(\d+))?$/;

interface StoredSecret {
  /** Counted from 1 and never reused, so that "ID.2" always names the same secret. */
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
  /** The live secrets. */
  readonly secrets: readonly StoredSecret[];
  /** Number of secrets ever created, live or revoked. */
  readonly secretCount: number;
  /**
   * The time of the revocation; absent while the key is live. A revoked key has no secrets, and
   * stays in the list for some time.
   */
  readonly revokedMs?: number;
}

/** True if the key was revoked. Stores of earlier versions removed a key when it was revoked. */
export function isRevoked({ revokedMs }: Key): boolean {
  return revokedMs !== undefined;
}

/**
 * The error about a key that does not exist, about too many secrets, or about keys that cannot be
 * read.
 */
export class KeyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KeyError';
  }
}

/** Returns the hash by which a secret is stored and looked up. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}

export const NAME_EXPECTED =
  'the id of a key as "keys list" shows it, such as 4f1d22a0c9 or 4f1d22a0c9.1';

export function isName(name: string): boolean {
  return NAME.test(name);
}

/**
 * Parses the name of a key or a secret. The error does not contain the given text, because the text
 * may be a secret that was given by mistake.
 */
export function parseName(name: string): { id: string; number: number | undefined } {
  const [, id, number] = NAME.exec(name) ?? [];
  if (id !== undefined) return { id, number: number === undefined ? undefined : Number(number) };
  throw new KeyError(`expected ${NAME_EXPECTED}`);
}

/** The terms of a new key. */
export type KeyTerms = Pick<Key, 'label' | 'budget' | 'expiresMs'>;

export function missingKey(id: string): KeyError {
  return new KeyError(`there is no key ${id}`);
}

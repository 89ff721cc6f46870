/**
 * Access keys. A secret is 256 random bits, shown once when it is made; only its SHA-256 is stored.
 * A key may have two live secrets at a time, so that it can be changed without a gap.
 */

import { createHash } from 'node:crypto';
import type { Budget } from '../config/budget.ts';

/** A key, or one of its secrets: "4f1d22a0c9", "4f1d22a0c9.1". */
const NAME = /^([0-9a-f]{10})(?:\.(\d+))?$/;

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
  /** How many it has had, live or revoked. */
  readonly secretCount: number;
}

/** No such key, too many secrets, or keys that cannot be read. */
export class KeyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KeyError';
  }
}

/** Only this is stored of a secret; it is also what a secret is looked up by. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}

/** The error does not show the given text: it may be a secret, given by mistake. */
export function parseName(name: string): { id: string; number: number | undefined } {
  const [, id, number] = NAME.exec(name) ?? [];
  if (id !== undefined) return { id, number: number === undefined ? undefined : Number(number) };
  throw new KeyError(
    'expected the id of a key as "keys list" shows it, such as 4f1d22a0c9 or 4f1d22a0c9.1',
  );
}

/** What a key is made with. */
export type KeyTerms = Pick<Key, 'label' | 'budget' | 'expiresMs'>;

export function missingKey(id: string): KeyError {
  return new KeyError(`there is no key ${id}`);
}

/** Who may ask what: a live key opens the service, and its budget pays for the questions. */

import { RequestError } from '../info/request-error.ts';
import type { Allowance, Budgets } from './budgets.ts';
import type { KeyRing } from './key-ring.ts';
import type { Key } from './keys.ts';

const KEY_EXPECTED = 'expected a live key in the path, /{key}/info or /{key}/ws';

/** A key that opens nothing; the secret itself is never told. */
export const UNKNOWN_KEY = new RequestError(
  'unknown_key',
  `key: got one that is not known, or no longer, ${KEY_EXPECTED}`,
  'key',
);

/** No key at all: mostly a client that resolved "info" against an address without a slash at its end. */
export const NO_KEY = new RequestError(
  'unknown_key',
  `key: got none, ${KEY_EXPECTED}; a client that drops the key of its base address keeps it where ` +
    'the address ends with a slash: http://host:port/{key}/',
  'key',
);

export class Admission {
  readonly #keys: KeyRing;
  readonly #budgets: Budgets;

  constructor(keys: KeyRing, budgets: Budgets) {
    this.#keys = keys;
    this.#budgets = budgets;
  }

  /** The key that a secret of this hash opens; undefined where there is none, or no longer. */
  findKey(secretHash: string): Key | undefined {
    return this.#keys.find(secretHash, Date.now());
  }

  /** Whether a secret of this hash still opens a key, without counting as a use of it. */
  isLive(secretHash: string): boolean {
    return this.#keys.isLive(secretHash, Date.now());
  }

  /** Why the key cannot pay for a question now, or not at all; undefined where it can. */
  findShortage({ id, budget }: Key, weight: number): RequestError | undefined {
    if (budget === undefined) return undefined;
    if (weight > budget.weight) {
      const message = `users: the question weighs ${weight}, the key's whole budget is ${budget.weight}; expected fewer users`;
      return new RequestError('invalid_field', message, 'users');
    }
    const allowance = this.#budgets.check(id, budget, weight, performance.now());
    if (allowance.isAllowed) return undefined;
    const { limit, remaining, retryAfterSeconds } = allowance;
    const message =
      `budget: this question weighs ${weight}, ${remaining} of ${limit} are left; ` +
      `try again in ${retryAfterSeconds} s`;
    return new RequestError('rate_limited', message, undefined, retryAfterSeconds);
  }

  /** Takes the weight from the key's budget and says what is left; undefined where it has none. */
  charge({ id, budget }: Key, weight: number): Allowance | undefined {
    if (budget === undefined) return undefined;
    return this.#budgets.charge(id, budget, weight, performance.now());
  }
}

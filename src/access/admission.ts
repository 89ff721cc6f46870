/**
 * Admission: finds the key of a request, and charges questions to its budget. The limits on a key's push
 * connections and subscriptions are in http/push/push.ts.
 */

import { RequestError } from '../info/request-error.ts';
import type { Allowance, Budgets } from './budgets.ts';
import type { KeyRing } from './key-ring.ts';
import type { Key } from './keys.ts';
import { Prepayment } from './prepayment.ts';

const KEY_EXPECTED = 'expected a live key in the path, /{key}/info or /{key}/ws';

/** The message never contains the secret. */
export const UNKNOWN_KEY = new RequestError(
  'unknown_key',
  `key: got an unknown, revoked or expired one, ${KEY_EXPECTED}`,
  'key',
);

/**
 * The usual reason for a missing key: the client resolved "info" against a base address without a
 * trailing slash.
 */
export const NO_KEY = new RequestError(
  'unknown_key',
  `key: got none, ${KEY_EXPECTED}; if the client drops the key from its base address, end the address ` +
    'with a slash: http://host:port/{key}/',
  'key',
);

/** What else is known of a weight that a key has to afford. */
interface WeightTerms {
  /** What the question was charged before. */
  readonly paid?: number;
  /** True if that is refunded where the key cannot afford the weight. */
  readonly isPaidBack?: boolean;
  /** True if the question may weigh more. */
  readonly isLeast?: boolean;
  readonly debtMax?: number | undefined;
}

export class Admission {
  readonly #keys: KeyRing;
  readonly #budgets: Budgets;

  constructor(keys: KeyRing, budgets: Budgets) {
    this.#keys = keys;
    this.#budgets = budgets;
  }

  /** This number is different after every change of keys. */
  get keysVersion(): number {
    return this.#keys.version;
  }

  /**
   * Returns the live key that has a secret with this hash; returns undefined if the secret is
   * unknown, or its key is revoked or expired.
   */
  findKey(secretHash: string): Key | undefined {
    return this.#keys.find(secretHash, Date.now());
  }

  /**
   * True if a secret with this hash belongs to a live key. The call does not count as a use of the
   * key.
   */
  isLive(secretHash: string): boolean {
    return this.#keys.isLive(secretHash, Date.now());
  }

  /**
   * The error if the key cannot afford the weight, now or ever; undefined if it can. `field` is the one
   * that the weight comes from.
   */
  findShortage(
    { id, budget }: Key,
    weight: number,
    field: 'users' | 'type' = 'users',
    { paid = 0, isLeast = paid > 0, debtMax = 0, isPaidBack = false }: WeightTerms = {},
  ): RequestError | undefined {
    if (budget === undefined) return undefined;
    const total = paid + weight;
    const weighs = isLeast ? `${Math.ceil(total)} or more` : `${weight}`;
    if (total > budget.weight) {
      const expected = field === 'users' ? 'fewer users' : 'a question that weighs less';
      const message = `${field}: the question weighs ${weighs}, the key's whole budget is ${budget.weight}; expected ${expected}`;
      return new RequestError('invalid_field', message, field);
    }
    const nowMs = performance.now();
    if (this.#budgets.canAfford(id, budget, weight - debtMax, nowMs)) return undefined;
    // If the question is asked again, it is charged from the start.
    const refund = isPaidBack ? paid : 0;
    const { limit, remaining, retryAfterSeconds } = this.#budgets.check(
      id,
      budget,
      total - refund,
      nowMs,
    );
    const message =
      `budget: this question weighs ${weighs}, ${remaining + refund} of ${limit} are left; ` +
      `try again in ${retryAfterSeconds} s`;
    return new RequestError('rate_limited', message, undefined, retryAfterSeconds);
  }

  /**
   * Returns an error if the key cannot afford the smallest weight of a question. At this time, the
   * question itself has not been read.
   */
  findSpentBudget({ id, budget }: Key, least: number): RequestError | undefined {
    if (budget === undefined) return undefined;
    const weight = Math.min(least, budget.weight);
    const nowMs = performance.now();
    if (this.#budgets.canAfford(id, budget, weight, nowMs)) return undefined;
    const { limit, remaining, retryAfterSeconds } = this.#budgets.check(id, budget, weight, nowMs);
    const message =
      `budget: a question weighs ${weight} or more, ${remaining} of ${limit} are left; ` +
      `try again in ${retryAfterSeconds} s`;
    return new RequestError('rate_limited', message, undefined, retryAfterSeconds);
  }

  /**
   * Charges the weight and returns the rest of the budget; returns undefined if the key has no
   * budget.
   */
  charge({ id, budget }: Key, weight: number): Allowance | undefined {
    if (budget === undefined) return undefined;
    return this.#budgets.charge(id, budget, weight, performance.now());
  }

  /**
   * Does the same as `charge` for work that is done even if the budget is spent: charges at most
   * the rest of the budget.
   */
  chargeWhatIsLeft({ id, budget }: Key, weight: number): Allowance | undefined {
    if (budget === undefined) return undefined;
    return this.#budgets.chargeWhatIsLeft(id, budget, weight, performance.now());
  }

  /** Charges work before it starts. The caller has checked that the key can afford it. */
  payFirst(key: Key, weight: number): Prepayment {
    return new Prepayment(this.#budgets, key, weight);
  }

  /**
   * Charges what is known of the weight before the work starts, on top of what was charged. If the key cannot
   * afford it, returns the error; the caller then refunds the payment.
   */
  payStart(key: Key, payment: Prepayment, weight: number): RequestError | undefined {
    return this.#payRest(key, payment, weight, { isPaidBack: true });
  }

  /**
   * Charges what work that is under way costs on top, or returns the error if the key cannot afford it. A debt may
   * be as much as the whole budget: an answer that has started is completed, so that nobody pays for half of it.
   */
  payMore(key: Key, payment: Prepayment, weight: number): RequestError | undefined {
    return this.#payRest(key, payment, weight, { debtMax: key.budget?.weight });
  }

  #payRest(
    key: Key,
    payment: Prepayment,
    weight: number,
    terms: WeightTerms,
  ): RequestError | undefined {
    const { weight: paid } = payment;
    const shortage = this.findShortage(key, weight, 'type', { paid, ...terms });
    if (shortage === undefined) payment.add(weight);
    return shortage;
  }

  /** Returns the rest of the budget; returns undefined if the key has no budget. */
  findAllowance(key: Key): Allowance | undefined {
    return this.charge(key, 0);
  }
}

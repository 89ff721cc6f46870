/**
 * What stands between a question and its answer, however it came: a live key, the key's budget, a
 * state to answer from, and time to do so.
 */

import type { Allowance, Budgets } from '../access/budgets.ts';
import type { KeyRing } from '../access/key-ring.ts';
import type { Key } from '../access/keys.ts';
import type { Settings } from '../config/settings.ts';
import { RequestError } from '../info/request-error.ts';
import type { LiveState } from '../replica/live-state.ts';
import type { LoadGauge } from '../service/load.ts';
import type { StateView } from '../state/state.ts';

export interface AdmissionParts {
  readonly live: LiveState;
  readonly keys: KeyRing;
  readonly budgets: Budgets;
  readonly load: LoadGauge;
  readonly settings: Settings<'maxAge' | 'refuseStale' | 'overloadDelay'>;
}

/** What a question that was refused takes from its key's budget. */
const REFUSED_WEIGHT = 1;

/** The header that asks for an answer from a height or later. */
const MIN_HEIGHT_HEADER = 'Ledger-Min-Height';

export class Admission {
  readonly #parts: AdmissionParts;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** The key that a secret of this hash opens. */
  requireKey(secretHash: string): Key {
    const key = this.#parts.keys.find(secretHash, Date.now());
    if (key === undefined) throw unknownKey();
    return key;
  }

  /** Refuses a question that the key cannot pay for now, or not at all. */
  checkBudget({ id, budget }: Key, weight: number): void {
    if (budget === undefined) return;
    if (weight > budget.weight) {
      const message = `users: the question weighs ${weight}, the key's whole budget is ${budget.weight}; expected fewer users`;
      throw new RequestError('invalid_field', message, 'users');
    }
    const allowance = this.#parts.budgets.check(id, budget, weight, performance.now());
    if (allowance.isAllowed) return;
    const { limit, remaining, retryAfterSeconds } = allowance;
    const message =
      `budget: this question weighs ${weight}, ${remaining} of ${limit} are left; ` +
      `try again in ${retryAfterSeconds} s`;
    throw new RequestError('rate_limited', message, undefined, retryAfterSeconds);
  }

  /** Takes the weight from the key's budget and says what is left; undefined where it has none. */
  charge({ id, budget }: Key, weight: number): Allowance | undefined {
    if (budget === undefined) return undefined;
    return this.#parts.budgets.charge(id, budget, weight, performance.now());
  }

  /**
   * As `charge`, for a question that was refused. What is our own limit or failure costs nothing; to
   * wait for a height that does not come is the client's choice, and takes up a place meanwhile.
   */
  chargeRefusal(key: Key, { status, field }: RequestError): Allowance | undefined {
    const isOurs = (status === 429 || status >= 500) && field !== MIN_HEIGHT_HEADER;
    return this.charge(key, isOurs ? 0 : REFUSED_WEIGHT);
  }

  /** The state to answer from, if it is there, as far as asked and fresh enough. */
  requireState(minHeight = 0): StateView {
    const { live, settings } = this.#parts;
    const { state } = live;
    if (state === undefined) throw new RequestError('not_ready', live.unavailableReason);
    if (state.height < minHeight) {
      const message = `Ledger-Min-Height: got ${minHeight}, the ledger is at height ${state.height}`;
      throw new RequestError('behind', message, MIN_HEIGHT_HEADER);
    }
    const stale = settings.refuseStale ? live.findStaleness(Date.now()) : undefined;
    if (stale !== undefined) throw new RequestError('behind', stale.message);
    return state;
  }

  /** Refuses what comes while requests wait too long already. */
  checkLoad(): void {
    const { settings, load } = this.#parts;
    if (!load.isOverloaded) return;
    const delay = Math.round(load.delayMs);
    const message = `requests wait ${delay} ms here, more than ${settings.overloadDelay} ms`;
    throw new RequestError('overloaded', message);
  }
}

const KEY_EXPECTED = 'expected a live key in the path, /{key}/info or /{key}/ws';

/** A key that opens nothing; the secret itself is never told. */
function unknownKey(): RequestError {
  const message = `key: got one that is not known, or no longer, ${KEY_EXPECTED}`;
  return new RequestError('unknown_key', message, 'key');
}

/** No key at all: mostly a client that resolved "info" against an address without a slash at its end. */
export function noKeyGiven(): RequestError {
  const message =
    `key: got none, ${KEY_EXPECTED}; a client that drops the key of its base address keeps it where ` +
    'the address ends with a slash: http://host:port/{key}/';
  return new RequestError('unknown_key', message, 'key');
}

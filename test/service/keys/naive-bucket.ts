/** A budget's bucket in exact fractions, kept as one number: what was spent and not regained. */

import type { Allowance } from '../../../src/access/budgets.ts';
import type { Budget } from '../../../src/config/budget.ts';
import {
  dividedBy,
  floor,
  isLess,
  larger,
  minus,
  negated,
  plus,
  type Rational,
  rational,
  times,
  ZERO,
} from '../../../tools/naive-twin/rational.ts';

/** What is never held against a key. */
const TOLERANCE = rational(1, 1_000_000);

export class NaiveBucket {
  readonly #limit: Rational;
  readonly #perMs: Rational;
  #spent = ZERO;
  #atMs = 0;

  constructor({ weight, periodMs }: Budget) {
    this.#limit = rational(weight);
    this.#perMs = rational(weight, periodMs);
  }

  check(weight: number, nowMs: number): Allowance {
    this.#advance(nowMs);
    const missing = minus(plus(this.#spent, rational(weight)), this.#limit);
    const left = larger(ZERO, plus(minus(this.#limit, this.#spent), TOLERANCE));
    return {
      isAllowed: !isLess(TOLERANCE, missing),
      limit: Number(this.#limit.numerator),
      remaining: Number(floor(left)),
      resetSeconds: this.#secondsFor(this.#spent),
      retryAfterSeconds: this.#secondsFor(missing),
    };
  }

  charge(weight: number, nowMs: number): Allowance {
    this.#advance(nowMs);
    this.#spent = plus(this.#spent, rational(weight));
    return this.check(0, nowMs);
  }

  chargeWhatIsLeft(weight: number, nowMs: number): Allowance {
    this.#advance(nowMs);
    const left = larger(ZERO, minus(this.#limit, this.#spent));
    const asked = rational(weight);
    this.#spent = plus(this.#spent, isLess(asked, left) ? asked : left);
    return this.check(0, nowMs);
  }

  absorb(weight: number, nowMs: number): void {
    this.#advance(nowMs);
    this.#spent = plus(this.#spent, rational(weight));
  }

  #advance(nowMs: number): void {
    const regained = times(this.#perMs, rational(nowMs - this.#atMs));
    this.#spent = larger(ZERO, minus(this.#spent, regained));
    this.#atMs = nowMs;
  }

  /** Whole seconds, rounded up, until the amount is regained. */
  #secondsFor(amount: Rational): number {
    const perSecond = times(this.#perMs, rational(1000));
    const seconds = dividedBy(minus(amount, TOLERANCE), perSecond);
    return Math.max(0, -Number(floor(negated(seconds))));
  }
}

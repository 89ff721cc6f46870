/**
 * The payment of a key for work that has not started yet. Without it, any number of concurrent
 * questions would fit into the rest of the key's budget. The payment is settled once, when it is
 * known which work was done. If the key is revoked before that, the payment is never settled, and
 * stays charged.
 */

import type { Allowance, Budgets } from './budgets.ts';
import type { Key } from './keys.ts';

/** True if work was done that cannot be undone; a promise if this will only be known later. */
export type WorkDone = boolean | Promise<boolean>;

export class Prepayment {
  readonly #budgets: Budgets;
  readonly #key: Key;
  #weight = 0;
  #isSettled = false;
  isDone: WorkDone = false;
  /** The weight of the work that was done on an abandoned answer. */
  workedOff = 0;

  constructor(budgets: Budgets, key: Key, weight: number) {
    this.#budgets = budgets;
    this.#key = key;
    this.add(weight);
  }

  /** The weight that has been charged. */
  get weight(): number {
    return this.#weight;
  }

  /** Charges what the work costs in addition. What exceeds the rest of the budget is a debt. */
  add(weight: number): void {
    if (this.#isSettled) return;
    this.#weight += weight;
    this.#charge(weight);
  }

  /**
   * Settles the payment when the work cost exactly what was charged. Returns the rest of the
   * budget; returns undefined if the key has no budget.
   */
  keep(): Allowance | undefined {
    return this.settle(this.#weight);
  }

  /**
   * Call this if there is no answer. It refunds the charge, unless the work was done. Until it is
   * known whether the work was done, the charge stays.
   */
  giveBack(): void {
    if (this.isDone instanceof Promise) void this.isDone.then((isDone) => this.#end(isDone));
    else this.#end(this.isDone);
  }

  #end(isDone: boolean): void {
    this.settle(isDone ? this.#weight : this.workedOff);
  }

  /**
   * Settles the payment when the work cost this weight. Only the first call counts; every call
   * returns the rest of the budget.
   */
  settle(weight: number): Allowance | undefined {
    const owed = this.#isSettled ? 0 : weight - this.#weight;
    this.#isSettled = true;
    return this.#charge(owed);
  }

  #charge(weight: number): Allowance | undefined {
    const { id, budget } = this.#key;
    if (budget === undefined) return undefined;
    const nowMs = performance.now();
    if (weight < 0) this.#budgets.refund(id, budget, -weight, nowMs);
    return this.#budgets.charge(id, budget, Math.max(0, weight), nowMs);
  }
}

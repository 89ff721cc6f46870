/**
 * Budgets: a token bucket per key. A full bucket has the whole budget, and a bucket refills evenly
 * over the budget's period.
 *
 * Each worker has its own buckets, and sends its charges to the other workers many times a second
 * (budget-sharing.ts). A key may exceed its budget by the charges of other workers that have not
 * arrived yet, and by work whose cost is known only during the work. The excess is a debt, which is
 * paid back before the next question is allowed.
 */

import type { Budget } from '../config/budget.ts';

/** The rest of a key's budget after a question, as the response reports it. */
export interface Allowance {
  readonly isAllowed: boolean;
  readonly limit: number;
  /** The remaining weight, rounded down. */
  readonly remaining: number;
  /** Whole seconds until the bucket is full again. */
  readonly resetSeconds: number;
  /** Whole seconds after which the same question is allowed; 0 if it is allowed now. */
  readonly retryAfterSeconds: number;
}

/** The weight that a worker has charged to a key; negative if the worker has given back more. */
export interface Charge {
  readonly id: string;
  readonly budget: Budget;
  weight: number;
}

/** The weight that a key has spent and the refill has not yet restored. */
interface Bucket {
  /** May exceed the budget. The excess is a debt. */
  spent: number;
  atMs: number;
  budget: Budget;
}

/** Floating-point sums are not exact, so a shortfall up to this weight is ignored. */
const TOLERANCE = 1e-6;

export class Budgets {
  readonly #buckets = new Map<string, Bucket>();
  /** The charges of this worker since the last `takeCharges`, by key. */
  readonly #charges = new Map<string, Charge>();

  /** True if the key can afford the weight; charges nothing. */
  canAfford(id: string, budget: Budget, weight: number, nowMs: number): boolean {
    return isEnough(this.#refill(id, budget, nowMs).spent, budget, weight);
  }

  /** Does the same as `canAfford`, and returns all figures for an error message. */
  check(id: string, budget: Budget, weight: number, nowMs: number): Allowance {
    return describeAllowance(this.#refill(id, budget, nowMs).spent, budget, weight);
  }

  /**
   * Charges the weight and returns the rest of the budget. Weight in excess of the budget is a
   * debt.
   */
  charge(id: string, budget: Budget, weight: number, nowMs: number): Allowance {
    const bucket = this.#refill(id, budget, nowMs);
    if (weight > 0) {
      bucket.spent += weight;
      this.#noteCharge(id, budget, weight);
    }
    return describeAllowance(bucket.spent, budget, 0);
  }

  /**
   * Does the same as `charge`, but charges at most the rest of the budget: work that is done even
   * if the budget is spent creates no debt.
   */
  chargeWhatIsLeft(id: string, budget: Budget, weight: number, nowMs: number): Allowance {
    const { spent } = this.#refill(id, budget, nowMs);
    return this.charge(id, budget, Math.min(weight, Math.max(0, budget.weight - spent)), nowMs);
  }

  /** Gives back what was charged for work that was not done. */
  refund(id: string, budget: Budget, weight: number, nowMs: number): void {
    const bucket = this.#refill(id, budget, nowMs);
    bucket.spent = Math.max(0, bucket.spent - weight);
    this.#noteCharge(id, budget, -weight);
  }

  #noteCharge(id: string, budget: Budget, weight: number): void {
    const charge = this.#charges.get(id);
    if (charge?.budget === budget) charge.weight += weight;
    else this.#charges.set(id, { id, budget, weight: (charge?.weight ?? 0) + weight });
  }

  /** Returns what this worker has charged since the last call, for the other workers. */
  takeCharges(): Charge[] {
    const charges = [...this.#charges.values()];
    this.#charges.clear();
    return charges;
  }

  /** Returns what each key has spent and the refill has not yet restored, for a worker that starts. */
  spent(nowMs: number): Charge[] {
    return [...this.#buckets]
      .map(([id, { budget }]) => ({ id, budget, weight: this.#refill(id, budget, nowMs).spent }))
      .filter(({ weight }) => weight > 0);
  }

  /** Applies the charges of another worker. */
  absorb(charges: readonly Charge[], nowMs: number): void {
    for (const { id, budget, weight } of charges) {
      const bucket = this.#refill(id, budget, nowMs);
      bucket.spent = Math.max(0, bucket.spent + weight);
    }
  }

  #refill(id: string, budget: Budget, nowMs: number): Bucket {
    const bucket = this.#buckets.get(id) ?? this.#addBucket(id, budget, nowMs);
    const regained = ((nowMs - bucket.atMs) * budget.weight) / budget.periodMs;
    bucket.spent = Math.max(0, bucket.spent - regained);
    bucket.atMs = nowMs;
    bucket.budget = budget;
    return bucket;
  }

  #addBucket(id: string, budget: Budget, nowMs: number): Bucket {
    const bucket = { spent: 0, atMs: nowMs, budget };
    this.#buckets.set(id, bucket);
    return bucket;
  }
}

/** Returns the whole seconds until the refill has restored an amount. */
function secondsFor(amount: number, { weight, periodMs }: Budget): number {
  return Math.max(0, Math.ceil(((amount - TOLERANCE) * periodMs) / weight / 1000));
}

function isEnough(spent: number, budget: Budget, weight: number): boolean {
  return spent + weight - budget.weight <= TOLERANCE;
}

function describeAllowance(spent: number, budget: Budget, weight: number): Allowance {
  const missing = spent + weight - budget.weight;
  const isAllowed = isEnough(spent, budget, weight);
  return {
    isAllowed,
    limit: budget.weight,
    remaining: Math.max(0, Math.floor(budget.weight - spent + TOLERANCE)),
    resetSeconds: secondsFor(spent, budget),
    retryAfterSeconds: isAllowed ? 0 : secondsFor(missing, budget),
  };
}

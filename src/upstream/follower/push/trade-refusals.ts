/**
 * Subscriptions to trades that the upstream has refused. Each subscription is tried again after a
 * delay that grows with each refusal.
 */

import { backoffMs } from '../../../timing/backoff.ts';
import type { Clock } from '../../client/limits/clock.ts';

const RETRY = { firstMs: 500, maxMs: 600_000 };
/** After this number of refusals in a row, we assume that the market has no trades. */
const REFUSALS_MAX = 5;

interface RefusedCoin {
  readonly count: number;
  readonly retryMs: number;
  isTaken: boolean;
}

export class TradeRefusals {
  readonly #clock: Clock;
  /** The refusals by coin. */
  readonly #refusals = new Map<string, RefusedCoin>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  noteRefused(coin: string): void {
    const count = (this.#refusals.get(coin)?.count ?? 0) + 1;
    const retryMs = this.#clock.nowMs() + backoffMs(count, RETRY);
    this.#refusals.set(coin, { count, retryMs, isTaken: false });
  }

  noteTaken(coin: string): void {
    this.#refusals.delete(coin);
  }

  /** Returns true if the coin was refused, and is not due to be tried again. */
  isWaiting(coin: string): boolean {
    const refusal = this.#refusals.get(coin);
    return refusal !== undefined && this.#clock.nowMs() < refusal.retryMs;
  }

  isGivenUp(coin: string): boolean {
    return (this.#refusals.get(coin)?.count ?? 0) >= REFUSALS_MAX;
  }

  /** Returns true if a refused coin is due to be tried again. Each retry is reported once. */
  takeDue(): boolean {
    const nowMs = this.#clock.nowMs();
    let isDue = false;
    for (const refusal of this.#refusals.values()) {
      if (nowMs < refusal.retryMs || refusal.isTaken) continue;
      refusal.isTaken = true;
      isDue = true;
    }
    return isDue;
  }
}

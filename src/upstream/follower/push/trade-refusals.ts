/**
 * Subscriptions to trades that the upstream has refused. Each is tried again, after longer and
 * longer delays.
 */

import { backoffMs } from '../../../timing/backoff.ts';
import type { Clock } from '../../client/limits/clock.ts';

const RETRY = { firstMs: 500, maxMs: 600_000 };
/** After so many refusals in a row, we assume that the market has no trades. */
const REFUSALS_MAX = 5;

interface RefusedCoin {
  readonly count: number;
  readonly retryMs: number;
  isTaken: boolean;
}

export class TradeRefusals {
  readonly #clock: Clock;
  /** By coin of a market that the upstream lists. */
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

  /** Whether the coin was refused, and is not due to be tried again. */
  isWaiting(coin: string): boolean {
    const refusal = this.#refusals.get(coin);
    return refusal !== undefined && this.#clock.nowMs() < refusal.retryMs;
  }

  isGivenUp(coin: string): boolean {
    return (this.#refusals.get(coin)?.count ?? 0) >= REFUSALS_MAX;
  }

  /** True if a refused coin is due to be tried again; each retry is reported once. */
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

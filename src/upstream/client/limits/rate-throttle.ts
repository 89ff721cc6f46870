/**
 * Lowers the rate of requests after a status 429. This status means that the upstream allows less
 * than the budget, for example because another program uses the same IP address. Each 429 halves
 * the rate and causes a pause; each pause is longer than the pause before. The rate rises again
 * steadily.
 */

import { backoffMs } from '../../../timing/backoff.ts';

const FACTOR_MIN = 1 / 16;
/** The time in which the rate rises from zero to the whole budget. */
const RECOVERY_MS = 300_000;
const PAUSE = { firstMs: 1_000, maxMs: 60_000 };
/** The maximum pause. A longer Retry-After is reduced to this value. */
const RETRY_AFTER_MS_MAX = 600_000;

export class RateThrottle {
  #factor = 1;
  #changedMs = Number.NEGATIVE_INFINITY;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** The number of refusals in a row. */
  #refusals = 0;

  /** Returns the part of the budget that may be used. */
  factor(nowMs: number): number {
    return Math.min(1, this.#factor + (nowMs - this.#changedMs) / RECOVERY_MS);
  }

  /** The time before which no request may be sent. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  /**
   * Notes that a request that was sent at `sentMs` got a 429. Returns true if this lowers the rate.
   */
  refused(sentMs: number, nowMs: number, retryAfterMs: number | undefined): boolean {
    // Requests that were in flight at the same time are refused for the same reason, so together
    // they halve the rate only once.
    const isNew = sentMs >= this.#pausedUntilMs;
    if (isNew) {
      this.#factor = Math.max(FACTOR_MIN, this.factor(nowMs) / 2);
      this.#changedMs = nowMs;
      this.#refusals++;
    }
    const ownPauseMs = backoffMs(this.#refusals, PAUSE);
    const pauseMs = Math.min(Math.max(retryAfterMs ?? 0, ownPauseMs), RETRY_AFTER_MS_MAX);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + pauseMs);
    return isNew;
  }

  /** Notes that a request that was sent at `sentMs` was answered. */
  answered(sentMs: number): void {
    if (sentMs >= this.#pausedUntilMs) this.#refusals = 0;
  }
}

/**
 * Slows down after a status 429: the upstream allows less than the budget, for example because
 * another program uses the same IP address. Each 429 halves the rate and causes a pause, longer
 * each time. The rate recovers steadily.
 */

import { backoffMs } from '../../../timing/backoff.ts';

const FACTOR_MIN = 1 / 16;
/** Time in which the rate recovers from zero to the whole budget. */
const RECOVERY_MS = 300_000;
const PAUSE = { firstMs: 1_000, maxMs: 60_000 };
/** A longer Retry-After is cut to this value. */
const RETRY_AFTER_MS_MAX = 600_000;

export class RateThrottle {
  #factor = 1;
  #changedMs = Number.NEGATIVE_INFINITY;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** Number of refusals in a row. */
  #refusals = 0;

  /** The part of the budget that may be used. */
  factor(nowMs: number): number {
    return Math.min(1, this.#factor + (nowMs - this.#changedMs) / RECOVERY_MS);
  }

  /** Nothing may be sent before this time. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  /** A request that was sent at `sentMs` got a 429. True if the rate is lowered for it. */
  refused(sentMs: number, nowMs: number, retryAfterMs: number | undefined): boolean {
    // Requests that were in flight at the same time are refused for the same reason, so they halve
    // the rate once.
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

  /** A request that was sent at `sentMs` was answered. */
  answered(sentMs: number): void {
    if (sentMs >= this.#pausedUntilMs) this.#refusals = 0;
  }
}

/**
 * Recent trades of accounts that are not followed. If such an account is followed later, its first
 * answer may be older than the last trade message that named it.
 */

/** Trades are remembered for at least this time, and for at most twice this time. */
const RECENT_MS = 5_000;
/** Maximum number of accounts that are remembered at a time. */
const ACCOUNTS_MAX = 20_000;

export class RecentTrades {
  /** By account key: the time of the last trade, by the exchange's clock. */
  #times = new Map<string, number>();
  #timesBefore: ReadonlyMap<string, number> = new Map();
  #sinceMs = Number.NEGATIVE_INFINITY;

  note(key: string, time: number, nowMs: number): void {
    this.#forget(nowMs);
    if (this.#times.size >= ACCOUNTS_MAX && !this.#times.has(key)) return;
    this.#times.set(key, Math.max(time, this.#times.get(key) ?? 0));
  }

  /** 0 if the account has not traded recently. */
  timeOf(key: string, nowMs: number): number {
    this.#forget(nowMs);
    return Math.max(this.#times.get(key) ?? 0, this.#timesBefore.get(key) ?? 0);
  }

  #forget(nowMs: number): void {
    const pastMs = nowMs - this.#sinceMs;
    if (pastMs < RECENT_MS) return;
    this.#timesBefore = pastMs < 2 * RECENT_MS ? this.#times : new Map();
    this.#times = new Map();
    this.#sinceMs = nowMs;
  }
}

/**
 * Remembers recent trades of accounts that are not followed. If a client asks for such an account
 * soon afterwards, the first answer about the account may be older than the trade.
 */

/** Trades are remembered for at least this time, and for at most twice this time. */
const RECENT_MS = 5_000;
/** The maximum number of accounts that are remembered in one period. */
const ACCOUNTS_MAX = 20_000;

export class RecentTrades {
  /** The time of the account's last trade, by account key and by the exchange's clock. */
  #times = new Map<string, number>();
  #timesBefore: ReadonlyMap<string, number> = new Map();
  #sinceMs = Number.NEGATIVE_INFINITY;

  note(key: string, time: number, nowMs: number): void {
    this.#forget(nowMs);
    if (this.#times.size >= ACCOUNTS_MAX && !this.#times.has(key)) return;
    this.#times.set(key, Math.max(time, this.#times.get(key) ?? 0));
  }

  /** Returns the time of the last trade; returns 0 if the account has not traded recently. */
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

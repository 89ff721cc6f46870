/**
 * Coins whose marks are pushed, but which the upstream does not list. Such a coin belongs to a new
 * market, or is not a perp market.
 */

/**
 * The maximum number of reads of the markets because of one coin. One read may not be enough: the
 * list may be updated a little later than the first price is pushed.
 */
const READS_MAX = 5;
/** The maximum number of coins that are remembered. */
const COINS_MAX = 2_000;

export class UnlistedCoins {
  readonly #reads = new Map<string, number>();

  /** Notes the coins; returns true if the markets should be read because of one of them. */
  note(coins: readonly string[]): boolean {
    let isWorthIt = false;
    for (const coin of coins) {
      const reads = this.#reads.get(coin) ?? 0;
      if (reads >= READS_MAX || (reads === 0 && this.#reads.size >= COINS_MAX)) continue;
      this.#reads.set(coin, reads + 1);
      isWorthIt = true;
    }
    return isWorthIt;
  }
}

/**
 * Coins that are pushed but not listed: coins of new markets, or of something that is not a perp
 * market.
 */

/**
 * How often the markets are read because of one coin: the list may be updated a moment after the
 * first price.
 */
const READS_MAX = 5;
/** Maximum number of coins that are remembered. */
const COINS_MAX = 2_000;

export class UnlistedCoins {
  readonly #reads = new Map<string, number>();

  /** Whether the markets should be read because of one of the coins. */
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

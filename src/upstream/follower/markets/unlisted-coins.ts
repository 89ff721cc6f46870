/** Coins that are pushed and not listed: of a new market, or of something that is no market here. */

/** How often the markets are read for one coin: the list may come a moment after the first price. */
const READS_MAX = 5;
/** Maximum number of coins that are remembered. */
const COINS_MAX = 2_000;

export class UnlistedCoins {
  readonly #reads = new Map<string, number>();

  /** Whether the markets are worth reading for one of the coins. */
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

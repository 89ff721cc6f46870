/**
 * Other lists of markets, as after a change by the exchange: on the first dex the order differs,
 * one market is new, and one more market is delisted.
 */

type Json = ReturnType<typeof JSON.parse>;

export const LATE_COIN = 'LATECOIN';
const LEVERAGE = 3;
const LISTING = { szDecimals: 2, maxLeverage: LEVERAGE, marginTableId: LEVERAGE };
const LISTINGS: Json[] = [
  { ...LISTING, name: LATE_COIN },
  { ...LISTING, name: 'EARLYCOIN', isDelisted: true },
];
const PRICES = { markPx: '2.5', midPx: '2.5001' };

export function changeUniverse(universe: Json[]): void {
  universe.reverse().unshift(...LISTINGS);
}

export function changeContexts(contexts: Json[]): void {
  const [form] = contexts;
  contexts.reverse().unshift({ ...form, ...PRICES }, { ...form, ...PRICES, midPx: null });
}

/**
 * Adds the price of the new market. Every frame contains it, because this price changes all the
 * time.
 */
export function addLatePrice(prices: Json): void {
  prices[LATE_COIN] = PRICES;
}

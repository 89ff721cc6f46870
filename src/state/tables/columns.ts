/** The layout of account and position rows: the meaning of each column. */

import type { LeverageMode } from '../../events/event.ts';

/** The columns of an account row. */
export const ACCOUNT_DEX = 0;
export const CASH = 1;
export const ORDER_MARGIN = 2;
export const COLLATERAL = 3;
export const FIRST_POSITION = 4;
export const NEXT_ACCOUNT = 5;
/**
 * The time at which the account was last read as a whole, in milliseconds; 0 if it was never read
 * as a whole.
 */
export const ACCOUNT_TIME = 6;
/** The height of the last change of the account or of one of its positions. */
export const ACCOUNT_CHANGED_AT = 7;

/**
 * The columns of a position row. TERMS packs market, leverage, mode and tiers into one whole
 * number.
 */
export const TERMS = 0;
export const NEXT_POSITION = 1;
export const SIZE = 2;
export const ENTRY_NOTIONAL = 3;
export const RAW_USD = 4;
export const FUNDING_ALL_TIME = 5;
export const FUNDING_SINCE_OPEN = 6;
export const FUNDING_SINCE_CHANGE = 7;

/**
 * If TERMS is this value or higher, the position has its own margin table, which differs from the
 * table of its market.
 */
export const OWN_TIERS = 2 ** 32;

/**
 * TERMS, from its lowest bit: isolated (1 bit), leverage (10 bits), the market's index (20 bits), a
 * bit that is 0, the number of the position's own margin table, or 0 (14 bits). Bitwise operators
 * use the lower 32 bits only.
 */
export function packTerms(
  marketIndex: number,
  leverage: number,
  mode: LeverageMode,
  tierTable = 0,
): number {
  const lower = (marketIndex << 11) | (leverage << 1) | (mode === 'isolated' ? 1 : 0);
  return lower + tierTable * OWN_TIERS;
}

/** The number of the position's own margin table; 0 if the market's table applies. */
export function tierTableOfTerms(terms: number): number {
  return Math.floor(terms / OWN_TIERS);
}

/** Returns the same terms with the market's tiers. */
export function withMarketTiers(terms: number): number {
  return terms % OWN_TIERS;
}

export function marketOfTerms(terms: number): number {
  return terms >>> 11;
}

export function leverageOfTerms(terms: number): number {
  return (terms >>> 1) & 0x3ff;
}

export function isIsolatedTerms(terms: number): boolean {
  return (terms & 1) === 1;
}

/** The margin tiers of a market, and the id under which clients find them. */

import { USD_DECIMALS } from '../../events/fields.ts';
import { formatUnits } from '../../exact/decimal.ts';
import type { Market } from '../../state/markets/markets.ts';

/** The first id of tables with several tiers. Lower ids are maximum leverages. */
const TIERED_TABLES_FROM = 1001;

/**
 * The id of a table with one tier is the maximum leverage of the tier, as clients expect. The id of
 * a table with several tiers depends on the index of the market only, so that an id always means
 * the same table.
 */
export function marginTableId(market: Market, marketIndex: number): number {
  return market.tiers.length === 1 ? market.tiers[0].maxLeverage : TIERED_TABLES_FROM + marketIndex;
}

export function formatMarginTable({ tiers }: Market): string {
  const texts = tiers.map(
    ({ lowerBound, maxLeverage }) =>
      `{"lowerBound":"${formatUnits(lowerBound, USD_DECIMALS)}","maxLeverage":${maxLeverage}}`,
  );
  return `{"description":"","marginTiers":[${texts.join(',')}]}`;
}

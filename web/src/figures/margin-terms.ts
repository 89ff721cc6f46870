/**
 * Computes maintenance margins and liquidation prices from the margin terms of markets, with the
 * ledger's formulas.
 */

import { formatUnits } from '../../../src/exact/decimal.ts';
import {
  createTiers,
  maintenanceMargin,
  priceAtMaintenance,
  QUOTIENT_DECIMALS,
  tierOf,
} from '../../../src/state/markets/margin-formulas.ts';
import type { MarginTier } from '../../../src/state/markets/margin-tiers.ts';
import { type Decimal, parseDecimal, roundTo } from './decimal.ts';

/** The part of an answer to `allPerpMetas` that the page reads, for one dex. */
export interface Meta {
  readonly universe: readonly {
    readonly name: string;
    readonly szDecimals: number;
    readonly marginTableId: number;
  }[];
  readonly marginTables: readonly (readonly [
    id: number,
    { readonly marginTiers: readonly { lowerBound: string; maxLeverage: number }[] },
  ])[];
}

export interface MarketTerms {
  readonly priceDecimals: number;
  readonly tiers: readonly MarginTier[];
}

const USD_DECIMALS = 6;
/** The sum of the decimals of a size and the decimals of its price. */
const SIZE_AND_PRICE_DECIMALS = 6;

const toMillionths = (value: Decimal): bigint => roundTo(value, USD_DECIMALS).units;

/** Returns the terms of all markets by coin, without markets that have no tiers. */
export function readTerms(metas: readonly Meta[]): ReadonlyMap<string, MarketTerms> {
  const terms = metas.flatMap(({ universe, marginTables }) => {
    const tables = new Map(marginTables);
    return universe.map(({ name, szDecimals, marginTableId }): [string, MarketTerms] => {
      const { marginTiers = [] } = tables.get(marginTableId) ?? {};
      const tiers = marginTiers.map(({ lowerBound, maxLeverage }) => ({
        lowerBound: Number(toMillionths(parseDecimal(lowerBound))),
        maxLeverage,
      }));
      const priceDecimals = SIZE_AND_PRICE_DECIMALS - szDecimals;
      return [name, { priceDecimals, tiers: createTiers(tiers) }];
    });
  });
  return new Map(terms.filter(([, { tiers }]) => tiers.length > 0));
}

/** Returns the maintenance margin of a position of this value. */
export function maintenanceOf({ tiers }: MarketTerms, value: Decimal): Decimal {
  const millionths = toMillionths(value);
  const margin = maintenanceMargin(tierOf(tiers, millionths), millionths);
  return { units: BigInt(margin), scale: USD_DECIMALS };
}

interface Backed {
  readonly szi: Decimal;
  readonly value: Decimal;
  /** The equity that backs the position, before its own maintenance margin. */
  readonly equity: Decimal;
}

/** Returns the liquidation price as the endpoint writes it; returns null if there is none. */
export function liquidationOf({ tiers }: MarketTerms, { szi, value, equity }: Backed) {
  const price = priceAtMaintenance({
    tiers,
    size: szi.units,
    value: toMillionths(value),
    equity: toMillionths(equity),
    priceDecimals: SIZE_AND_PRICE_DECIMALS - szi.scale,
  });
  return price === undefined ? null : formatUnits(price, QUOTIENT_DECIMALS);
}

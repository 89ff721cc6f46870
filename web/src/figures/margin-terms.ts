/** The margin tiers of markets, and what follows from them, exactly as the ledger computes it. */

import { type Decimal, divideRounded, formatDecimal, parseDecimal, roundTo } from './decimal.ts';

/** What `allPerpMetas` answers of a dex, as far as it is needed here. */
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

/** Amounts are in millionths of a dollar. */
interface Tier {
  readonly lowerBound: bigint;
  /** The share of a value that maintenance takes is one over this: twice the maximum leverage. */
  readonly divisor: bigint;
  /** A fraction: it is not rounded. */
  readonly deduction: { readonly top: bigint; readonly bottom: bigint };
}

export interface MarketTerms {
  readonly priceDecimals: number;
  readonly tiers: readonly Tier[];
}

const USD_DECIMALS = 6;
/** Decimals of a size and of its price together. */
const SIZE_AND_PRICE_DECIMALS = 6;
const LIQUIDATION_DECIMALS = 10;

const toMillionths = (value: Decimal): bigint => roundTo(value, USD_DECIMALS).units;

/** The terms of all markets, by coin. */
export function readTerms(metas: readonly Meta[]): ReadonlyMap<string, MarketTerms> {
  const terms = metas.flatMap(({ universe, marginTables }) => {
    const tables = new Map(marginTables);
    return universe.map(({ name, szDecimals, marginTableId }): [string, MarketTerms] => {
      const { marginTiers = [] } = tables.get(marginTableId) ?? {};
      const priceDecimals = SIZE_AND_PRICE_DECIMALS - szDecimals;
      return [name, { priceDecimals, tiers: readTiers(marginTiers) }];
    });
  });
  return new Map(terms.filter(([, { tiers }]) => tiers.length > 0));
}

/** Each deduction continues the one before, so that maintenance has no step between two tiers. */
function readTiers(given: readonly { lowerBound: string; maxLeverage: number }[]): Tier[] {
  const tiers: Tier[] = [];
  for (const { lowerBound: bound, maxLeverage } of given) {
    const lowerBound = toMillionths(parseDecimal(bound));
    const divisor = 2n * BigInt(maxLeverage);
    const before = tiers.at(-1);
    const deduction = before
      ? {
          top:
            before.deduction.top * divisor * before.divisor +
            lowerBound * (before.divisor - divisor) * before.deduction.bottom,
          bottom: before.deduction.bottom * divisor * before.divisor,
        }
      : { top: 0n, bottom: 1n };
    tiers.push({ lowerBound, divisor, deduction });
  }
  return tiers;
}

/** The maintenance margin of a position of this value, rounded down. */
export function maintenanceOf({ tiers }: MarketTerms, value: Decimal): Decimal {
  const millionths = toMillionths(value);
  const tier = tiers.findLast(({ lowerBound }) => millionths >= lowerBound) ?? tiers[0];
  const { divisor, deduction } = tier;
  // Never negative, so that the division rounds down.
  const dividend = millionths * deduction.bottom - deduction.top * divisor;
  return { units: dividend / (deduction.bottom * divisor), scale: USD_DECIMALS };
}

export interface Backed {
  readonly szi: Decimal;
  readonly value: Decimal;
  /** What backs the position, before its own maintenance margin. */
  readonly equity: Decimal;
}

/** The price at which equity equals maintenance, as the endpoint writes it; null if there is none. */
export function liquidationOf({ tiers }: MarketTerms, { szi, value, equity }: Backed) {
  const side = szi.units < 0n ? -1n : 1n;
  const target = toMillionths(value) - side * toMillionths(equity);
  if (target <= 0n) return null;
  for (let index = tiers.length - 1; index >= 0; index--) {
    const { lowerBound, divisor, deduction } = tiers[index];
    const top = (target * deduction.bottom - side * deduction.top) * divisor;
    const bottom = deduction.bottom * (divisor - side);
    if (index > 0 && top < lowerBound * bottom) continue;
    const size = { units: bottom * side * szi.units, scale: szi.scale };
    const price = divideRounded({ units: top, scale: USD_DECIMALS }, size, LIQUIDATION_DECIMALS);
    return price ? formatDecimal(price) : null;
  }
  return null;
}

/**
 * The margin formulas of a position: its tiers, its maintenance margin and its liquidation price.
 * All are pure functions of exact amounts: the state and the dashboard ("What if") use the same
 * file.
 *
 * USD amounts are in millionths; sizes and prices are in the smallest unit of the market.
 */

import {
  add,
  divideFloor,
  divideHalfUp,
  type Exact,
  greatestCommonDivisor,
  magnitude,
  multiply,
  subtract,
} from '../../exact/decimal.ts';
import type { MarginTier, TierTerms } from './margin-tiers.ts';

/** The decimals of the two figures that are quotients: return on equity and liquidation price. */
export const QUOTIENT_DECIMALS = 10;

/**
 * deduction(i) = deduction(i-1) + lowerBound(i) * (1 / 2m(i) - 1 / 2m(i-1)), with m = maxLeverage
 */
function addDeduction(previous: MarginTier, terms: TierTerms): MarginTier {
  const stepNumerator = multiply(terms.lowerBound, previous.maxLeverage - terms.maxLeverage);
  const stepDenominator = 2 * terms.maxLeverage * previous.maxLeverage;
  const numerator = add(
    multiply(previous.deductionNumerator, stepDenominator),
    multiply(stepNumerator, previous.deductionDenominator),
  );
  const denominator = multiply(previous.deductionDenominator, stepDenominator);
  const divisor = greatestCommonDivisor(numerator, denominator);
  return createTier(terms, divideFloor(numerator, divisor), divideFloor(denominator, divisor));
}

/**
 * Creates a tier. Tiers are created only here, so that all of them have the same hidden class,
 * which makes reads fast.
 */
function createTier(
  { lowerBound, maxLeverage }: TierTerms,
  deductionNumerator: Exact,
  deductionDenominator: Exact,
): MarginTier {
  return { lowerBound, maxLeverage, deductionNumerator, deductionDenominator };
}

export function createTiers(terms: readonly TierTerms[]): MarginTier[] {
  const tiers: MarginTier[] = [];
  for (const tier of terms) {
    const previous = tiers.at(-1);
    tiers.push(previous === undefined ? createTier(tier, 0, 1) : addDeduction(previous, tier));
  }
  return tiers;
}

/** The tier that contains a position value. */
export function tierOf(tiers: readonly MarginTier[], value: Exact): MarginTier {
  let index = tiers.length - 1;
  while (value < tiers[index].lowerBound) index--;
  return tiers[index];
}

/** floor(value / (2 * maxLeverage) - deduction) */
export function maintenanceMargin(tier: MarginTier, value: Exact): Exact {
  const { deductionNumerator, deductionDenominator } = tier;
  const rateDivisor = 2 * tier.maxLeverage;
  const dividend = subtract(
    multiply(value, deductionDenominator),
    multiply(deductionNumerator, rateDivisor),
  );
  return divideFloor(dividend, multiply(deductionDenominator, rateDivisor));
}

export interface BackedPosition {
  readonly tiers: readonly MarginTier[];
  /** Negative for a short position. */
  readonly size: Exact;
  readonly value: Exact;
  /** The equity that backs the position; its own maintenance margin is not subtracted. */
  readonly equity: Exact;
  /** A price with these decimals times a size is a whole number of millionths of a dollar. */
  readonly priceDecimals: number;
}

/**
 * Returns the price at which the equity equals the maintenance margin, in units of 10^-10; returns
 * undefined if this price is not above 0.
 *
 * `side` is +1 for a long and -1 for a short.
 * With T = value - side * equity, the value X at this price solves X - side * maintenance(X) = T.
 * The left side is continuous and increasing in X, so X lies in the last tier where the solution,
 * (T - side * deduction) / (1 - side / (2 * maxLeverage)), is not below the tier's lower bound.
 */
export function priceAtMaintenance(position: BackedPosition): Exact | undefined {
  const { tiers, size, value, equity, priceDecimals } = position;
  const side = size < 0 ? -1 : 1;
  const target = subtract(value, multiply(side, equity));
  if (target <= 0) return undefined;
  for (let index = tiers.length - 1; ; index--) {
    const { lowerBound, maxLeverage, deductionNumerator, deductionDenominator } = tiers[index];
    const scaled = multiply(target, deductionDenominator);
    const dividend = multiply(
      subtract(scaled, multiply(side, deductionNumerator)),
      2 * maxLeverage,
    );
    const divisor = multiply(deductionDenominator, 2 * maxLeverage - side);
    if (index > 0 && dividend < multiply(lowerBound, divisor)) continue;
    const decimals = QUOTIENT_DECIMALS - priceDecimals;
    return divideHalfUp(dividend, multiply(divisor, magnitude(size)), decimals);
  }
}

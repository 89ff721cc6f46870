/** Margin tiers: which tables are valid, and the exact deduction of each tier. */

import { USD_DECIMALS } from '../events/fields.ts';
import { Refusal } from '../events/refusal.ts';
import {
  add,
  divideFloor,
  type Exact,
  formatUnits,
  greatestCommonDivisor,
  multiply,
} from '../exact/decimal.ts';

/** A margin tier as an event gives it. */
export interface TierTerms {
  readonly lowerBound: number;
  readonly maxLeverage: number;
}

/**
 * The maintenance margin of a position value x in this tier is x / (2 * maxLeverage) - deduction.
 * The deduction makes the margin continuous across tiers. It is an exact fraction in lowest terms.
 */
export interface MarginTier extends TierTerms {
  readonly deductionNumerator: Exact;
  readonly deductionDenominator: Exact;
}

const TIER_COUNT_MAX = 100;

/** deduction(i) = deduction(i-1) + lowerBound(i) * (1 / 2m(i) - 1 / 2m(i-1)), with m = maxLeverage */
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

/** All tiers are created here, so that they share one hidden class and reads stay monomorphic. */
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

/** The terms that tiers were created from. */
export function tierTermsOf(tiers: readonly TierTerms[]): TierTerms[] {
  return tiers.map(({ lowerBound, maxLeverage }) => ({ lowerBound, maxLeverage }));
}

export function checkTiers(tiers: readonly TierTerms[]): void {
  if (tiers.length === 0 || tiers.length > TIER_COUNT_MAX) {
    throw new Refusal('marginTiers', tiers, `1 to ${TIER_COUNT_MAX} tiers`);
  }
  tiers.forEach(({ lowerBound }, index) => {
    const isFirst = index === 0;
    if (isFirst ? lowerBound === 0 : lowerBound > tiers[index - 1].lowerBound) return;
    const shown = formatUnits(lowerBound, USD_DECIMALS);
    const expected = isFirst ? '0.0 in the first tier' : 'more than the lowerBound before it';
    throw new Refusal(`marginTiers[${index}].lowerBound`, shown, expected);
  });
}

export function areSameTiers(before: readonly TierTerms[], after: readonly TierTerms[]): boolean {
  return (
    before.length === after.length &&
    before.every(
      ({ lowerBound, maxLeverage }, index) =>
        lowerBound === after[index].lowerBound && maxLeverage === after[index].maxLeverage,
    )
  );
}

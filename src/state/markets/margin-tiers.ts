/** Margin tiers: their terms, and which tables are valid. */

import { USD_DECIMALS } from '../../events/fields.ts';
import { Refusal } from '../../events/refusal.ts';
import { type Exact, formatUnits } from '../../exact/decimal.ts';

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

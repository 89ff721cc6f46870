/** Occasional changes to the margin tiers of a market. */

import type { TierTerms } from '../state/markets/margin-tiers.ts';
import { describeMarket } from './listings.ts';
import { type Scene, USD } from './scene.ts';

const CHANGE_CHANCE = 1 / 250;
const ADDED_LOWER_BOUND = 2_000_000 * USD;

export function changeTiers({ state, random, draft }: Scene): void {
  if (!random.chance(CHANGE_CHANCE)) return;
  const index = random.below(state.markets.markets.length);
  const market = state.markets.markets[index];
  const markPrice = state.markets.markPrice(index);
  draft.append(describeMarket({ ...market, tiers: reviseTiers(market.tiers), markPrice }));
}

/** Removes the highest tier, or adds a second tier if there is only one. */
function reviseTiers(tiers: readonly TierTerms[]): readonly TierTerms[] {
  if (tiers.length > 1) return tiers.slice(0, -1);
  const maxLeverage = Math.ceil(tiers[0].maxLeverage / 2);
  return [...tiers, { lowerBound: ADDED_LOWER_BOUND, maxLeverage }];
}

/**
 * Mark prices: a random walk that drifts back to the price of the listing and never leaves a band
 * around this price. A part of every step is common to all markets, as on a real exchange.
 */

import { formatUnits, parseUnits, powerOfTen } from '../exact/decimal.ts';
import type { Market } from '../state/markets/markets.ts';
import { findListing, type Listing } from './listings.ts';
import type { Random } from './random.ts';
import type { Scene } from './scene.ts';

const SIGNIFICANT_FIGURES = 5;
/**
 * Mean reversion: the share of the distance to the long-run price that is closed in ten seconds.
 */
const REVERSION = 0.00005;
const BAND_LOW = 0.5;
const BAND_HIGH = 2;
/**
 * The weights of the two parts of a price move: the part that is common to all markets, and the
 * separate part of the market. Their squares add up to 1.
 */
const COMMON_WEIGHT = 0.6;
const OWN_WEIGHT = 0.8;

/** The unit of time that volatilities are given for. */
const STEP_MS = 10_000;
/**
 * The maximum number of steps in one move. After a longer pause, prices move as after five minutes.
 */
const STEPS_MAX = 30;

/**
 * Returns the smallest power of ten for which `units`, rounded to a multiple of this power, has at
 * most `figures` significant figures.
 */
export function stepOfFigures(units: number, figures: number): number {
  let step = 1;
  while (units >= step * powerOfTen(figures)) step *= 10;
  return step;
}

/** Rounds to five significant figures, or to whole dollars if whole dollars are finer; never 0. */
export function roundPrice(units: number, priceDecimals: number): number {
  const figuresStep = stepOfFigures(units, SIGNIFICANT_FIGURES);
  const step = Math.min(figuresStep, powerOfTen(priceDecimals));
  return Math.max(1, Math.round(units / step) * step);
}

interface PriceMove {
  readonly listing: Listing;
  readonly market: Market;
  readonly price: number;
  readonly steps: number;
  readonly common: number;
}

function movePrice(random: Random, { listing, market, price, steps, common }: PriceMove): number {
  const longRun = parseUnits(listing.price, market.priceDecimals);
  const shock = COMMON_WEIGHT * common + OWN_WEIGHT * random.normal();
  const pull = (REVERSION * steps * (longRun - price)) / longRun;
  const moved = price * (1 + listing.volatility * Math.sqrt(steps) * shock + pull);
  const bounded = Math.min(Math.max(moved, longRun * BAND_LOW), longRun * BAND_HIGH);
  return roundPrice(bounded, market.priceDecimals);
}

/** Moves every mark price, except those of coins that the simulator does not list. */
export function moveMarks({ state, time, random, draft }: Scene): void {
  const steps = Math.min((time - state.time) / STEP_MS, STEPS_MAX);
  const common = random.normal();
  const prices: Record<string, string> = {};
  for (const [index, market] of state.markets.markets.entries()) {
    const listing = findListing(market.coin);
    if (listing === undefined) continue;
    const price = state.markets.markPrice(index);
    const moved = movePrice(random, { listing, market, price, steps, common });
    prices[market.coin] = formatUnits(moved, market.priceDecimals);
  }
  draft.append({ type: 'marks', prices });
}

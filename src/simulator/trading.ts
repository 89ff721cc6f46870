/** Trading: users open, grow, shrink, close and flip positions, within their free margin. */

import { findPosition } from '../state/accounts.ts';
import {
  type AccountFigures,
  accountFigures,
  type PositionFigures,
} from '../state/figures/figures.ts';
import { leverageOfTerms, SIZE, TERMS } from '../state/tables/columns.ts';
import { fillOrder, makersInventory } from './matching.ts';
import { drawLeverage, drawMarkets, drawMode, sizeWorth } from './portfolio.ts';
import type { Random } from './random.ts';
import { type Actor, marketsOfDex, pickActor, type Scene, USD } from './scene.ts';

const TRADES_MIN = 4;
const TRADES_SPREAD = 9;
const POSITIONS_MAX = 10;
const ADJUST_CHANCE = 0.6;
const GROW_CHANCE = 0.3;
/** The probability that only a part of a position is closed, if the position does not grow. */
const SHRINK_CHANCE = 0.4;
const FLIP_CHANCE = 0.3;
/**
 * The probability that a user sets the leverage of a coin that the user traded before. For a new
 * coin, the leverage is always set.
 */
const CHOOSE_LEVERAGE_CHANCE = 0.5;
/** The probability that a new position reduces the makers' inventory. */
const REDUCE_INVENTORY_CHANCE = 0.6;
/** The share of free margin that a gambler uses at once, which leads to cross liquidations. */
const GAMBLED_SHARE = 0.9;
const GAMBLE_CHANCE = 0.12;
const NOTIONAL_MIN = 10 * USD;
const NOTIONAL_MAX = 2_000_000 * USD;

export function trade(scene: Scene): void {
  const count = TRADES_MIN + scene.random.below(TRADES_SPREAD);
  for (let index = 0; index < count; index++) {
    const actor = pickActor(scene);
    if (actor !== undefined) tradeAs(scene, actor);
  }
}

function tradeAs(scene: Scene, actor: Actor): void {
  const { random } = scene;
  const figures = accountFigures(scene.state, actor.account);
  const { positions } = figures;
  const hasPositionsMax = positions.length >= POSITIONS_MAX;
  if (positions.length > 0 && (hasPositionsMax || random.chance(ADJUST_CHANCE))) {
    adjustPosition(scene, { user: actor.user, figures, position: random.pick(positions) });
  } else {
    openPosition(scene, actor, figures);
  }
}

interface Adjustment {
  readonly user: string;
  readonly figures: AccountFigures;
  readonly position: PositionFigures;
}

function adjustPosition(scene: Scene, { user, figures, position }: Adjustment): void {
  const { state, random } = scene;
  const { market, leverage } = position;
  const marketIndex = state.markets.markets.indexOf(market);
  const isLong = position.size > 0;
  const isGrowing = random.chance(GROW_CHANCE);
  const size = isGrowing
    ? affordableSize(scene, { marketIndex, figures, leverage })
    : drawReduction(random, position);
  if (size > 0) fillOrder(scene, { user, marketIndex, isBuy: isLong === isGrowing, size });
}

/**
 * The size to close: a part of the position, or all of it. For a winning position, the size is
 * sometimes larger, which flips the position.
 */
function drawReduction(random: Random, { size, unrealizedPnl }: PositionFigures): number {
  const sizeNow = Math.abs(size);
  if (random.chance(SHRINK_CHANCE)) return Math.ceil(sizeNow * random.between(0.1, 0.9));
  return unrealizedPnl > 0 && random.chance(FLIP_CHANCE)
    ? sizeNow + Math.ceil(sizeNow / 2)
    : sizeNow;
}

interface Purchase {
  readonly marketIndex: number;
  readonly figures: AccountFigures;
  readonly leverage: number;
}

/** Draws a size that uses a share of the free margin; returns 0 if the order would be too small. */
function affordableSize(scene: Scene, purchase: Purchase): number {
  const { state, random } = scene;
  const { marketIndex, figures, leverage } = purchase;
  const share = random.chance(GAMBLE_CHANCE) ? GAMBLED_SHARE : random.between(0.05, 0.45);
  const margin = Number(figures.withdrawable) * share;
  const notional = Math.min(margin * leverage, NOTIONAL_MAX);
  return notional < NOTIONAL_MIN ? 0 : sizeWorth(notional, state.markets.markPrice(marketIndex));
}

function openPosition(scene: Scene, actor: Actor, figures: AccountFigures): void {
  const { state, random } = scene;
  const markets = marketsOfDex(state, actor.dexIndex);
  if (markets.length === 0) return;
  const [marketIndex] = drawMarkets(random, markets, 1);
  const position = findPosition(state, actor.account, marketIndex);
  if (position !== 0 && state.positions.get(position, SIZE) !== 0) return;
  const leverage = chooseLeverage(scene, actor, { marketIndex, position });
  const size = affordableSize(scene, { marketIndex, figures, leverage });
  if (size === 0) return;
  const reducesInventory = random.chance(REDUCE_INVENTORY_CHANCE);
  const isBuy = makersInventory(scene, marketIndex) > 0 === reducesInventory;
  fillOrder(scene, { user: actor.user, marketIndex, isBuy, size });
}

/**
 * Returns the leverage of the next position. Either sets a new leverage and mode, or leaves the
 * current leverage and mode.
 */
function chooseLeverage(
  { state, random, draft }: Scene,
  { user }: Actor,
  { marketIndex, position }: { marketIndex: number; position: number },
): number {
  if (position !== 0 && !random.chance(CHOOSE_LEVERAGE_CHANCE)) {
    return leverageOfTerms(state.positions.get(position, TERMS));
  }
  const market = state.markets.markets[marketIndex];
  const value = drawLeverage(random, market);
  draft.append({
    type: 'leverage',
    user,
    coin: market.coin,
    mode: drawMode(random, market),
    value,
  });
  return value;
}

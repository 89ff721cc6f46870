/**
 * What users trade: they open, grow, shrink, close and turn round positions, within what their
 * account can carry.
 */

import { type AccountFigures, accountFigures, type PositionFigures } from '../../info/figures.ts';
import {
  findPosition,
  isIsolatedTerms,
  leverageOfTerms,
  SIZE,
  TERMS,
} from '../../state/accounts.ts';
import { fillOrder, makersInventory } from './matching.ts';
import { drawLeverage, drawMarkets, drawMode, sizeWorth } from './portfolio.ts';
import { type Actor, marketsOfDex, pickActor, type Scene, USD } from './scene.ts';

const TRADES_MIN = 4;
const TRADES_SPREAD = 9;
const POSITIONS_MAX = 10;
const ADJUST_CHANCE = 0.6;
/** How often someone chooses a leverage before opening a position. */
const CHOOSE_LEVERAGE_CHANCE = 0.5;
/** How often an opening takes a part of the makers' inventory, rather than adding to it. */
const WELCOME_CHANCE = 0.6;
const NOTIONAL_MIN = 10 * USD;
const NOTIONAL_MAX = 2_000_000 * USD;
/** A cross position keeps a tenth of its value from being withdrawn, whatever its leverage. */
const CROSS_MULTIPLE_MAX = 10;

export function trade(scene: Scene): void {
  const count = TRADES_MIN + scene.random.below(TRADES_SPREAD);
  for (let place = 0; place < count; place++) {
    const actor = pickActor(scene);
    if (actor !== undefined) tradeAs(scene, actor);
  }
}

function tradeAs(scene: Scene, actor: Actor): void {
  const { random } = scene;
  const figures = accountFigures(scene.state, actor.account);
  const { positions } = figures;
  const isInvested = positions.length >= POSITIONS_MAX;
  if (positions.length > 0 && (isInvested || random.chance(ADJUST_CHANCE))) {
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
  const marketIndex = state.markets.markets.indexOf(position.market);
  const isLong = position.size > 0;
  const held = Math.abs(position.size);
  const draw = random.fraction();
  if (draw < 0.3) {
    const size = affordableSize(scene, { marketIndex, figures, ...position });
    if (size > 0) fillOrder(scene, { user, marketIndex, isBuy: isLong, size });
    return;
  }
  fillOrder(scene, { user, marketIndex, isBuy: !isLong, size: reduction(draw, held, position) });
}

/** A part of the position, all of it, or, of one that has won, more than that: it turns round. */
function reduction(draw: number, held: number, { unrealizedPnl }: PositionFigures): number {
  if (draw < 0.6) return Math.max(1, Math.floor(held * (draw - 0.3) * 3));
  if (draw < 0.9 || unrealizedPnl < 0) return held;
  return held + Math.ceil(held / 2);
}

interface Purchase {
  readonly marketIndex: number;
  readonly figures: AccountFigures;
  readonly isIsolated: boolean;
  readonly leverage: number;
}

/** A size that takes a part of what is free in the account; 0 where that would be dust. */
function affordableSize(scene: Scene, purchase: Purchase): number {
  const { state, random } = scene;
  const { marketIndex, figures, isIsolated, leverage } = purchase;
  const multiple = isIsolated ? leverage : Math.min(leverage, CROSS_MULTIPLE_MAX);
  const free = Number(figures.withdrawable) * random.between(0.05, 0.45);
  const notional = Math.min(free * multiple, NOTIONAL_MAX);
  return notional < NOTIONAL_MIN ? 0 : sizeWorth(notional, state.markets.markPrice(marketIndex));
}

function openPosition(scene: Scene, actor: Actor, figures: AccountFigures): void {
  const { state, random } = scene;
  const markets = marketsOfDex(state, actor.dexIndex);
  if (markets.length === 0) return;
  const [marketIndex] = drawMarkets(random, markets, 1);
  const position = findPosition(state, actor.account, marketIndex);
  if (position !== 0 && state.positions.get(position, SIZE) !== 0) return;
  const chosen = chooseTerms(scene, actor, { marketIndex, position });
  const size = affordableSize(scene, { marketIndex, figures, ...chosen });
  if (size === 0) return;
  const isWelcome = random.chance(WELCOME_CHANCE);
  const isBuy = makersInventory(scene, marketIndex) > 0 === isWelcome;
  fillOrder(scene, { user: actor.user, marketIndex, isBuy, size });
}

/** The mode and leverage that the position will have: new ones, those it had, or the default. */
function chooseTerms(
  { state, random, draft }: Scene,
  { user }: Actor,
  { marketIndex, position }: { marketIndex: number; position: number },
) {
  const market = state.markets.markets[marketIndex];
  if (position === 0 || random.chance(CHOOSE_LEVERAGE_CHANCE)) {
    const mode = drawMode(random, market);
    const value = drawLeverage(random, market);
    draft.append({ type: 'leverage', user, coin: market.coin, mode, value });
    return { isIsolated: mode === 'isolated', leverage: value };
  }
  const terms = state.positions.get(position, TERMS);
  return { isIsolated: isIsolatedTerms(terms), leverage: leverageOfTerms(terms) };
}

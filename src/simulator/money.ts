/** Moves the users' money between trades: deposits, withdrawals, margins and reserves. */

import { type AccountFigures, accountFigures } from '../state/figures/figures.ts';
import { drawEquity, drawLeverage } from './portfolio.ts';
import { type Actor, formatUsd, pickActor, type Scene, USD, wholeCents } from './scene.ts';

/**
 * Accounts below this value deposit as much as a new user, sometimes as much as a whale. Larger
 * accounts deposit a share of their value.
 */
const SMALL_ACCOUNT = 1000 * USD;
/** Larger accounts make no deposits. */
const LARGE_ACCOUNT = 5_000_000 * USD;
const WHALE_CHANCE = 0.04;
const WITHDRAWAL_MIN = 10 * USD;
const NO_ORDERS_CHANCE = 0.3;
const ADD_MARGIN_CHANCE = 0.6;

interface AccountActor extends Actor {
  readonly figures: AccountFigures;
}

/** Each action with its probability in a block. */
const ACTS: readonly { chance: number; act: (scene: Scene, actor: AccountActor) => void }[] = [
  { chance: 0.25, act: deposit },
  { chance: 0.25, act: withdraw },
  { chance: 0.6, act: setOrderMargin },
  { chance: 0.08, act: setCollateral },
  { chance: 0.6, act: moveIsolatedMargin },
  { chance: 0.4, act: changeLeverage },
];

export function moveMoney(scene: Scene): void {
  for (const { chance, act } of ACTS) {
    const actor = scene.random.chance(chance) ? pickActor(scene) : undefined;
    if (actor === undefined) continue;
    act(scene, { ...actor, figures: accountFigures(scene.state, actor.account) });
  }
}

function deposit({ random, draft }: Scene, { user, dex, figures }: AccountActor): void {
  const value = Number(figures.summary.accountValue);
  if (value > LARGE_ACCOUNT) return;
  const amount =
    value < SMALL_ACCOUNT
      ? drawEquity(random, random.chance(WHALE_CHANCE) ? 'whale' : 'retail')
      : value * random.between(0.05, 0.27);
  draft.append({ type: 'transfer', user, dex, amount: formatUsd(wholeCents(amount)) });
}

function withdraw({ random, draft }: Scene, { user, dex, figures }: AccountActor): void {
  const amount = wholeCents(Number(figures.withdrawable) * random.between(0.1, 0.6));
  if (amount < WITHDRAWAL_MIN) return;
  draft.append({ type: 'transfer', user, dex, amount: formatUsd(-amount) });
}

/** Sets the order margin as if the user had placed resting orders, or cancelled all of them. */
function setOrderMargin({ random, draft }: Scene, { user, dex, figures }: AccountActor): void {
  const share = random.chance(NO_ORDERS_CHANCE) ? 0 : random.between(0.05, 0.5);
  const amount = wholeCents(Number(figures.withdrawable) * share);
  draft.append({ type: 'orderMargin', user, dex, amount: formatUsd(amount) });
}

function setCollateral({ random, draft }: Scene, { user, dex, figures }: AccountActor): void {
  const value = Math.max(0, Number(figures.summary.accountValue));
  const amount = wholeCents(value * random.between(0, 1.5));
  draft.append({ type: 'collateral', user, dex, amount: formatUsd(amount) });
}

/** Adds to an isolated position's margin, or withdraws a part of its unrealized profit. */
function moveIsolatedMargin({ random, draft }: Scene, { user, figures }: AccountActor): void {
  const isolated = figures.positions.filter(({ isIsolated }) => isIsolated);
  if (isolated.length === 0) return;
  const { market, unrealizedPnl } = random.pick(isolated);
  const isAdded = random.chance(ADD_MARGIN_CHANCE);
  const source = isAdded ? figures.withdrawable : unrealizedPnl;
  const amount = wholeCents(Number(source) * random.between(0.05, 0.4));
  if (amount <= 0) return;
  const signedAmount = formatUsd(isAdded ? amount : -amount);
  draft.append({ type: 'isolatedMargin', user, coin: market.coin, amount: signedAmount });
}

/**
 * Changes the leverage of an open position. Its mode cannot change, and a lower leverage needs free
 * margin.
 */
function changeLeverage({ random, draft }: Scene, { user, figures }: AccountActor): void {
  if (figures.positions.length === 0) return;
  const { market, isIsolated, leverage, value } = random.pick(figures.positions);
  const leverageNew = drawLeverage(random, market);
  const marginAdded = Number(value) / leverageNew - Number(value) / leverage;
  if (leverageNew === leverage || marginAdded > Number(figures.withdrawable)) return;
  const mode = isIsolated ? 'isolated' : 'cross';
  draft.append({ type: 'leverage', user, coin: market.coin, mode, value: leverageNew });
}

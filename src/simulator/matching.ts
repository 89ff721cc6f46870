/**
 * Matching: market makers fill orders at a price near the mark. Every trade is two fills, of the
 * taker and of the maker, with the same coin, size and price, and opposite sides.
 */

import { USD_DECIMALS } from '../events/fields.ts';
import { divideFloor, formatUnits, multiply } from '../exact/decimal.ts';
import { findAccount, findPosition } from '../state/accounts.ts';
import { SIZE } from '../state/tables/columns.ts';
import { roundPrice } from './prices.ts';
import type { Participant } from './roster.ts';
import { type Scene, USD } from './scene.ts';

/**
 * The maximum difference between a taker's price and the mark price, as a share of the mark price.
 */
const SLIPPAGE_MAX = 0.0006;
/** An order with a larger value is split among several makers. */
const SLICE_NOTIONAL = 100_000 * USD;
const SLICES_MAX = 4;

/** Fees in millionths of the traded value. Some makers pay a fee, others get a rebate. */
const TAKER_FEE = 450;
const MAKER_FEES = [150, 80, -20];
const FEE_SCALE = 1_000_000;

export interface Order {
  readonly user: string;
  readonly marketIndex: number;
  readonly isBuy: boolean;
  /** The size in the market's smallest unit, above 0. */
  readonly size: number;
}

/** Fills the whole order against makers other than the user. */
export function fillOrder(scene: Scene, order: Order): void {
  const makers = scene.roster.makers.filter(({ text }) => text !== order.user);
  if (makers.length === 0) return;
  const notional = order.size * scene.state.markets.markPrice(order.marketIndex);
  const sliceCount = Math.min(SLICES_MAX, Math.ceil(notional / SLICE_NOTIONAL), order.size);
  let rest = order.size;
  for (let left = sliceCount; left > 0; left--) {
    const size = Math.ceil(rest / left);
    fillSlice(scene, { ...order, size }, makers);
    rest -= size;
  }
}

function fillSlice(scene: Scene, order: Order, makers: readonly Participant[]): void {
  const { state, random, roster, draft } = scene;
  const { user, marketIndex, isBuy, size } = order;
  const { coin, sizeDecimals, priceDecimals } = state.markets.markets[marketIndex];
  const maker = chooseMaker(scene, order, makers);
  const slippage = random.fraction() * SLIPPAGE_MAX;
  const target = state.markets.markPrice(marketIndex) * (isBuy ? 1 + slippage : 1 - slippage);
  const price = roundPrice(target, priceDecimals);
  const makerFee = MAKER_FEES[roster.makers.indexOf(maker) % MAKER_FEES.length];
  const fill = (trader: string, buys: boolean, feeRate: number) => ({
    type: 'fill' as const,
    user: trader,
    coin,
    side: buys ? 'B' : 'A',
    sz: formatUnits(size, sizeDecimals),
    px: formatUnits(price, priceDecimals),
    fee: formatFee(size, price, feeRate),
  });
  draft.append(fill(user, isBuy, TAKER_FEE));
  draft.append(fill(maker.text, !isBuy, makerFee));
}

function formatFee(size: number, price: number, rate: number): string {
  const fee = divideFloor(multiply(multiply(size, price), rate), FEE_SCALE);
  return formatUnits(fee, USD_DECIMALS);
}

/** Chooses one of two random makers: the maker whose inventory the trade reduces more. */
function chooseMaker(scene: Scene, order: Order, makers: readonly Participant[]): Participant {
  const one = scene.random.pick(makers);
  const other = scene.random.pick(makers);
  const difference =
    inventoryOf(scene, one, order.marketIndex) - inventoryOf(scene, other, order.marketIndex);
  return difference > 0 === order.isBuy ? one : other;
}

/** The maker's signed size in a market. */
function inventoryOf({ state }: Scene, { address }: Participant, marketIndex: number): number {
  const { dexIndex } = state.markets.markets[marketIndex];
  const account = findAccount(state, state.addresses.find(address), dexIndex);
  const position = findPosition(state, account, marketIndex);
  return position === 0 ? 0 : state.positions.get(position, SIZE);
}

/** The net size of all makers in a market. */
export function makersInventory(scene: Scene, marketIndex: number): number {
  return scene.roster.makers.reduce(
    (sum, maker) => sum + inventoryOf(scene, maker, marketIndex),
    0,
  );
}

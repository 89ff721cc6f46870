/**
 * A trade moves a position: it opens or grows one, shrinks one, closes one, or crosses zero, which
 * is a close and then an opening of the rest. What an isolated position gains or loses stays in its
 * own USD leg; a cross position's goes to the account's cash.
 *
 * The steps work on exact copies of the stored amounts; only the result has to fit its cells.
 */

import type { EventOf } from '../events/event.ts';
import { readUnits } from '../events/fields.ts';
import { Refusal } from '../events/refusal.ts';
import {
  add,
  divideFloor,
  type Exact,
  maximum,
  multiply,
  negate,
  subtract,
} from '../exact/decimal.ts';
import {
  CASH,
  ENTRY_NOTIONAL,
  FUNDING_SINCE_CHANGE,
  FUNDING_SINCE_OPEN,
  findOrAddAccount,
  findOrAddPosition,
  isIsolatedTerms,
  leverageOfTerms,
  RAW_USD,
  requireStorable,
  SIZE,
  TERMS,
} from './accounts.ts';
import type { State } from './state.ts';

/** The amounts that a trade changes, and what it needs to know of its market. */
interface Holding {
  cash: Exact;
  rawUsd: Exact;
  entryNotional: Exact;
  size: Exact;
  wasOpened: boolean;
  readonly isIsolated: boolean;
  readonly leverage: number;
  readonly markPrice: number;
}

function readAboveZero(field: string, text: string, decimals: number): number {
  const units = readUnits(field, text, decimals);
  if (units <= 0) throw new Refusal(field, text, 'an amount above 0');
  return units;
}

export function applyFill(state: State, event: EventOf<'fill'>): void {
  const marketIndex = state.markets.requireMarket(event.coin);
  const { dexIndex, sizeDecimals, priceDecimals } = state.markets.markets[marketIndex];
  const size = readAboveZero('sz', event.sz, sizeDecimals);
  const price = readAboveZero('px', event.px, priceDecimals);
  const account = findOrAddAccount(state, event.user, dexIndex);
  const position = findOrAddPosition(state, account, marketIndex);
  const terms = state.positions.get(position, TERMS);
  const holding: Holding = {
    cash: state.accounts.get(account, CASH),
    rawUsd: state.positions.get(position, RAW_USD),
    entryNotional: state.positions.get(position, ENTRY_NOTIONAL),
    size: state.positions.get(position, SIZE),
    wasOpened: false,
    isIsolated: isIsolatedTerms(terms),
    leverage: leverageOfTerms(terms),
    markPrice: state.markets.markPrice(marketIndex),
  };
  trade(holding, event.side === 'B' ? size : -size, price);
  const sizeCause = { field: 'sz', given: event.sz };
  // Where the trade alone would fit, it is the fee that does not.
  const isFeeToBlame = typeof holding.cash === 'number' && typeof holding.rawUsd === 'number';
  const usdCause = isFeeToBlame ? { field: 'fee', given: event.fee } : sizeCause;
  payFrom(holding, event.fee);
  const { positions } = state;
  const entryNotional = requireStorable(holding.entryNotional, 'entryNtl', sizeCause);
  state.accounts.set(account, CASH, requireStorable(holding.cash, 'cash', usdCause));
  positions.set(position, RAW_USD, requireStorable(holding.rawUsd, 'rawUsd', usdCause));
  positions.set(position, ENTRY_NOTIONAL, entryNotional);
  positions.set(position, SIZE, requireStorable(holding.size, 'szi', sizeCause));
  positions.set(position, FUNDING_SINCE_CHANGE, 0);
  if (holding.wasOpened || holding.size === 0) positions.set(position, FUNDING_SINCE_OPEN, 0);
}

function magnitude(amount: Exact): Exact {
  return amount < 0 ? negate(amount) : amount;
}

/** Splits the trade into what closes and what opens. */
function trade(holding: Holding, delta: Exact, price: number): void {
  const { size } = holding;
  if (size === 0 || size > 0 === delta > 0) {
    grow(holding, delta, price);
  } else if (magnitude(delta) < magnitude(size)) {
    shrink(holding, delta, price);
  } else {
    close(holding, price);
    const rest = add(delta, size);
    if (rest !== 0) grow(holding, rest, price);
  }
}

/** Takes USD from the isolated position that is open, otherwise from the cash. */
function payFrom(holding: Holding, amount: Exact): void {
  if (holding.isIsolated && holding.size !== 0) {
    holding.rawUsd = subtract(holding.rawUsd, amount);
  } else {
    holding.cash = subtract(holding.cash, amount);
  }
}

function moveToIsolated(holding: Holding, amount: Exact): void {
  holding.cash = subtract(holding.cash, amount);
  holding.rawUsd = add(holding.rawUsd, amount);
}

/** Opens the position or adds to it. The new part of an isolated one brings its initial margin. */
function grow(holding: Holding, delta: Exact, price: number): void {
  if (holding.size === 0) holding.wasOpened = true;
  if (holding.isIsolated) {
    const marginValue = multiply(magnitude(delta), Math.max(price, holding.markPrice));
    moveToIsolated(holding, divideFloor(marginValue, holding.leverage));
  }
  holding.size = add(holding.size, delta);
  payFrom(holding, multiply(delta, price));
  holding.entryNotional = add(holding.entryNotional, multiply(magnitude(delta), price));
}

/** Takes part of the position away. An isolated one gives back that part of its equity. */
function shrink(holding: Holding, delta: Exact, price: number): void {
  const before = magnitude(holding.size);
  const rest = subtract(before, magnitude(delta));
  if (holding.isIsolated) {
    const equity = add(holding.rawUsd, multiply(holding.size, price));
    const share = multiply(maximum(equity, 0), magnitude(delta));
    moveToIsolated(holding, negate(divideFloor(share, before)));
  }
  payFrom(holding, multiply(delta, price));
  // In doubles, the division first: the exchange's own arithmetic, as its recorded closes show.
  holding.entryNotional = Math.trunc(
    Number(holding.entryNotional) * (Number(rest) / Number(before)),
  );
  holding.size = add(holding.size, delta);
}

/** Closes the position; all that an isolated one is left with, negative too, goes to the cash. */
function close(holding: Holding, price: number): void {
  payFrom(holding, negate(multiply(holding.size, price)));
  moveToIsolated(holding, negate(holding.rawUsd));
  holding.entryNotional = 0;
  holding.size = 0;
}

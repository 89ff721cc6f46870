/**
 * A fill opens, increases, reduces, closes or flips a position. A flip closes the position, and
 * then opens a position with the rest of the size. Gains and losses of an isolated position stay in
 * its raw USD; those of a cross position go to the account's cash.
 *
 * The steps compute with exact amounts of any size; only the results must fit into their cells.
 */

import type { EventOf } from '../events/event.ts';
import { readUnits } from '../events/fields.ts';
import { Refusal } from '../events/refusal.ts';
import {
  add,
  divideFloor,
  type Exact,
  magnitude,
  maximum,
  multiply,
  negate,
  subtract,
} from '../exact/decimal.ts';
import {
  findOrAddAccount,
  findOrAddPosition,
  forgetOwnTiers,
  requireStorable,
} from './accounts.ts';
import { noteAccountChange } from './changed-at.ts';
import type { State } from './state.ts';
import * as column from './tables/columns.ts';
import { isIsolatedTerms, leverageOfTerms } from './tables/columns.ts';

/** The amounts that a fill changes, and the terms that it depends on. */
interface Balances {
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
  const terms = state.positions.get(position, column.TERMS);
  const balances: Balances = {
    cash: state.accounts.get(account, column.CASH),
    rawUsd: state.positions.get(position, column.RAW_USD),
    entryNotional: state.positions.get(position, column.ENTRY_NOTIONAL),
    size: state.positions.get(position, column.SIZE),
    wasOpened: false,
    isIsolated: isIsolatedTerms(terms),
    leverage: leverageOfTerms(terms),
    markPrice: state.markets.markPrice(marketIndex),
  };
  executeTrade(balances, event.side === 'B' ? size : -size, price);
  const sizeCause = { field: 'sz', given: event.sz };
  // If the amounts fit before the fee is paid, the error names the fee.
  const isFeeToBlame = typeof balances.cash === 'number' && typeof balances.rawUsd === 'number';
  const usdCause = isFeeToBlame ? { field: 'fee', given: event.fee } : sizeCause;
  payFrom(balances, event.fee);
  const { positions } = state;
  const entryNotional = requireStorable(balances.entryNotional, 'entryNtl', sizeCause);
  state.accounts.set(account, column.CASH, requireStorable(balances.cash, 'cash', usdCause));
  positions.set(position, column.RAW_USD, requireStorable(balances.rawUsd, 'rawUsd', usdCause));
  positions.set(position, column.ENTRY_NOTIONAL, entryNotional);
  positions.set(position, column.SIZE, requireStorable(balances.size, 'szi', sizeCause));
  positions.set(position, column.FUNDING_SINCE_CHANGE, 0);
  if (balances.wasOpened || balances.size === 0) {
    positions.set(position, column.FUNDING_SINCE_OPEN, 0);
    forgetOwnTiers(positions, position);
  }
  noteAccountChange(state, account);
}

function executeTrade(balances: Balances, delta: Exact, price: number): void {
  const { size } = balances;
  if (size === 0 || size > 0 === delta > 0) {
    increase(balances, delta, price);
  } else if (magnitude(delta) < magnitude(size)) {
    reduce(balances, delta, price);
  } else {
    close(balances, price);
    const rest = add(delta, size);
    if (rest !== 0) increase(balances, rest, price);
  }
}

/** The payment comes from the raw USD of an open isolated position, otherwise from the cash. */
function payFrom(balances: Balances, amount: Exact): void {
  if (balances.isIsolated && balances.size !== 0) {
    balances.rawUsd = subtract(balances.rawUsd, amount);
  } else {
    balances.cash = subtract(balances.cash, amount);
  }
}

function moveToIsolated(balances: Balances, amount: Exact): void {
  balances.cash = subtract(balances.cash, amount);
  balances.rawUsd = add(balances.rawUsd, amount);
}

/**
 * Opens or increases the position. An isolated position receives initial margin for the added size.
 */
function increase(balances: Balances, delta: Exact, price: number): void {
  if (balances.size === 0) balances.wasOpened = true;
  if (balances.isIsolated) {
    const marginValue = multiply(magnitude(delta), Math.max(price, balances.markPrice));
    moveToIsolated(balances, divideFloor(marginValue, balances.leverage));
  }
  balances.size = add(balances.size, delta);
  payFrom(balances, multiply(delta, price));
  balances.entryNotional = add(balances.entryNotional, multiply(magnitude(delta), price));
}

/** Reduces the position. An isolated position returns the same share of its equity to the cash. */
function reduce(balances: Balances, delta: Exact, price: number): void {
  const before = magnitude(balances.size);
  const rest = subtract(before, magnitude(delta));
  if (balances.isIsolated) {
    const equity = add(balances.rawUsd, multiply(balances.size, price));
    const share = multiply(maximum(equity, 0), magnitude(delta));
    moveToIsolated(balances, negate(divideFloor(share, before)));
  }
  payFrom(balances, multiply(delta, price));
  // The exchange computes the cost in doubles and divides first, as recorded closes of positions
  // show.
  balances.entryNotional = Math.trunc(
    Number(balances.entryNotional) * (Number(rest) / Number(before)),
  );
  balances.size = add(balances.size, delta);
}

/**
 * Closes the position. The remaining USD of an isolated position goes to the cash, even if it is
 * negative.
 */
function close(balances: Balances, price: number): void {
  payFrom(balances, negate(multiply(balances.size, price)));
  moveToIsolated(balances, negate(balances.rawUsd));
  balances.entryNotional = 0;
  balances.size = 0;
}

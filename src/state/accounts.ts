/**
 * Accounts and positions: a user's cash and margin on a dex, and the user's holdings in its
 * markets.
 *
 * An account belongs to one user on one dex. Its positions form a list in the order of the dex's
 * markets. A closed position stays in the list with size 0, because its leverage and its all-time
 * funding are needed later.
 */

import type { EventOf } from '../events/event.ts';
import { readUnits, USD_DECIMALS } from '../events/fields.ts';
import { describeValue, prefixRefusal, Refusal } from '../events/refusal.ts';
import { type Address, formatAddress } from '../exact/address.ts';
import { add, type Exact, formatUnits, subtract } from '../exact/decimal.ts';
import { FIRST_ACCOUNT } from './addresses.ts';
import { noteAccountChange } from './changed-at.ts';
import type { State, StateView } from './state.ts';
import * as column from './tables/columns.ts';
import {
  isIsolatedTerms,
  marketOfTerms,
  OWN_TIERS,
  packTerms,
  tierTableOfTerms,
  withMarketTiers,
} from './tables/columns.ts';
import type { Table } from './tables/table.ts';

const LEVERAGE_DEFAULT = 20;

/** Returns the row of an address's account on a dex; returns 0 if there is no account. */
export function findAccount(state: StateView, addressRow: number, dexIndex: number): number {
  let account = state.addresses.table.get(addressRow, FIRST_ACCOUNT);
  while (account !== 0 && state.accounts.get(account, column.ACCOUNT_DEX) < dexIndex) {
    account = state.accounts.get(account, column.NEXT_ACCOUNT);
  }
  return account !== 0 && state.accounts.get(account, column.ACCOUNT_DEX) === dexIndex
    ? account
    : 0;
}

export function findOrAddAccount(state: State, user: Address, dexIndex: number): number {
  const addressRow = state.addresses.findOrAdd(user);
  const { accounts } = state;
  let before = 0;
  let account = state.addresses.table.get(addressRow, FIRST_ACCOUNT);
  while (account !== 0 && accounts.get(account, column.ACCOUNT_DEX) < dexIndex) {
    before = account;
    account = accounts.get(account, column.NEXT_ACCOUNT);
  }
  if (account !== 0 && accounts.get(account, column.ACCOUNT_DEX) === dexIndex) return account;
  const added = accounts.addRow();
  accounts.set(added, column.ACCOUNT_DEX, dexIndex);
  accounts.set(added, column.NEXT_ACCOUNT, account);
  if (before === 0) state.addresses.table.set(addressRow, FIRST_ACCOUNT, added);
  else accounts.set(before, column.NEXT_ACCOUNT, added);
  state.changes.noteAddress(addressRow);
  // On a partial ledger the account was unknown before, which is not the same as empty.
  noteAccountChange(state, added);
  return added;
}

/**
 * Returns the row of the account's position in a market, open or closed; returns 0 if the account
 * never had a position there.
 */
export function findPosition(state: StateView, account: number, marketIndex: number): number {
  const { positions } = state;
  let position = state.accounts.get(account, column.FIRST_POSITION);
  while (position !== 0) {
    const found = marketOfTerms(positions.get(position, column.TERMS));
    if (found >= marketIndex) return found === marketIndex ? position : 0;
    position = positions.get(position, column.NEXT_POSITION);
  }
  return 0;
}

/**
 * Returns the row of the account's position in a market, and adds the position if there is none. A
 * new position gets the default leverage, which later changes of the market do not affect. If
 * `after` is a position of the account in an earlier market, the search starts after this position.
 */
export function findOrAddPosition(
  state: State,
  account: number,
  marketIndex: number,
  after = 0,
): number {
  const { positions } = state;
  let before = after;
  let position =
    after === 0
      ? state.accounts.get(account, column.FIRST_POSITION)
      : positions.get(after, column.NEXT_POSITION);
  while (position !== 0) {
    const found = marketOfTerms(positions.get(position, column.TERMS));
    if (found === marketIndex) return position;
    if (found > marketIndex) break;
    before = position;
    position = positions.get(position, column.NEXT_POSITION);
  }
  const added = positions.addRow();
  positions.set(added, column.TERMS, defaultTerms(state, marketIndex));
  positions.set(added, column.NEXT_POSITION, position);
  if (before === 0) state.accounts.set(account, column.FIRST_POSITION, added);
  else positions.set(before, column.NEXT_POSITION, added);
  return added;
}

export function countOpenPositions({ accounts, positions }: StateView, account: number): number {
  let count = 0;
  let row = accounts.get(account, column.FIRST_POSITION);
  for (; row !== 0; row = positions.get(row, column.NEXT_POSITION)) {
    if (positions.get(row, column.SIZE) !== 0) count++;
  }
  return count;
}

function defaultTerms(state: State, marketIndex: number): number {
  const { tiers, onlyIsolated } = state.markets.markets[marketIndex];
  const leverage = Math.min(LEVERAGE_DEFAULT, tiers[0].maxLeverage);
  return packTerms(marketIndex, leverage, onlyIsolated ? 'isolated' : 'cross');
}

/**
 * The field that an error names if an amount gets too large, and its value: USD in its smallest
 * unit, or text.
 */
export interface Cause {
  readonly field: string;
  readonly given: number | string;
}

/**
 * Returns the amount as a number. Amounts are stored as safe integers, so a larger amount is
 * refused.
 */
export function requireStorable(amount: Exact, name: string, { field, given }: Cause): number {
  if (typeof amount === 'number') return amount;
  const shown = typeof given === 'number' ? formatUnits(given, USD_DECIMALS) : given;
  throw new Refusal(field, shown, `a value that keeps the ${name} within ±2^53 units`);
}

export function applyTransfer(state: State, { user, dex, amount }: EventOf<'transfer'>): void {
  const account = findOrAddAccount(state, user, state.markets.requireDex(dex));
  const cash = add(state.accounts.get(account, column.CASH), amount);
  const cause = { field: 'amount', given: amount };
  setAmount(state, account, column.CASH, requireStorable(cash, 'cash', cause));
}

/** Writes an amount of an account. Writing the same amount again does not count as a change. */
function setAmount(state: State, account: number, column: number, amount: number): void {
  if (state.accounts.get(account, column) === amount) return;
  state.accounts.set(account, column, amount);
  noteAccountChange(state, account);
}

export function applyOrderMargin(
  state: State,
  { user, dex, amount }: EventOf<'orderMargin'>,
): void {
  const account = findOrAddAccount(state, user, state.markets.requireDex(dex));
  setAmount(state, account, column.ORDER_MARGIN, amount);
}

export function applyCollateral(state: State, { user, dex, amount }: EventOf<'collateral'>): void {
  const account = findOrAddAccount(state, user, state.markets.requireDex(dex));
  setAmount(state, account, column.COLLATERAL, amount);
}

export function applyLeverage(state: State, event: EventOf<'leverage'>): void {
  const { user, coin, mode, value } = event;
  const marketIndex = state.markets.requireMarket(coin);
  const { dexIndex, onlyIsolated } = state.markets.markets[marketIndex];
  if (mode === 'cross' && onlyIsolated) {
    throw new Refusal('mode', mode, `isolated, the only mode of ${coin}`);
  }
  const account = findOrAddAccount(state, user, dexIndex);
  const position = findOrAddPosition(state, account, marketIndex);
  const termsNow = state.positions.get(position, column.TERMS);
  const [{ maxLeverage }] = state.markets.tiersOf(termsNow);
  if (value > maxLeverage) {
    throw new Refusal('value', value, `a whole number from 1 to ${maxLeverage}`);
  }
  const modeNow = isIsolatedTerms(termsNow) ? 'isolated' : 'cross';
  if (mode !== modeNow && state.positions.get(position, column.SIZE) !== 0) {
    throw new Refusal('mode', mode, `${modeNow} while the position is open`);
  }
  const terms = packTerms(marketIndex, value, mode, tierTableOfTerms(termsNow));
  if (terms === termsNow) return;
  state.positions.set(position, column.TERMS, terms);
  // No answer shows the leverage of a closed position.
  if (state.positions.get(position, column.SIZE) !== 0) noteAccountChange(state, account);
}

/**
 * Returns the user's open position in a market. Refuses the event if the user has no open position
 * there.
 */
function requireOpenPosition(state: State, user: Address, marketIndex: number, field: string) {
  const { dexIndex, coin } = state.markets.markets[marketIndex];
  const account = findAccount(state, state.addresses.find(user), dexIndex);
  const position = account === 0 ? 0 : findPosition(state, account, marketIndex);
  if (position === 0 || state.positions.get(position, column.SIZE) === 0) {
    throw new Refusal(field, formatAddress(user), `a user with an open position in ${coin}`);
  }
  return { account, position };
}

export function applyIsolatedMargin(state: State, event: EventOf<'isolatedMargin'>): void {
  const { user, coin, amount } = event;
  const marketIndex = state.markets.requireMarket(coin);
  const { account, position } = requireOpenPosition(state, user, marketIndex, 'user');
  if (!isIsolatedTerms(state.positions.get(position, column.TERMS))) {
    throw new Refusal('coin', coin, 'a coin in which the position is isolated');
  }
  const cash = subtract(state.accounts.get(account, column.CASH), amount);
  const rawUsd = add(state.positions.get(position, column.RAW_USD), amount);
  const cause = { field: 'amount', given: amount };
  state.accounts.set(account, column.CASH, requireStorable(cash, 'cash', cause));
  state.positions.set(position, column.RAW_USD, requireStorable(rawUsd, 'rawUsd', cause));
  noteAccountChange(state, account);
}

export function applyFunding(state: State, { coin, payments }: EventOf<'funding'>): void {
  const marketIndex = state.markets.requireMarket(coin);
  let index = 0;
  try {
    for (; index < payments.length; index++) pay(state, marketIndex, payments[index]);
  } catch (error) {
    throw error instanceof Refusal ? prefixRefusal(`payments[${index}]`, error) : error;
  }
}

const FUNDING_COLUMNS = [
  column.FUNDING_ALL_TIME,
  column.FUNDING_SINCE_OPEN,
  column.FUNDING_SINCE_CHANGE,
];

function pay(state: State, marketIndex: number, payment: EventOf<'funding'>['payments'][0]): void {
  const { user, amount } = payment;
  const { positions, accounts } = state;
  const { account, position } = requireOpenPosition(state, user, marketIndex, '[0]');
  const cause = { field: '[1]', given: amount };
  if (isIsolatedTerms(positions.get(position, column.TERMS))) {
    const rawUsd = subtract(positions.get(position, column.RAW_USD), amount);
    positions.set(position, column.RAW_USD, requireStorable(rawUsd, 'rawUsd', cause));
  } else {
    const cash = subtract(accounts.get(account, column.CASH), amount);
    accounts.set(account, column.CASH, requireStorable(cash, 'cash', cause));
  }
  for (const column of FUNDING_COLUMNS) {
    const paid = add(positions.get(position, column), amount);
    positions.set(position, column, requireStorable(paid, 'cumFunding', cause));
  }
  if (amount !== 0) noteAccountChange(state, account);
}

/** Closes a position. Only its market, its leverage, its mode and its all-time funding stay. */
function clearPosition(positions: Table, position: number): void {
  positions.set(position, column.SIZE, 0);
  positions.set(position, column.ENTRY_NOTIONAL, 0);
  positions.set(position, column.RAW_USD, 0);
  positions.set(position, column.FUNDING_SINCE_OPEN, 0);
  positions.set(position, column.FUNDING_SINCE_CHANGE, 0);
  forgetOwnTiers(positions, position);
}

/**
 * Replaces a position's own margin tiers by the tiers of its market. The position's own tiers end
 * when it closes: the next position in the market has the market's tiers.
 */
export function forgetOwnTiers(positions: Table, position: number): void {
  const terms = positions.get(position, column.TERMS);
  if (terms < OWN_TIERS) return;
  positions.set(position, column.TERMS, withMarketTiers(terms));
}

export function applyAccount(state: State, event: EventOf<'account'>, time: number): void {
  const dexIndex = state.markets.requireDex(event.dex);
  const account = findOrAddAccount(state, event.user, dexIndex);
  state.accounts.set(account, column.CASH, event.rawUsd);
  state.accounts.set(account, column.ACCOUNT_TIME, time);
  noteAccountChange(state, account);
  const { positions } = state;
  let position = state.accounts.get(account, column.FIRST_POSITION);
  for (; position !== 0; position = positions.get(position, column.NEXT_POSITION)) {
    clearPosition(positions, position);
  }
  setPositions(state, account, event.positions);
}

/** Adds positions to an account that an `account` event of the same block has set. */
export function applyMorePositions(state: State, event: EventOf<'account'>): void {
  const account = findOrAddAccount(state, event.user, state.markets.requireDex(event.dex));
  setPositions(state, account, event.positions);
}

type GivenPositions = EventOf<'account'>['positions'];

function setPositions(state: State, account: number, given: GivenPositions): void {
  const dexIndex = state.accounts.get(account, column.ACCOUNT_DEX);
  let index = 0;
  let last = 0;
  try {
    for (; index < given.length; index++) {
      last = setPosition(state, { account, dexIndex, given: given[index], last });
    }
  } catch (error) {
    throw error instanceof Refusal ? prefixRefusal(`positions[${index}]`, error) : error;
  }
}

interface PositionUpdate {
  account: number;
  dexIndex: number;
  given: GivenPositions[0];
  /** The position that comes before this position in the event, or 0. */
  last: number;
}

/**
 * Sets a position of the account, and returns its row. The search for the row is short if the event
 * lists the positions in the order of the markets.
 */
function setPosition(state: State, { account, dexIndex, given, last }: PositionUpdate): number {
  const { positions, markets } = state;
  const { coin, szi, entryNtl, leverage, cumFunding, marginTiers } = given;
  const marketIndex = markets.requireMarket(coin);
  const market = markets.markets[marketIndex];
  if (market.dexIndex !== dexIndex) {
    throw new Refusal('coin', coin, `a coin of dex ${describeValue(markets.dexes[dexIndex].name)}`);
  }
  const size = readUnits('szi', szi, market.sizeDecimals);
  if (size === 0) throw new Refusal('szi', szi, 'a size that is not 0');
  const isLater = marketOfTerms(positions.get(last, column.TERMS)) < marketIndex;
  const position = findOrAddPosition(state, account, marketIndex, isLater ? last : 0);
  if (positions.get(position, column.SIZE) !== 0) throw new Refusal('coin', coin, 'each coin once');
  const tierTable = marginTiers === undefined ? 0 : markets.tierTables.findOrAdd(marginTiers);
  const terms = packTerms(marketIndex, leverage.value, leverage.type, tierTable);
  positions.set(position, column.TERMS, terms);
  positions.set(position, column.SIZE, size);
  positions.set(position, column.ENTRY_NOTIONAL, entryNtl);
  positions.set(position, column.RAW_USD, leverage.rawUsd);
  positions.set(position, column.FUNDING_ALL_TIME, cumFunding.allTime);
  positions.set(position, column.FUNDING_SINCE_OPEN, cumFunding.sinceOpen);
  positions.set(position, column.FUNDING_SINCE_CHANGE, cumFunding.sinceChange);
  return position;
}

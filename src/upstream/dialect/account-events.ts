/**
 * Describes the rows of an account as events, and finds the differences between the rows and the
 * ledger.
 */

import type { WireEvent } from '../../events/event.ts';
import { USD_DECIMALS } from '../../events/fields.ts';
import { type Address, formatAddress } from '../../exact/address.ts';
import { formatUnits } from '../../exact/decimal.ts';
import { countOpenPositions, findAccount, findPosition } from '../../state/accounts.ts';
import type { StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import { isIsolatedTerms, leverageOfTerms, tierTableOfTerms } from '../../state/tables/columns.ts';
import type { AccountRows, PositionRow } from './account-answer.ts';
import { describeTiers, isSameTable, type TierTable } from './margin-tables.ts';

function usdText(units: number): string {
  return formatUnits(units, USD_DECIMALS);
}

export function describeAccountRows(
  user: string,
  { dex, cash, positions }: AccountRows,
): WireEvent {
  return {
    type: 'account',
    user,
    dex,
    rawUsd: usdText(cash),
    positions: positions.map(describeRow),
  };
}

export function describeOrderMargin(user: string, { dex, orderMargin }: AccountRows): WireEvent {
  return { type: 'orderMargin', user, dex, amount: usdText(orderMargin) };
}

export function describeCollateral(user: string, { dex, collateral }: AccountRows): WireEvent {
  return { type: 'collateral', user, dex, amount: usdText(collateral) };
}

function describeRow({ market, size, mode, leverage, rawUsd, ...row }: PositionRow) {
  return {
    coin: market.coin,
    szi: formatUnits(size, market.sizeDecimals),
    entryNtl: usdText(row.entryNotional),
    leverage:
      mode === 'cross'
        ? { type: mode, value: leverage }
        : { type: mode, value: leverage, rawUsd: usdText(rawUsd) },
    cumFunding: {
      allTime: usdText(row.fundingAllTime),
      sinceOpen: usdText(row.fundingSinceOpen),
      sinceChange: usdText(row.fundingSinceChange),
    },
    ...(row.ownTiers === undefined ? {} : { marginTiers: describeTiers(row.ownTiers) }),
  };
}

/** Returns the account's row in the ledger; returns 0 if no event has named the account. */
function rowOf(ledger: StateView, user: Address, dex: string): number {
  const dexIndex = ledger.markets.findDex(dex);
  return dexIndex === undefined ? 0 : findAccount(ledger, ledger.addresses.find(user), dexIndex);
}

/**
 * Returns the recorded collateral outside of the account, in millionths; returns 0 if no event has
 * named the account.
 */
export function recordedCollateral(ledger: StateView, user: Address, dex: string): number {
  return ledger.accounts.get(rowOf(ledger, user, dex), column.COLLATERAL);
}

/**
 * Returns each field that differs from the ledger once; returns none if the ledger does not have
 * the account.
 */
export function findDifferences(ledger: StateView, user: Address, rows: AccountRows): string[] {
  const account = rowOf(ledger, user, rows.dex);
  return account === 0 ? [] : findChanges(ledger, account, rows);
}

/** Compares with row 0 if no event has named the account: all cells of row 0 are zero. */
function findChanges(ledger: StateView, account: number, rows: AccountRows): string[] {
  const changed = new Set<string>();
  if (ledger.accounts.get(account, column.CASH) !== rows.cash) changed.add('rawUsd');
  for (const row of rows.positions) addPositionChanges(ledger, account, row, changed);
  if (countOpenPositions(ledger, account) !== rows.positions.length) changed.add('positions');
  if (isOrderMarginNew(ledger, account, rows)) changed.add('orderMargin');
  if (ledger.accounts.get(account, column.COLLATERAL) !== rows.collateral) {
    changed.add('collateral');
  }
  return [...changed];
}

/** If `rows` has only the smallest possible order margin, a larger recorded amount may be right. */
function isOrderMarginNew(ledger: StateView, account: number, rows: AccountRows): boolean {
  const recorded = ledger.accounts.get(account, column.ORDER_MARGIN);
  return rows.isOrderMarginExact ? recorded !== rows.orderMargin : recorded < rows.orderMargin;
}

/** The name of the event's field, the stored column, and the value in the row. */
const POSITION_FIELDS: readonly [string, number, (row: PositionRow) => number][] = [
  ['szi', column.SIZE, ({ size }) => size],
  ['entryNtl', column.ENTRY_NOTIONAL, ({ entryNotional }) => entryNotional],
  ['leverage.rawUsd', column.RAW_USD, ({ rawUsd }) => rawUsd],
  ['cumFunding.allTime', column.FUNDING_ALL_TIME, ({ fundingAllTime }) => fundingAllTime],
  ['cumFunding.sinceOpen', column.FUNDING_SINCE_OPEN, ({ fundingSinceOpen }) => fundingSinceOpen],
  [
    'cumFunding.sinceChange',
    column.FUNDING_SINCE_CHANGE,
    ({ fundingSinceChange }) => fundingSinceChange,
  ],
];

function addPositionChanges(
  ledger: StateView,
  account: number,
  row: PositionRow,
  changed: Set<string>,
): void {
  const position = openPositionOf(ledger, account, row.market.coin);
  if (position === 0) {
    changed.add('positions');
    return;
  }
  for (const [field, cell, read] of POSITION_FIELDS) {
    if (ledger.positions.get(position, cell) !== read(row)) changed.add(field);
  }
  const terms = ledger.positions.get(position, column.TERMS);
  const isSameMode = isIsolatedTerms(terms) === (row.mode === 'isolated');
  if (!isSameMode || leverageOfTerms(terms) !== row.leverage) changed.add('leverage');
  if (!isSameTable(ownTiersOf(ledger, terms), row.ownTiers)) changed.add('marginTiers');
}

/**
 * Returns the position's separate tiers; returns undefined if the market's tiers apply to the
 * position.
 */
function ownTiersOf(ledger: StateView, terms: number): TierTable | undefined {
  return tierTableOfTerms(terms) === 0 ? undefined : ledger.markets.tiersOf(terms);
}

/** Returns the recorded separate tiers of the open positions in the rows, by coin. */
export function recordedTiers(
  ledger: StateView,
  user: Address,
  { dex, positions }: AccountRows,
): Map<string, TierTable> {
  const account = rowOf(ledger, user, dex);
  const tables = new Map<string, TierTable>();
  for (const { market } of positions) {
    const position = openPositionOf(ledger, account, market.coin);
    const own = ownTiersOf(ledger, ledger.positions.get(position, column.TERMS));
    if (position !== 0 && own !== undefined) tables.set(market.coin, own);
  }
  return tables;
}

/** Returns the row of the open position; returns 0 if the position is not open. */
function openPositionOf(ledger: StateView, account: number, coin: string): number {
  const marketIndex = ledger.markets.findMarket(coin);
  const position = marketIndex === undefined ? 0 : findPosition(ledger, account, marketIndex);
  return ledger.positions.get(position, column.SIZE) === 0 ? 0 : position;
}

/**
 * The fields that funding changes. Every account with a position pays or receives funding after
 * each full hour.
 */
const FUNDING_FIELDS: readonly string[] = [
  'rawUsd',
  'leverage.rawUsd',
  'cumFunding.allTime',
  'cumFunding.sinceOpen',
  'cumFunding.sinceChange',
];

export function isExplainedByFunding(field: string): boolean {
  return FUNDING_FIELDS.includes(field);
}

/**
 * How many of the shared positions show funding that the ledger does not have. A shared position is
 * both in the ledger and in the rows. Undefined if there are no shared positions.
 */
export type Booking = 'all' | 'some' | 'none' | undefined;

export function findBooking(ledger: StateView, user: Address, rows: AccountRows): Booking {
  const account = rowOf(ledger, user, rows.dex);
  let [same, moved] = [0, 0];
  for (const { market, fundingAllTime } of rows.positions) {
    const marketIndex = ledger.markets.findMarket(market.coin);
    const position = marketIndex === undefined ? 0 : findPosition(ledger, account, marketIndex);
    if (position === 0 || ledger.positions.get(position, column.SIZE) === 0) continue;
    if (ledger.positions.get(position, column.FUNDING_ALL_TIME) === fundingAllTime) same++;
    else moved++;
  }
  if (same + moved === 0) return undefined;
  if (moved === 0) return 'none';
  return same === 0 ? 'all' : 'some';
}

/** Fields that have their own events. The event `account` sets all other fields. */
const SET_APART: readonly string[] = ['orderMargin', 'collateral'];

/**
 * Returns the events that make the ledger's account equal to the rows, and that confirm the rows at
 * their time. Returns no events if the ledger has a later version of the account: a server that
 * stalls gives old answers. First add the markets that the ledger does not have, with
 * `describeMarketChanges` and the prices of the rows.
 */
export function describeAccountChanges(
  ledger: StateView,
  user: Address,
  rows: AccountRows,
): WireEvent[] {
  const { dex, time } = rows;
  const account = rowOf(ledger, user, dex);
  if (time < ledger.accounts.get(account, column.ACCOUNT_TIME)) return [];
  const changed = findChanges(ledger, account, rows);
  const name = formatAddress(user);
  const events: WireEvent[] = [];
  if (account === 0 || changed.some((field) => !SET_APART.includes(field))) {
    events.push(describeAccountRows(name, rows));
  }
  if (changed.includes('orderMargin')) events.push(describeOrderMargin(name, rows));
  if (changed.includes('collateral')) events.push(describeCollateral(name, rows));
  return [...events, { type: 'accountTime', user: name, dex, time }];
}

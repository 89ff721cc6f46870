/**
 * The height of the block that last changed a part of the state. Every input of an answer has such
 * a height, so an unchanged answer is recognized without writing the answer.
 *
 * A height may be too late, because an event may write the same value again. It is never too early.
 */

import type { Address } from '../exact/address.ts';
import { DELEGATIONS_CHANGED_AT } from './addresses.ts';
import { orderChangedAt } from './market-order.ts';
import type { State, StateView } from './state.ts';
import * as column from './tables/columns.ts';
import { marketOfTerms } from './tables/columns.ts';

/** Notes that the current block changes the account, or one of its positions. */
export function noteAccountChange(state: State, account: number): void {
  const height = state.height + 1;
  if (state.accounts.get(account, column.ACCOUNT_CHANGED_AT) === height) return;
  state.accounts.set(account, column.ACCOUNT_CHANGED_AT, height);
  state.changes.noteAccount(account);
}

/**
 * Notes that the current block changes the delegations of a user. The ledger must contain the user.
 */
export function noteDelegationsChange(state: State, user: Address): void {
  const { addresses, changes, height } = state;
  const row = addresses.find(user);
  addresses.table.set(row, DELEGATIONS_CHANGED_AT, height + 1);
  changes.noteAddress(row);
}

/**
 * Returns the height of the last change of the answer about an account. The figures depend on the
 * account's rows, and on the mark prices and terms of the markets in which it has open positions.
 * The order of the positions depends on the universe.
 */
export function accountChangedAt(state: StateView, account: number): number {
  const { accounts, positions, markets } = state;
  const ordered = orderChangedAt(state, accounts.get(account, column.ACCOUNT_DEX));
  let changedAt = Math.max(accounts.get(account, column.ACCOUNT_CHANGED_AT), ordered);
  let position = accounts.get(account, column.FIRST_POSITION);
  // The search may end early, because no change is later than the newest block.
  for (
    ;
    position !== 0 && changedAt < state.height;
    position = positions.get(position, column.NEXT_POSITION)
  ) {
    if (positions.get(position, column.SIZE) === 0) continue;
    const marketIndex = marketOfTerms(positions.get(position, column.TERMS));
    changedAt = Math.max(changedAt, markets.changedAt(marketIndex));
  }
  return changedAt;
}

/**
 * The height of the last change of an address's delegations; 0 if the address never had
 * delegations.
 */
export function delegationsChangedAt({ addresses }: StateView, addressRow: number): number {
  return addresses.table.get(addressRow, DELEGATIONS_CHANGED_AT);
}

function universeChangedAt({ universes }: StateView, dexIndex: number): number {
  return universes.byDex.get(dexIndex)?.changedAt ?? 0;
}

/**
 * The height of the last change of the terms of a dex's markets, or of the list of these markets.
 */
export function termsChangedAt(state: StateView, dexIndex: number): number {
  const { markets } = state;
  let changedAt = universeChangedAt(state, dexIndex);
  for (const [index, market] of markets.markets.entries()) {
    if (market.dexIndex === dexIndex)
      changedAt = Math.max(changedAt, markets.termsChangedAt(index));
  }
  return changedAt;
}

/** The height of the last change of the terms or marks of a dex's markets. */
export function marketsChangedAt(state: StateView, dexIndex: number): number {
  const { markets } = state;
  let changedAt = universeChangedAt(state, dexIndex);
  for (const [index, market] of markets.markets.entries()) {
    if (market.dexIndex === dexIndex) changedAt = Math.max(changedAt, markets.changedAt(index));
  }
  return changedAt;
}

/** The height of the last change of the list of dexes, or of the terms of any market. */
export function allTermsChangedAt({ markets, universes }: StateView): number {
  let changedAt = Math.max(markets.dexesChangedAt, universes.dexes?.changedAt ?? 0);
  for (const universe of universes.byDex.values()) {
    changedAt = Math.max(changedAt, universe.changedAt);
  }
  for (const index of markets.markets.keys()) {
    changedAt = Math.max(changedAt, markets.termsChangedAt(index));
  }
  return changedAt;
}

/** The height of the last change of the dexes, or of the order of their markets. */
export function listsChangedAt({ markets, universes }: StateView): number {
  let changedAt = Math.max(markets.dexesChangedAt, universes.dexes?.changedAt ?? 0);
  for (const { orderedAt } of universes.byDex.values()) {
    changedAt = Math.max(changedAt, orderedAt);
  }
  return changedAt;
}

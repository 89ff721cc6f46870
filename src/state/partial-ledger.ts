/**
 * Says which accounts and delegations a partial ledger contains, and how old they are. On a partial
 * ledger, an account or a list of delegations that no event has named is unknown, not empty. Some
 * events give the time at which an account or a list was last read as a whole.
 */

import type { EventOf } from '../events/event.ts';
import { Refusal } from '../events/refusal.ts';
import { type Address, formatAddress } from '../exact/address.ts';
import { findAccount } from './accounts.ts';
import { DELEGATIONS_SEEN } from './addresses.ts';
import type { State, StateView } from './state.ts';
import { ACCOUNT_TIME } from './tables/columns.ts';

/** True if an event has named the user's account on the dex. */
export function isAccountKnown(state: StateView, user: Address, dexIndex: number): boolean {
  return findAccount(state, state.addresses.find(user), dexIndex) !== 0;
}

/**
 * The time at which the account was last read as a whole, in milliseconds; 0 if it was never read
 * as a whole.
 */
export function accountTime(state: StateView, user: Address, dexIndex: number): number {
  const account = findAccount(state, state.addresses.find(user), dexIndex);
  return state.accounts.get(account, ACCOUNT_TIME);
}

/** True if an event has named the user's delegations. */
export function areDelegationsKnown(state: StateView, user: Address): boolean {
  return delegationsSeen(state, user) !== 0;
}

/**
 * The time at which the list of delegations was last read as a whole, in milliseconds; 0 if it was
 * never read as a whole.
 */
export function delegationsTime(state: StateView, user: Address): number {
  return Math.max(0, delegationsSeen(state, user) - 1);
}

/** Returns one more than `delegationsTime`, so that 0 is left for delegations that are unknown. */
function delegationsSeen(state: StateView, user: Address): number {
  return state.addresses.table.get(state.addresses.find(user), DELEGATIONS_SEEN);
}

/** Notes that an event has named the user's delegations, without listing all of them. */
export function noteDelegations(state: State, user: Address): void {
  const row = state.addresses.findOrAdd(user);
  if (state.addresses.table.get(row, DELEGATIONS_SEEN) === 0) {
    state.addresses.table.set(row, DELEGATIONS_SEEN, 1);
  }
}

/** Notes that an event has listed all of the user's delegations. */
export function noteDelegationsRead(state: State, user: Address, time: number): void {
  const row = state.addresses.findOrAdd(user);
  state.addresses.table.set(row, DELEGATIONS_SEEN, time + 1);
  state.changes.noteAddress(row);
}

/**
 * Sets the time at which an account was read. This time is more exact than the time of an `account`
 * event. If the account has not changed, there may be no `account` event.
 */
export function applyAccountTime(
  state: State,
  event: EventOf<'accountTime'>,
  blockTime: number,
): void {
  const { user, dex, time } = event;
  const dexIndex = state.markets.requireDex(dex);
  const account = findAccount(state, state.addresses.find(user), dexIndex);
  if (account === 0) {
    const expected = 'a user whose account on the dex an earlier event has named';
    throw new Refusal('user', formatAddress(user), expected);
  }
  if (time > blockTime) {
    throw new Refusal('time', time, `at most ${blockTime}, the time of the block`);
  }
  state.accounts.set(account, ACCOUNT_TIME, time);
  // The figures have not changed, but push also sends the later time at which they were confirmed.
  state.changes.noteAccount(account);
}

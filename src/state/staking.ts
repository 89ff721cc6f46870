/**
 * Delegations: the amounts that users have staked with validators, one list per user in order of
 * creation. A delegation whose amount becomes 0 is removed, and its row is used again.
 */

import type { EventOf } from '../events/event.ts';
import { STAKE_DECIMALS } from '../events/fields.ts';
import { prefixRefusal, Refusal } from '../events/refusal.ts';
import { type Address, formatAddress } from '../exact/address.ts';
import { BIG_UNITS_MAX, formatUnits } from '../exact/decimal.ts';
import { FIRST_DELEGATION } from './addresses.ts';
import { noteDelegationsChange } from './changed-at.ts';
import { noteDelegations, noteDelegationsRead } from './partial-ledger.ts';
import type { State, StateView } from './state.ts';

/** The columns of a delegation row. The amount is 64 bits wide: two cells of 32 bits. */
export const VALIDATOR = 0;
const AMOUNT_HIGH = 1;
const AMOUNT_LOW = 2;
export const LOCKED_UNTIL = 3;
/** The user's next delegation; 0 at the end of the list. */
export const NEXT_DELEGATION = 4;
/**
 * The user's previous delegation. The first delegation links to the last delegation, so that
 * appending needs no search.
 */
export const PREVIOUS_DELEGATION = 5;

/** Row 0 contains no delegation; its NEXT_DELEGATION is the head of the list of free rows. */
const FREE_ROWS = 0;

const LOCK_MS = 86_400_000;

type DelegationEvent = EventOf<'delegate'>;

export function delegatedAmount(state: StateView, row: number): bigint {
  const high = BigInt(state.delegations.get(row, AMOUNT_HIGH));
  return (high << 32n) | BigInt(state.delegations.get(row, AMOUNT_LOW));
}

function setAmount(state: State, row: number, amount: bigint): void {
  state.delegations.set(row, AMOUNT_HIGH, Number(amount >> 32n));
  state.delegations.set(row, AMOUNT_LOW, Number(amount & 0xffff_ffffn));
}

/** Returns the row of a user's delegation to a validator; returns 0 if there is none. */
function findDelegation(state: State, user: Address, validator: Address): number {
  const userRow = state.addresses.find(user);
  const validatorRow = state.addresses.find(validator);
  if (userRow === 0 || validatorRow === 0) return 0;
  let row = state.addresses.table.get(userRow, FIRST_DELEGATION);
  while (row !== 0 && state.delegations.get(row, VALIDATOR) !== validatorRow) {
    row = state.delegations.get(row, NEXT_DELEGATION);
  }
  return row;
}

function takeFreeRow(state: State): number {
  const { delegations } = state;
  const row = delegations.get(FREE_ROWS, NEXT_DELEGATION);
  if (row === 0) return delegations.addRow();
  delegations.set(FREE_ROWS, NEXT_DELEGATION, delegations.get(row, NEXT_DELEGATION));
  return row;
}

/** Adds a delegation at the end of the user's list, and returns its row. */
function addDelegation(state: State, user: Address, validator: Address): number {
  const { addresses, delegations } = state;
  const userRow = addresses.findOrAdd(user);
  const validatorRow = addresses.findOrAdd(validator);
  const row = takeFreeRow(state);
  delegations.set(row, VALIDATOR, validatorRow);
  delegations.set(row, NEXT_DELEGATION, 0);
  const first = addresses.table.get(userRow, FIRST_DELEGATION);
  if (first === 0) {
    addresses.table.set(userRow, FIRST_DELEGATION, row);
    delegations.set(row, PREVIOUS_DELEGATION, row);
  } else {
    const last = delegations.get(first, PREVIOUS_DELEGATION);
    delegations.set(last, NEXT_DELEGATION, row);
    delegations.set(row, PREVIOUS_DELEGATION, last);
    delegations.set(first, PREVIOUS_DELEGATION, row);
  }
  return row;
}

function removeDelegation(state: State, user: Address, row: number): void {
  const { addresses, delegations } = state;
  const userRow = addresses.find(user);
  const first = addresses.table.get(userRow, FIRST_DELEGATION);
  const next = delegations.get(row, NEXT_DELEGATION);
  const previous = delegations.get(row, PREVIOUS_DELEGATION);
  if (row === first) addresses.table.set(userRow, FIRST_DELEGATION, next);
  else delegations.set(previous, NEXT_DELEGATION, next);
  const after = next === 0 && row !== first ? first : next;
  if (after !== 0) delegations.set(after, PREVIOUS_DELEGATION, previous);
  delegations.set(row, NEXT_DELEGATION, delegations.get(FREE_ROWS, NEXT_DELEGATION));
  delegations.set(FREE_ROWS, NEXT_DELEGATION, row);
}

/** Adds to the amount of a delegation. Refuses the event if the sum does not fit into 64 bits. */
function addAmount(state: State, row: number, amount: bigint): void {
  const sum = delegatedAmount(state, row) + amount;
  if (sum > BIG_UNITS_MAX) {
    const limit = formatUnits(BIG_UNITS_MAX, STAKE_DECIMALS);
    const expected = `an amount that keeps the delegation within ${limit}`;
    throw new Refusal('amount', formatUnits(amount, STAKE_DECIMALS), expected);
  }
  setAmount(state, row, sum);
}

function requireDelegation(state: State, { user, validator }: DelegationEvent): number {
  const row = findDelegation(state, user, validator);
  if (row !== 0) return row;
  const expected = `a validator that ${formatAddress(user)} has delegated to`;
  throw new Refusal('validator', formatAddress(validator), expected);
}

export function applyDelegate(state: State, event: EventOf<'delegate'>, time: number): void {
  const { user, validator, amount } = event;
  noteDelegations(state, user);
  const found = findDelegation(state, user, validator);
  const row = found === 0 ? addDelegation(state, user, validator) : found;
  if (found === 0) setAmount(state, row, 0n);
  addAmount(state, row, amount);
  state.delegations.set(row, LOCKED_UNTIL, time + LOCK_MS);
  noteDelegationsChange(state, user);
}

export function applyUndelegate(state: State, event: EventOf<'undelegate'>, time: number): void {
  const row = requireDelegation(state, event);
  const lockedUntil = state.delegations.get(row, LOCKED_UNTIL);
  if (time < lockedUntil) {
    const expected =
      `an unlocked delegation: this one is locked until ${lockedUntil}, ` +
      `and the block's time is ${time}`;
    throw new Refusal('validator', formatAddress(event.validator), expected);
  }
  const rest = delegatedAmount(state, row) - event.amount;
  if (rest < 0n) {
    const delegated = formatUnits(delegatedAmount(state, row), STAKE_DECIMALS);
    const given = formatUnits(event.amount, STAKE_DECIMALS);
    throw new Refusal('amount', given, `at most ${delegated}, the delegated amount`);
  }
  if (rest === 0n) removeDelegation(state, event.user, row);
  else setAmount(state, row, rest);
  noteDelegationsChange(state, event.user);
}

export function applyDelegationReward(state: State, event: EventOf<'delegationReward'>): void {
  addAmount(state, requireDelegation(state, event), event.amount);
  noteDelegationsChange(state, event.user);
}

export function applyDelegation(state: State, event: EventOf<'delegation'>): void {
  const { user, validator, amount, lockedUntilTimestamp } = event;
  noteDelegations(state, user);
  noteDelegationsChange(state, user);
  const found = findDelegation(state, user, validator);
  if (amount === 0n) {
    if (found !== 0) removeDelegation(state, user, found);
    return;
  }
  const row = found === 0 ? addDelegation(state, user, validator) : found;
  setAmount(state, row, amount);
  state.delegations.set(row, LOCKED_UNTIL, lockedUntilTimestamp);
}

export function applyDelegations(state: State, event: EventOf<'delegations'>, time: number): void {
  const { user, delegations } = event;
  noteDelegationsRead(state, user, time);
  // A follower often reads a list that has not changed.
  if (isRecordedList(state, event)) return;
  noteDelegationsChange(state, user);
  removeDelegations(state, user);
  const validators = new Set<number>();
  let index = 0;
  try {
    for (; index < delegations.length; index++) {
      const row = appendListedDelegation(state, user, delegations[index]);
      requireOnce(validators, state.delegations.get(row, VALIDATOR), delegations[index]);
    }
  } catch (error) {
    throw error instanceof Refusal ? prefixRefusal(`delegations[${index}]`, error) : error;
  }
}

/** True if the list equals the list in the ledger. */
function isRecordedList(state: State, { user, delegations }: EventOf<'delegations'>): boolean {
  const { addresses } = state;
  let row = addresses.table.get(addresses.find(user), FIRST_DELEGATION);
  for (const { validator, amount, lockedUntilTimestamp } of delegations) {
    const isSame =
      row !== 0 &&
      state.delegations.get(row, VALIDATOR) === addresses.find(validator) &&
      state.delegations.get(row, LOCKED_UNTIL) === lockedUntilTimestamp &&
      delegatedAmount(state, row) === amount;
    if (!isSame) return false;
    row = state.delegations.get(row, NEXT_DELEGATION);
  }
  return row === 0;
}

function removeDelegations(state: State, user: Address): void {
  const { table } = state.addresses;
  const userRow = state.addresses.find(user);
  for (let row = table.get(userRow, FIRST_DELEGATION); row !== 0; ) {
    removeDelegation(state, user, row);
    row = table.get(userRow, FIRST_DELEGATION);
  }
}

type ListedDelegation = EventOf<'delegations'>['delegations'][0];

/** Adds a delegation to the end of the user's list; returns its row. */
export function appendListedDelegation(
  state: State,
  user: Address,
  listed: ListedDelegation,
): number {
  const row = addDelegation(state, user, listed.validator);
  setAmount(state, row, listed.amount);
  state.delegations.set(row, LOCKED_UNTIL, listed.lockedUntilTimestamp);
  return row;
}

/**
 * Refuses a validator that the list already has. `seen` is a set, because searching the list for
 * each validator would take quadratic time.
 */
function requireOnce(seen: Set<number>, validatorRow: number, { validator }: ListedDelegation) {
  if (seen.has(validatorRow)) {
    throw new Refusal('validator', formatAddress(validator), 'each validator once');
  }
  seen.add(validatorRow);
}

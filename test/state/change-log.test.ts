/** Which rows blocks have changed, as whoever pushes states is told. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { parseAddress } from '../../src/exact/address.ts';
import { parseQuestion } from '../../src/info/read-question.ts';
import { findAccount } from '../../src/state/accounts.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State } from '../../src/state/state.ts';

const ALICE = `0x${'a'.repeat(40)}`;
const BOB = `0x${'b'.repeat(40)}`;
const TIERS = [{ lowerBound: '0.0', maxLeverage: 40 }];
const BTC = { type: 'market', dex: '', coin: 'BTC', szDecimals: 5, marginTiers: TIERS };
const NOTHING = { accounts: [], addresses: [] };

function transfer(user: string) {
  return { type: 'transfer', user, dex: '', amount: '1000.0' };
}

function buy(user: string) {
  return { type: 'fill', user, coin: 'BTC', side: 'B', sz: '0.1', px: '50000.0', fee: '0.0' };
}

function apply(state: State, ...events: object[]): void {
  const line = JSON.stringify({ height: state.height + 1, time: 1000, events });
  applyBlock(state, parseBlock(line));
}

function addressRow(state: State, user: string): number {
  return state.addresses.find(parseAddress(user) ?? assert.fail(user));
}

function accountRow(state: State, user: string): number {
  return findAccount(state, addressRow(state, user), 0);
}

/** Alice and Bob with a position each, and somebody who watches. */
function prepare(): State {
  const state = createState();
  apply(state, { ...BTC, onlyIsolated: false, markPx: '50000.0' });
  apply(state, transfer(ALICE), transfer(BOB), buy(ALICE), buy(BOB));
  state.changes.watch(true);
  return state;
}

test('a change is told once, and an account once a block', () => {
  const state = prepare();
  apply(state, transfer(ALICE), transfer(ALICE));
  apply(state, transfer(BOB));
  const accounts = [accountRow(state, ALICE), accountRow(state, BOB)];
  assert.deepEqual(state.changes.take(), { accounts, addresses: [] });
  assert.deepEqual(state.changes.take(), NOTHING);
});

test('other delegations change an address and no account', () => {
  const state = prepare();
  apply(state, { type: 'delegate', user: BOB, validator: ALICE, amount: '1.0' });
  const { accounts, addresses } = state.changes.take();
  assert.deepEqual([accounts, [...new Set(addresses)]], [[], [addressRow(state, BOB)]]);
});

test('a refused block tells nothing, and takes nothing of the blocks before it', () => {
  const state = prepare();
  apply(state, transfer(ALICE));
  const bad = [transfer(BOB), { type: 'delegate', user: BOB, validator: BOB, amount: '1.0' }];
  assert.throws(() => apply(state, ...bad, { type: 'order' }), { name: 'BlockError' });
  assert.throws(() => apply(state, ...bad, { ...transfer(BOB), dex: 'none' }), {
    name: 'BlockError',
  });
  assert.deepEqual(state.changes.take(), { accounts: [accountRow(state, ALICE)], addresses: [] });
});

test('a funding of nothing changes no account', () => {
  const state = prepare();
  const payments = [
    [ALICE, '0.0'],
    [BOB, '1.5'],
  ];
  apply(state, { type: 'funding', coin: 'BTC', payments });
  assert.deepEqual(state.changes.take(), { accounts: [accountRow(state, BOB)], addresses: [] });
});

test('nothing is noted while nobody watches, nor kept from an earlier watch', () => {
  const state = prepare();
  const transferAndList = [transfer(ALICE), listed('1.0')];
  apply(state, ...transferAndList);
  state.changes.watch(false);
  apply(state, ...transferAndList);
  state.changes.watch(true);
  assert.deepEqual(state.changes.take(), NOTHING);
});

test('a refused block after a new watch tells nothing of the one before', () => {
  const state = prepare();
  apply(state, transfer(ALICE), listed('1.0'));
  state.changes.watch(false);
  state.changes.watch(true);
  assert.throws(() => apply(state, transfer(ALICE), { ...transfer(BOB), dex: 'none' }));
  assert.deepEqual(state.changes.take(), NOTHING);
});

test('what is set to what it was has not changed', () => {
  const state = prepare();
  const questions = ['clearinghouseState', 'allMids', 'meta'].map((type) =>
    parseQuestion({ type, user: ALICE }),
  );
  const heights = () => questions.map((question) => question.changedAt(state));
  const before = heights();
  apply(state, { type: 'marks', prices: { BTC: '50000.0' } });
  assert.deepEqual(heights(), before);
  apply(state, { type: 'marks', prices: { BTC: '50001' } });
  const [account, mids, meta] = heights();
  assert.deepEqual([account, mids, meta], [state.height, state.height, before[2]]);
});

test('a new account changes its address, even if nothing is in it', () => {
  const state = prepare();
  const carol = `0x${'c'.repeat(40)}`;
  apply(state, { type: 'leverage', user: carol, coin: 'BTC', mode: 'cross', value: 5 });
  const account = accountRow(state, carol);
  const changes = { accounts: [account], addresses: [addressRow(state, carol)] };
  assert.deepEqual(state.changes.take(), changes);
  assert.equal(parseQuestion({ type: 'clearinghouseState', user: carol }).changedAt(state), 3);
});

function setLeverage(value: number) {
  return { type: 'leverage', user: ALICE, coin: 'BTC', mode: 'cross', value };
}

function amountOf(type: string, amount: string) {
  return { type, user: ALICE, dex: '', amount };
}

test('another leverage changes the account of an open position, and no other account', () => {
  const state = prepare();
  apply(state, setLeverage(7));
  assert.deepEqual(state.changes.take(), { accounts: [accountRow(state, ALICE)], addresses: [] });
  apply(state, { ...buy(ALICE), side: 'A' });
  state.changes.take();
  apply(state, setLeverage(8));
  assert.deepEqual(state.changes.take(), NOTHING);
});

test('an account whose amounts and leverage stay what they were has not changed', () => {
  const state = prepare();
  apply(state, setLeverage(7), amountOf('orderMargin', '3.0'), amountOf('collateral', '4.0'));
  state.changes.take();
  for (const event of [
    setLeverage(7),
    amountOf('orderMargin', '3.0'),
    amountOf('collateral', '4.0'),
    amountOf('transfer', '0.0'),
  ]) {
    apply(state, event);
    assert.deepEqual(state.changes.take(), NOTHING, event.type);
  }
  for (const event of [
    setLeverage(8),
    amountOf('orderMargin', '3.1'),
    amountOf('collateral', '4.1'),
    amountOf('transfer', '0.1'),
  ]) {
    apply(state, event);
    const accounts = [accountRow(state, ALICE)];
    assert.deepEqual(state.changes.take(), { accounts, addresses: [] }, event.type);
  }
});

function listed(amount: string) {
  const delegations = [{ validator: BOB, amount, lockedUntilTimestamp: 0 }];
  return { type: 'delegations', user: ALICE, delegations };
}

test('what is read again is told, though nothing has changed, and told once', () => {
  const state = prepare();
  apply(state, listed('1.0'));
  const addresses = [addressRow(state, ALICE)];
  assert.deepEqual([...new Set(state.changes.take().addresses)], addresses);
  apply(state, listed('1.0'));
  assert.deepEqual(state.changes.take(), { accounts: [], addresses });
  assert.deepEqual(state.changes.take(), NOTHING);
  apply(state, { type: 'accountTime', user: ALICE, dex: '', time: 900 });
  assert.deepEqual(state.changes.take(), { accounts: [accountRow(state, ALICE)], addresses: [] });
});

test('after a refused block changes are told as if it had not been', () => {
  const state = prepare();
  const refuse = () => assert.throws(() => apply(state, listed('3.0'), { type: 'order' }));
  const refuseLate = () =>
    assert.throws(() =>
      apply(state, transfer(BOB), listed('3.0'), { ...transfer(BOB), dex: 'no' }),
    );
  refuseLate();
  assert.deepEqual(state.changes.take(), NOTHING);
  apply(state, listed('2.0'), transfer(ALICE));
  refuse();
  refuseLate();
  const { accounts, addresses } = state.changes.take();
  assert.deepEqual(
    [accounts, addresses.every((row) => row === addressRow(state, ALICE))],
    [[accountRow(state, ALICE)], true],
  );
  assert.ok(addresses.length > 0);
  refuseLate();
  assert.deepEqual(state.changes.take(), NOTHING);
  apply(state, transfer(ALICE));
  assert.deepEqual(state.changes.take(), { accounts: [accountRow(state, ALICE)], addresses: [] });
});

test('who watches already and says so again misses nothing', () => {
  const state = prepare();
  apply(state, transfer(ALICE));
  state.changes.watch(true);
  assert.deepEqual(state.changes.take().accounts, [accountRow(state, ALICE)]);
});

test('a mark changes accounts that are open in its market, and no others', () => {
  const state = prepare();
  apply(state, { ...buy(BOB), side: 'A' });
  const changedAt = (user: string) =>
    parseQuestion({ type: 'clearinghouseState', user }).changedAt(state);
  apply(state, { type: 'marks', prices: { BTC: '50001' } });
  assert.deepEqual([changedAt(ALICE), changedAt(BOB)], [4, 3]);
});

test('a refused block before any other tells nothing', () => {
  const state = createState();
  state.changes.watch(true);
  assert.throws(() => apply(state, transfer(ALICE), { ...transfer(BOB), dex: 'none' }));
  assert.deepEqual(state.changes.take(), NOTHING);
});

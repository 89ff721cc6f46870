/** What events leave of an account, told by whole answers and by the digest. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State } from '../../src/state/state.ts';
import * as column from '../../src/state/tables/columns.ts';
import { Table } from '../../src/state/tables/table.ts';

const USER = '0xa11ce00000000000000000000000000000000001';
const DEPLOYER = '0x0a11da7040000000000000000000000000000002';

function marketOf(coin: string, maxLeverage: number, onlyIsolated = false) {
  const dex = coin.includes(':') ? coin.split(':')[0] : '';
  const marginTiers = [{ lowerBound: '0.0', maxLeverage }];
  return { type: 'market', dex, coin, szDecimals: 2, marginTiers, onlyIsolated, markPx: '10.0' };
}

const dexOf = (dex: string) => ({ type: 'perpDex', dex, fullName: dex, deployer: DEPLOYER });

const LISTINGS = [
  ...['b', 'c', 'd'].map(dexOf),
  marketOf('HIGH', 40),
  marketOf('LOW', 10),
  marketOf('ALONE', 40, true),
  marketOf('c:HIGH', 40),
];

function apply(state: State, ...events: object[]): void {
  const line = JSON.stringify({ height: state.height + 1, time: 1000 * state.height, events });
  applyBlock(state, parseBlock(line));
}

function stateAfter(...events: object[]): State {
  const state = createState();
  apply(state, ...LISTINGS);
  for (const event of events) apply(state, event);
  return state;
}

const fill = (coin: string, side = 'B', px = '10.0') => {
  return { type: 'fill', user: USER, coin, side, sz: '3.0', px, fee: '0.0' };
};

function positionIn(state: State, coin: string) {
  const [dex] = coin.includes(':') ? coin.split(':') : [''];
  const answer = answerQuestion(state, { type: 'clearinghouseState', user: USER, dex });
  const { assetPositions } = JSON.parse(answer) as { assetPositions: { position: Held }[] };
  return assetPositions.find(({ position }) => position.coin === coin)?.position;
}

interface Held {
  readonly coin: string;
  readonly szi: string;
  readonly entryPx: string;
  readonly leverage: { readonly type: string; readonly value: number };
  readonly cumFunding: Readonly<Record<string, string>>;
}

for (const [coin, type, value] of [
  ['HIGH', 'cross', 20],
  ['LOW', 'cross', 10],
  ['ALONE', 'isolated', 20],
] as const) {
  test(`a first fill in ${coin} has leverage ${value}, ${type}`, () => {
    const { leverage } = positionIn(stateAfter(fill(coin)), coin) ?? assert.fail();
    assert.deepEqual([leverage.type, leverage.value], [type, value]);
  });
}

test('the accounts of a user are found on their dexes, in whatever order they came', () => {
  const amounts = { c: '3.0', '': '1.0', d: '4.0', b: '2.0' };
  const state = stateAfter(
    ...Object.entries(amounts).map(([dex, amount]) => ({ ...TRANSFER, dex, amount })),
    { ...TRANSFER, dex: 'c', amount: '0.5' },
  );
  const answer = answerQuestion(state, { type: 'allDexsClearinghouseState', user: USER });
  const values = (JSON.parse(answer) as [string, { withdrawable: string }][]).map(
    ([dex, { withdrawable }]) => [dex, withdrawable],
  );
  assert.deepEqual(values, [
    ['', '1.0'],
    ['b', '2.0'],
    ['c', '3.5'],
    ['d', '4.0'],
  ]);
  assert.equal(state.accounts.rowCount, 5);
});

const TRANSFER = { type: 'transfer', user: USER, dex: '', amount: '1.0' };

test('an account on a later dex is not taken for one that there is not yet', () => {
  const state = stateAfter({ ...TRANSFER, dex: 'c' }, { ...TRANSFER, dex: 'b', amount: '7.0' });
  const values = ['', 'b', 'c'].map((dex) => {
    const answer = answerQuestion(state, { type: 'clearinghouseState', user: USER, dex });
    return JSON.parse(answer).withdrawable;
  });
  assert.deepEqual(values, ['0.0', '7.0', '1.0']);
});

const funding = (coin: string, amount: string) => {
  return { type: 'funding', coin, payments: [[USER, amount]] };
};

test('funding adds to all three sums; a change of the position resets one, opening anew two', () => {
  const state = stateAfter(fill('HIGH'), funding('HIGH', '1.5'), funding('HIGH', '-0.5'));
  const sums = () => Object.values(positionIn(state, 'HIGH')?.cumFunding ?? {});
  assert.deepEqual(sums(), ['1.0', '1.0', '1.0']);
  apply(state, fill('HIGH'));
  assert.deepEqual(sums(), ['1.0', '1.0', '0.0']);
  apply(state, fill('HIGH', 'A'), fill('HIGH', 'A'), fill('HIGH', 'A', '12.0'));
  assert.deepEqual(sums(), ['1.0', '0.0', '0.0']);
  assert.equal(positionIn(state, 'HIGH')?.entryPx, '12.0');
});

/** An account with a position in each market, as it is read. */
function accountOf(coins: readonly string[], amounts: readonly string[]) {
  const [entryNtl, rawUsd, sinceOpen, sinceChange] = amounts;
  const positions = coins.map((coin) => ({
    coin,
    szi: '2.0',
    entryNtl,
    leverage: { type: 'isolated', value: 7, rawUsd },
    cumFunding: { allTime: '0.0', sinceOpen, sinceChange },
  }));
  return { type: 'account', user: USER, dex: '', rawUsd: '10.0', positions };
}

test('of a position that an account no longer has, only leverage and all-time funding are left', () => {
  const held = stateAfter(accountOf(['HIGH', 'LOW'], ['20.0', '5.0', '2.0', '3.0']));
  const neverHeld = stateAfter();
  const leverage = { type: 'leverage', user: USER, mode: 'isolated', value: 7 };
  apply(neverHeld, { ...leverage, coin: 'HIGH' }, { ...leverage, coin: 'LOW' });
  for (const state of [held, neverHeld]) apply(state, accountOf([], []));
  assert.equal(stateDigest(held), stateDigest(neverHeld));
  assert.equal(positionIn(held, 'HIGH'), undefined);
  for (const cleared of [
    ...[column.SIZE, column.ENTRY_NOTIONAL, column.RAW_USD],
    ...[column.FUNDING_SINCE_OPEN, column.FUNDING_SINCE_CHANGE],
  ]) {
    assert.equal(held.positions.get(1, cleared), 0);
  }
});

test('an account that is read as it was is told again, and so is margin that is moved', () => {
  const account = accountOf(['HIGH'], ['20.0', '5.0', '0.0', '0.0']);
  const state = stateAfter(account);
  state.changes.watch(true);
  for (const event of [
    account,
    { type: 'isolatedMargin', user: USER, coin: 'HIGH', amount: '1.0' },
  ]) {
    apply(state, event);
    assert.deepEqual(state.changes.take().accounts, [1], event.type);
  }
});

class BrokenTable extends Table {
  override set(): void {
    throw new RangeError('broken');
  }
}

/** The same state with a table of positions that cannot be written to. */
function breakPositions(state: State): State {
  const positions = new BrokenTable(state.positions.rowCount);
  positions.cells.set(state.positions.cells);
  return { ...state, positions };
}

test('a bug in the middle of a block is not told as a refusal', () => {
  const account = accountOf(['HIGH'], ['20.0', '5.0', '0.0', '0.0']);
  const empty = breakPositions(stateAfter());
  assert.throws(() => apply(empty, account), { name: 'RangeError', message: 'broken' });
  const open = breakPositions(stateAfter(account));
  assert.throws(() => apply(open, funding('HIGH', '1.0')), { name: 'RangeError' });
});

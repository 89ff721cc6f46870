/** The bytes of the digest, number by number, as their layout has it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { digestBytes } from '../../src/state/snapshot/digest.ts';
import { createState, type State } from '../../src/state/state.ts';

const USER = '0x0000000100000002000000030000000400000005';
const TIME = 5000;

function stateOf(...events: object[]): State {
  const state = createState();
  applyBlock(state, parseBlock(JSON.stringify({ height: 1, time: TIME, events })));
  return state;
}

function numbersOf(state: State): number[] {
  const bytes = Buffer.concat([...digestBytes(state)]);
  return Array.from({ length: bytes.length / 8 }, (_, index) => bytes.readDoubleLE(8 * index));
}

const text = (value: string) => [value.length, ...Array.from(value, (each) => each.charCodeAt(0))];

/** One dex without name, full name and deployer; no market, no address. */
const EMPTY = [1, 0, 0, 0, 0, 0];
const AUCTION = {
  type: 'deployAuction',
  startTimeSeconds: 7,
  durationSeconds: 8,
  startGas: '2.0',
  floorGas: '1.0',
};
const RUNNING = [1, 7, 8, ...text('200000000'), ...text('100000000')];

for (const [what, events, auction] of [
  ['no auction that is known', [], [0]],
  ['no auction', [{ type: 'noDeployAuction' }], [2]],
  ['a running auction', [AUCTION], [...RUNNING, 0]],
  [
    'an auction that has ended',
    [AUCTION, { type: 'deployAuctionEnd', endGas: '1.5' }],
    [...RUNNING, ...text('150000000')],
  ],
] as const) {
  test(`the digest of ${what}`, () => {
    assert.deepEqual(numbersOf(stateOf(...events)), [1, TIME, 0, ...EMPTY, ...auction]);
  });
}

test('the digest of a partial ledger', () => {
  assert.deepEqual(numbersOf(stateOf({ type: 'partial' })), [1, TIME, 1, ...EMPTY, 0]);
});

test('the digest of a market, an account with a position, and a delegation', () => {
  const market = {
    type: 'market',
    dex: '',
    coin: 'AB',
    szDecimals: 2,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 40 }],
    onlyIsolated: true,
    markPx: '10.0',
  };
  const position = {
    coin: 'AB',
    szi: '5.0',
    entryNtl: '40.0',
    leverage: { type: 'isolated', value: 7, rawUsd: '-30.0' },
    cumFunding: { allTime: '1.0', sinceOpen: '2.0', sinceChange: '3.0' },
  };
  const account = { type: 'account', user: USER, dex: '', rawUsd: '9.0', positions: [position] };
  const amount = { user: USER, dex: '' };
  const state = stateOf(
    market,
    account,
    { type: 'orderMargin', ...amount, amount: '4.0' },
    { type: 'collateral', ...amount, amount: '5.0' },
    { type: 'delegate', user: USER, validator: USER, amount: '3.0' },
  );
  const { word0, word1, word2, word3 } = state.addresses.addressOf(1);
  assert.deepEqual(numbersOf(state), [
    ...[1, TIME, 0],
    ...[1, 0, 0, 0],
    ...[1, ...text('AB'), 0, 2, 1, 100_000, 1, 0, 40],
    ...[1, word0, word1, word2, word3, 1],
    ...[1, 0, 9e6, 4e6, 5e6, TIME],
    ...[2, 7 * 2 + 1, 500, 40e6, -30e6, 1e6, 2e6, 3e6],
    ...[3, 1, ...text('300000000'), TIME + 86_400_000],
    0,
  ]);
});

test('the digest of positions with tiers of their own lists each different table once', () => {
  const markets = ['A', 'B'].map((coin) => ({
    ...{ type: 'market', dex: '', coin, szDecimals: 0, onlyIsolated: false, markPx: '1.0' },
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 3 }],
  }));
  const marginTiers = [
    { lowerBound: '0.0', maxLeverage: 50 },
    { lowerBound: '7.0', maxLeverage: 25 },
  ];
  const positions = ['A', 'B'].map((coin) => ({
    ...{ coin, szi: '1.0', entryNtl: '1.0', marginTiers },
    leverage: { type: 'cross', value: 1 },
    cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
  }));
  const account = { type: 'account', user: USER, dex: '', rawUsd: '0.0', positions };
  const numbers = numbersOf(stateOf(...markets, account));
  const termsOf = (market: number) => 2 ** 32 + market * 2 ** 11 + 2;
  assert.deepEqual(numbers.slice(numbers.indexOf(termsOf(0)) - 1), [
    ...[2, termsOf(0), 1, 1e6, 0, 0, 0, 0],
    ...[2, termsOf(1), 1, 1e6, 0, 0, 0, 0],
    ...[0, 1, 2, 0, 50, 7e6, 25],
  ]);
});

test('the bytes of many addresses come in pieces of at most 64 KiB', () => {
  const transfers = Array.from({ length: 2000 }, (_, index) => {
    const user = `0x${index.toString(16).padStart(40, '0')}`;
    return { type: 'transfer', user, dex: '', amount: '1.0' };
  });
  const lengths = Array.from(digestBytes(stateOf(...transfers)), ({ length }) => length);
  assert.equal(
    lengths.reduce((sum, length) => sum + length, 0),
    8 * (3 + 6 + 2000 * 11 + 1),
  );
  assert.ok(Math.max(...lengths) === 65_536);
});

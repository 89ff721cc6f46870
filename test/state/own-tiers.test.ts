/** A position with margin tiers of its own follows them, not its market's, until it closes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import { applyBlock, applyInPieces } from '../../src/state/fold.ts';
import { createState, type State, type StateView } from '../../src/state/state.ts';
import { hashSnapshot } from './snapshot-hash.ts';

const USER = '0xa11ce00000000000000000000000000000000001';
const NO_FUNDING = { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' };
/** A maintenance margin of 1 %, as recorded of the exchange's own vaults. */
const VAULT_TIERS = [{ lowerBound: '0.0', maxLeverage: 50 }];

function market(coin: string, maxLeverage: number) {
  const marginTiers = [{ lowerBound: '0.0', maxLeverage }];
  const terms = { szDecimals: 2, marginTiers, onlyIsolated: false, markPx: '100.0' };
  return { type: 'market', dex: '', coin, ...terms };
}

const POSITION = {
  ...{ coin: 'BTC', szi: '10.0', entryNtl: '1000.0' },
  ...{ leverage: { type: 'cross', value: 5 }, cumFunding: NO_FUNDING },
};
const OWN = { ...POSITION, marginTiers: VAULT_TIERS };

function account(...positions: object[]) {
  return { type: 'account', user: USER, dex: '', rawUsd: '-800.0', positions };
}

function fill(side: 'A' | 'B', sz: string) {
  return { type: 'fill', user: USER, coin: 'BTC', side, sz, px: '100.0', fee: '0.0' };
}

function blockOf(state: StateView, events: readonly object[]) {
  const line = JSON.stringify({ height: state.height + 1, time: state.height * 1000, events });
  return parseBlock(line);
}

function extend(state: State, ...events: object[]): void {
  applyBlock(state, blockOf(state, events));
}

function stateOf(...events: object[]): State {
  const state = createState();
  extend(state, market('BTC', 3), market('ETH', 3), ...events);
  return state;
}

/** The figures that depend on tiers. */
function figuresOf(state: StateView) {
  const answer = JSON.parse(answerQuestion(state, { type: 'clearinghouseState', user: USER }));
  const [{ position }] = answer.assetPositions;
  const { maxLeverage, liquidationPx } = position;
  return [answer.crossMaintenanceMarginUsed, maxLeverage, liquidationPx];
}

function maxLeverageOf(state: StateView): number {
  return figuresOf(state)[1];
}

test('maintenance, maxLeverage and the liquidation price follow the tiers of the position', () => {
  assert.deepEqual(figuresOf(stateOf(account(POSITION))), ['166.666666', 3, '96.0']);
  assert.deepEqual(figuresOf(stateOf(account(OWN))), ['10.0', 50, '80.8080808081']);
});

test('the tiers of the market may change meanwhile', () => {
  const state = stateOf(account(OWN));
  extend(state, market('BTC', 20));
  assert.equal(maxLeverageOf(state), 50);
});

for (const [what, event, maxLeverage] of [
  ['grows', fill('B', '1.0'), 50],
  ['shrinks', fill('A', '9.0'), 50],
  [
    'gets another leverage',
    { type: 'leverage', user: USER, coin: 'BTC', mode: 'cross', value: 50 },
    50,
  ],
  ['is paid funding', { type: 'funding', coin: 'BTC', payments: [[USER, '-1.0']] }, 50],
  ['flips', fill('A', '11.0'), 3],
  ['is read again without them', account(POSITION), 3],
  ['is read again with them', account(OWN), 50],
] as const) {
  const verb = maxLeverage === 50 ? 'keeps' : 'loses';
  test(`a position that ${what} ${verb} its tiers`, () => {
    const state = stateOf(account(OWN));
    extend(state, event);
    assert.equal(maxLeverageOf(state), maxLeverage);
  });
}

test('a position that closes and opens again has the tiers of its market', () => {
  const state = stateOf(account(OWN));
  extend(state, fill('A', '10.0'));
  extend(state, fill('B', '10.0'));
  assert.equal(maxLeverageOf(state), 3);
});

test('a position that an account event leaves out has the tiers of its market when it opens', () => {
  const state = stateOf(account(OWN));
  extend(state, account());
  extend(state, fill('B', '10.0'));
  assert.equal(maxLeverageOf(state), 3);
});

test('the leverage is limited by the tiers of the position, and by those of the market once it is closed', () => {
  const leverage = { type: 'leverage', user: USER, coin: 'BTC', mode: 'cross', value: 51 };
  const state = stateOf(account(OWN));
  assert.throws(
    () => extend(state, leverage),
    /value: got 51, expected a whole number from 1 to 50$/,
  );
  extend(state, fill('A', '10.0'));
  assert.throws(
    () => extend(state, leverage),
    /value: got 51, expected a whole number from 1 to 3$/,
  );
});

test('the same tiers are stored once, and stay known after their last position', () => {
  const state = stateOf(account(OWN, { ...OWN, coin: 'ETH' }));
  extend(state, account(OWN));
  extend(state, account());
  assert.equal(state.markets.tierTables.count, 1);
});

test('the digest names tiers also after their last position', () => {
  const state = stateOf(account(POSITION), account());
  const hadTiers = stateOf(account(OWN), account());
  assert.equal(state.markets.tierTables.count, 0);
  assert.notEqual(stateDigest(state), stateDigest(hadTiers));
});

test('a refused block leaves no tiers behind', () => {
  const state = stateOf(account(POSITION));
  const before = hashSnapshot(state);
  assert.throws(() => extend(state, account(OWN), account({ ...OWN, szi: '0.0' })), /szi/);
  assert.equal(hashSnapshot(state), before);
  assert.equal(state.markets.tierTables.count, 0);
  const other = [{ lowerBound: '0.0', maxLeverage: 7 }];
  extend(state, account({ ...OWN, marginTiers: other }));
  assert.equal(maxLeverageOf(state), 7);
});

test('while a block is applied in pieces, answers have the tiers of before', () => {
  const state = stateOf(account(POSITION));
  const digest = stateDigest(state);
  const { height, time, events } = blockOf(state, [account(OWN), fill('B', '1.0')]);
  for (const _ of applyInPieces(
    state,
    { height, time },
    events.map((event) => [event]),
  )) {
    assert.equal(maxLeverageOf(state), 3);
    assert.equal(stateDigest(state), digest);
  }
  assert.equal(maxLeverageOf(state), 50);
});

test('a ledger holds at most ten thousand different margin tables of positions', () => {
  const state = stateOf();
  const tables = Array.from({ length: 10_000 }, (_, index) => [
    { lowerBound: '0.0', maxLeverage: 40 },
    { lowerBound: `${index + 1}.0`, maxLeverage: 20 },
  ]);
  for (let start = 0; start < tables.length; start += 1000) {
    const given = tables.slice(start, start + 1000);
    extend(state, ...given.map((marginTiers) => account({ ...POSITION, marginTiers })));
  }
  extend(state, account({ ...POSITION, marginTiers: tables[0] }));
  assert.equal(maxLeverageOf(state), 20);
  assert.throws(
    () => extend(state, account(OWN)),
    /event 0 \(account\): positions\[0\]\.marginTiers: got an array of 1, expected at most 10000 different margin tables of positions$/,
  );
});

/** The lists of another server: the order of markets for clients, and when it has changed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { accountChangedAt } from '../../src/state/changed-at.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State } from '../../src/state/state.ts';

const USER = '0xa11ce00000000000000000000000000000000001';
const COINS = ['BTC', 'ETH', 'SOL'];

function extend(state: State, ...events: object[]): State {
  const line = JSON.stringify({ height: state.height + 1, time: state.height * 1000, events });
  applyBlock(state, parseBlock(line));
  return state;
}

function market(coin: string): object {
  const marginTiers = [{ lowerBound: '0.0', maxLeverage: 20 }];
  return {
    type: 'market',
    dex: '',
    coin,
    szDecimals: 2,
    marginTiers,
    onlyIsolated: false,
    markPx: '10.0',
  };
}

function fill(coin: string): object {
  return { type: 'fill', user: USER, coin, side: 'B', sz: '1.0', px: '10.0', fee: '0.0' };
}

function universe(...rows: unknown[]): object {
  const named = rows.map((row) => (typeof row === 'string' ? { name: row } : row));
  return { type: 'universe', dex: '', meta: { universe: named } };
}

/** A user with a position in each of three markets, which the ledger has in the order of COINS. */
function prepare(): State {
  return extend(createState(), ...COINS.map(market), ...COINS.map(fill));
}

function listPositions(state: State): string[] {
  const { assetPositions } = JSON.parse(
    answerQuestion(state, { type: 'clearinghouseState', user: USER }),
  );
  return assetPositions.map(({ position }: { position: { coin: string } }) => position.coin);
}

test('positions are in the order of the last universe, and in that of the ledger before one', () => {
  const state = prepare();
  assert.deepEqual(listPositions(state), ['BTC', 'ETH', 'SOL']);
  extend(state, universe('SOL', 'BTC', 'ETH'));
  assert.deepEqual(listPositions(state), ['SOL', 'BTC', 'ETH']);
  extend(state, universe('ETH', 'NEW', 'SOL', 'BTC'));
  assert.deepEqual(listPositions(state), ['ETH', 'SOL', 'BTC']);
  assert.deepEqual(
    state.markets.markets.map(({ coin }) => coin),
    COINS,
  );
});

test('positions in markets that the universe does not name come last', () => {
  const state = extend(prepare(), universe('SOL'));
  assert.deepEqual(listPositions(state), ['SOL', 'BTC', 'ETH']);
  extend(state, universe(null, 7, 'ETH', [], {}, { name: 7 }));
  assert.deepEqual(listPositions(state), ['ETH', 'BTC', 'SOL']);
});

test('an account has changed where its markets are in another order, not with each new list', () => {
  const state = prepare();
  const changedAt = () => accountChangedAt(state, 1);
  extend(state, universe('BTC', 'ETH', 'SOL'));
  assert.equal(changedAt(), 1);
  extend(state, universe('BTC', 'NEW', 'ETH', null, 'SOL'));
  assert.equal(changedAt(), 1);
  extend(state, universe('BTC', 'SOL', 'ETH'));
  assert.equal(changedAt(), 4);
  extend(state, universe('BTC', 'SOL', 'NEW', 'ETH'));
  assert.equal(changedAt(), 4);
});

test('a list that is given again changes nothing', () => {
  const state = extend(prepare(), universe('BTC'), { type: 'dexes', list: [null] });
  const { universes } = state;
  extend(state, universe('BTC'), { type: 'dexes', list: [null] });
  assert.equal(state.universes, universes);
});

test('of a market that a universe names twice, the first place counts', () => {
  const state = extend(prepare(), universe('SOL', 'BTC', 'SOL', 'ETH'));
  assert.deepEqual(listPositions(state), ['SOL', 'BTC', 'ETH']);
});

test('a market that is listed after the universe takes the place that the universe gives it', () => {
  const state = extend(createState(), universe('SOL', 'ETH', 'BTC'), market('BTC'), fill('BTC'));
  extend(state, market('SOL'), fill('SOL'));
  assert.deepEqual(listPositions(state), ['SOL', 'BTC']);
  extend(state, market('ETH'), fill('ETH'));
  assert.deepEqual(listPositions(state), ['SOL', 'ETH', 'BTC']);
});

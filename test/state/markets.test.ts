/** Dexes and markets: when their terms and marks have changed, and who sees them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitBlock } from '../../src/events/block-pieces.ts';
import { parseBlock } from '../../src/events/event.ts';
import { parseQuestion } from '../../src/info/read-question.ts';
import { applyBlock, applyInPieces } from '../../src/state/fold.ts';
import { MarketBook } from '../../src/state/markets/markets.ts';
import { createState, type State } from '../../src/state/state.ts';
import { Table } from '../../src/state/tables/table.ts';

const DEPLOYER = '0x0a11da7040000000000000000000000000000002';
const TIERS = [
  { lowerBound: '0.0', maxLeverage: 40 },
  { lowerBound: '1000.0', maxLeverage: 20 },
];

function market(coin: string, changed: object = {}) {
  const terms = { szDecimals: 2, marginTiers: TIERS, onlyIsolated: false, markPx: '10.0' };
  return { type: 'market', dex: '', coin, ...terms, ...changed };
}

const dex = (name: string) => ({ type: 'perpDex', dex: name, fullName: name, deployer: DEPLOYER });

function lineOf(state: State, events: readonly object[]): string {
  return JSON.stringify({ height: state.height + 1, time: 1000 * (state.height + 1), events });
}

function apply(state: State, ...events: object[]): void {
  applyBlock(state, parseBlock(lineOf(state, events)));
}

/** Three markets, each from a block of its own. */
function prepare(): State {
  const state = createState();
  for (const coin of ['A', 'B', 'C']) apply(state, market(coin));
  return state;
}

function heightsOf({ markets }: State) {
  return [0, 1, 2].map((index) => [
    markets.termsChangedAt(index),
    markets.markChangedAt(index),
    markets.changedAt(index),
  ]);
}

const [TIER, NEXT_TIER] = TIERS;

for (const [what, changed] of [
  ['mode', { onlyIsolated: true }],
  ['number of tiers', { marginTiers: [TIER] }],
  ['lower bound', { marginTiers: [TIER, { ...NEXT_TIER, lowerBound: '1000.000001' }] }],
  ['first leverage', { marginTiers: [{ ...TIER, maxLeverage: 39 }, NEXT_TIER] }],
  ['last leverage', { marginTiers: [TIER, { ...NEXT_TIER, maxLeverage: 19 }] }],
] as const) {
  test(`another ${what} changes the terms of a market, and no mark`, () => {
    const state = prepare();
    apply(state, market('B', changed));
    assert.deepEqual(heightsOf(state), [
      [1, 1, 1],
      [4, 2, 4],
      [3, 3, 3],
    ]);
    assert.equal(state.markets.dexesChangedAt, 0);
  });
}

test('a market that is given as it was has not changed, and another mark changes no terms', () => {
  const state = prepare();
  apply(state, market('B'));
  assert.deepEqual(heightsOf(state)[1], [2, 2, 2]);
  apply(state, { type: 'marks', prices: { B: '10.0', C: '10.0001' } });
  assert.deepEqual(heightsOf(state), [
    [1, 1, 1],
    [2, 2, 2],
    [3, 5, 5],
  ]);
  apply(state, dex('xyz'));
  assert.equal(state.markets.dexesChangedAt, 6);
  assert.deepEqual(heightsOf(state)[0], [1, 1, 1]);
});

test('an answer about a dex has changed when one of its own markets has', () => {
  const state = createState();
  const heights = () =>
    [
      ...[{ type: 'meta' }, { type: 'meta', dex: 'xyz' }, { type: 'allPerpMetas' }],
      ...[{ type: 'metaAndAssetCtxs' }, { type: 'metaAndAssetCtxs', dex: 'xyz' }],
    ].map((question) => parseQuestion(question).changedAt(state));
  apply(state, dex('xyz'));
  assert.deepEqual(heights(), [0, 0, 1, 0, 0]);
  apply(state, market('A'));
  assert.deepEqual(heights(), [2, 0, 2, 2, 0]);
  apply(state, market('xyz:A', { dex: 'xyz' }));
  assert.deepEqual(heights(), [2, 3, 3, 2, 3]);
  apply(state, { type: 'marks', prices: { A: '11.0' } });
  assert.deepEqual(heights(), [2, 3, 3, 4, 3]);
  apply(state, market('A', { markPx: '11.0', onlyIsolated: true }));
  assert.deepEqual(heights(), [5, 3, 5, 5, 3]);
});

test('a market has at most a hundred tiers', () => {
  const tiers = Array.from({ length: 101 }, (_, index) => ({
    lowerBound: `${index}.0`,
    maxLeverage: 40,
  }));
  const state = prepare();
  apply(state, market('D', { marginTiers: tiers.slice(0, 100) }));
  assert.equal(state.markets.markets[3].tiers.length, 100);
  assert.throws(() => apply(state, market('E', { marginTiers: tiers })), /1 to 100 tiers$/);
});

test('what no event has named is not found, nor what a hidden block has named', () => {
  const state = prepare();
  const { markets } = state;
  const found = () => [markets.findDex('xyz'), markets.findMarket('NEW'), markets.findMarket('C')];
  const marked = { type: 'marks', prices: { A: '11.0', B: '11.0' } };
  const events = [
    marked,
    dex('xyz'),
    market('NEW'),
    ...new Array(300).fill(market('C')),
    market('B'),
  ];
  const cut = splitBlock(Buffer.from(lineOf(state, [...events, { type: 'noDeployAuction' }])));
  assert.ok(cut !== undefined);
  let pieces = 0;
  for (const _piece of applyInPieces(state, cut, cut.pieces)) {
    pieces++;
    assert.deepEqual(found(), [undefined, undefined, 2]);
    assert.deepEqual([markets.dexes.length, markets.markets.length], [1, 3]);
    assert.equal(markets.markPrice(0), 100_000);
    assert.deepEqual([state.auction, state.auctionChangedAt, state.time], [undefined, 0, 3000]);
  }
  assert.ok(pieces > 2, `${pieces} pieces`);
  assert.deepEqual(found(), [1, 3, 2]);
  // The last pieces have set the second one back.
  assert.deepEqual([markets.markPrice(0), markets.markPrice(1)], [110_000, 100_000]);
  assert.deepEqual([state.auction, state.auctionChangedAt, state.time], [null, 4, 4000]);
});

test('a book with other marks has the same dexes and markets', () => {
  const state = prepare();
  apply(state, dex('xyz'));
  const marks = new Table(4);
  marks.set(2, 0, 77);
  const book = state.markets.withMarks(marks);
  assert.deepEqual(
    [book.findDex('xyz'), book.findMarket('C'), book.findMarket('D')],
    [1, 2, undefined],
  );
  assert.deepEqual(book.markets, state.markets.markets);
  assert.deepEqual(book.dexes, state.markets.dexes);
  assert.deepEqual([book.markPrice(1), state.markets.markPrice(1)], [77, 100_000]);
});

class BrokenTable extends Table {
  override set(): void {
    throw new RangeError('broken');
  }
}

test('a bug in the middle of marks is not told as a refusal', () => {
  const { dexes, markets } = prepare().markets;
  const book = new MarketBook([...dexes], [...markets], new BrokenTable(4));
  const state = { ...createState(), markets: book };
  const event = { type: 'marks', prices: { A: '11.0' } };
  assert.throws(() => apply(state, event), { name: 'RangeError', message: 'broken' });
});

/** Mark prices from contexts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerQuestion } from '../../../src/info/read-question.ts';
import {
  findChangedPrices,
  readAllDexsAssetCtxs,
  readFastAssetCtxs,
  readMetaAndAssetCtxs,
} from '../../../src/upstream/dialect/mark-answers.ts';
import { readAllPerpMetas, readPerpDexs } from '../../../src/upstream/dialect/market-answers.ts';
import {
  createDirectory,
  directoryOfLedger,
} from '../../../src/upstream/dialect/market-directory.ts';
import { UnlistedCoins } from '../../../src/upstream/follower/markets/unlisted-coins.ts';
import { DEX, market, mustRead, mustRefuse, partialLedger } from '../follower/ledgers.ts';

const LEDGER = partialLedger(DEX, market('ABC'), market('DEF'), market('xyz:GOLD'));

/** The upstream lists a coin that the ledger cannot hold between two that it holds. */
function entry(name: string) {
  return { name, szDecimals: 2, maxLeverage: 20, marginTableId: 20 };
}
const UNIVERSE = [entry('ABC'), entry('A-B'), entry('DEF')];
const META = { universe: UNIVERSE, marginTables: [] };
const DEXES = mustRead(readPerpDexs([null, { ...DEX, name: 'xyz' }]));
const METAS = mustRead(
  readAllPerpMetas([META, { universe: [entry('xyz:GOLD')], marginTables: [] }], DEXES),
);
const directory = createDirectory(LEDGER, { dexes: DEXES, metas: METAS });

function context(markPx: unknown) {
  return { funding: '0.0', markPx, midPx: '1.0' };
}

function entriesOf(reading: ReturnType<typeof readFastAssetCtxs>) {
  const { prices, skipped, odd } = mustRead(reading);
  assert.deepEqual(odd, []);
  return { prices: Object.fromEntries(prices), skipped };
}

test('fast contexts bring the prices that they have, and other coins are ignored', () => {
  const data = {
    ABC: { markPx: '101.25', midPx: '101.0' },
    DEF: { midPx: '5.0' },
    'xyz:GOLD': { markPx: '4000.0' },
    '@107': { markPx: '22.123456789' },
    ...JSON.parse('{"__proto__":{"markPx":"1.0"}}'),
  };
  assert.deepEqual(entriesOf(readFastAssetCtxs(data, directory)), {
    prices: { ABC: 1_012_500, 'xyz:GOLD': 40_000_000 },
    skipped: [],
  });
});

test('a coin that no market has is of a new market, spot pairs and outcomes are not', () => {
  const frame = { ABC: context('101.0'), NEW: context('1.0'), '@1': {}, '#10': {}, 'xyz:NEW': {} };
  const { unlisted } = mustRead(readFastAssetCtxs(frame, directory));
  assert.deepEqual(unlisted, ['NEW', 'xyz:NEW']);
  const coins = new UnlistedCoins();
  const noted = Array.from({ length: 7 }, () => coins.note(unlisted));
  assert.deepEqual(noted, [true, true, true, true, true, false, false]);
  assert.equal(coins.note([...unlisted, 'ANOTHER']), true);
  assert.equal(coins.note([]), false);
});

test('contexts of all dexes are in the order of the markets, skipped ones included', () => {
  const data = {
    ctxs: [
      ['', [context('101.0'), context('7.0'), context('102.0')]],
      ['xyz', [context('4000.5')]],
      ['other', [context('1.0')]],
    ],
  };
  assert.deepEqual(entriesOf(readAllDexsAssetCtxs(data, directory)), {
    prices: { ABC: 1_010_000, DEF: 1_020_000, 'xyz:GOLD': 40_005_000 },
    skipped: [],
  });
});

test('an element that is not the contexts of a dex is left out and named, the other dexes are read', () => {
  const whole = ['', [context('101.0'), context('7.0'), context('102.0')]];
  const ctxs = [null, whole, [''], 7, [null, []], { '': [] }, ['xyz', [context('4000.5')]]];
  const { prices, skipped, odd } = mustRead(readAllDexsAssetCtxs({ ctxs }, directory));
  assert.deepEqual([...prices.keys()], ['ABC', 'DEF', 'xyz:GOLD']);
  assert.deepEqual(skipped, []);
  const expected = 'expected a pair of a dex and its contexts';
  assert.deepEqual(
    odd.map(({ message }) => message),
    [
      `ctxs[0]: got null, ${expected}`,
      `ctxs[2]: got an array of 1, ${expected}`,
      `ctxs[3]: got 7, ${expected}`,
      `ctxs[4]: got an array of 2, ${expected}`,
      `ctxs[5]: got an object, ${expected}`,
    ],
  );
});

test('contexts of a dex whose markets have changed since are not guessed', () => {
  const fitting = { ctxs: [['xyz', [context('1.0')]]] };
  assert.equal(mustRead(readAllDexsAssetCtxs(fitting, directory)).areMarketsOld, false);
  const data = {
    ctxs: [
      ['', [context('101.0'), context('7.0')]],
      ['xyz', [context('4000.5')]],
    ],
  };
  assert.deepEqual(entriesOf(readAllDexsAssetCtxs(data, directory)), {
    prices: { 'xyz:GOLD': 40_005_000 },
    skipped: [{ name: 'dex ""', reason: 'ctxs: got 2 contexts for 3 markets' }],
  });
  assert.equal(mustRead(readAllDexsAssetCtxs(data, directory)).areMarketsOld, true);
});

test('contexts of a dex whose markets have not been read are not guessed', () => {
  const data = { ctxs: [['', [context('101.0'), context('102.0')]]] };
  const { prices, skipped } = entriesOf(readAllDexsAssetCtxs(data, directoryOfLedger(LEDGER)));
  assert.deepEqual(prices, {});
  assert.deepEqual(skipped, [
    { name: 'dex ""', reason: 'ctxs: got 2 contexts for unread markets' },
  ]);
});

test('an answer with meta and contexts has its own order', () => {
  const reversed = { ...META, universe: [...UNIVERSE].reverse() };
  const json = [reversed, [context('102.0'), context(null), context('101.0')]];
  assert.deepEqual(entriesOf(readMetaAndAssetCtxs(json, '', directory)), {
    prices: { ABC: 1_010_000, DEF: 1_020_000 },
    skipped: [],
  });
});

test("another perpinfo's contexts are read", () => {
  const json = JSON.parse(answerQuestion(LEDGER, { type: 'metaAndAssetCtxs' }));
  assert.deepEqual(entriesOf(readMetaAndAssetCtxs(json, '', directory)).prices, {
    ABC: 1_000_000,
    DEF: 1_000_000,
  });
});

const UNUSABLE: [unknown, string][] = [
  ['1.00001', 'markPx: got "1.00001", expected a decimal with at most 4 decimals'],
  ['0.0', 'markPx: got "0.0", expected a price above 0'],
  ['-1.0', 'markPx: got "-1.0", expected a price above 0'],
  [100, 'markPx: got 100, expected a decimal as text'],
  ['1e2', 'markPx: got "1e2", expected a decimal with at most 4 decimals'],
];

for (const [markPx, reason] of UNUSABLE) {
  test(`a price of ${JSON.stringify(markPx)} is skipped and named, the others are taken`, () => {
    const data = { ABC: { markPx }, DEF: { markPx: '3.0' } };
    assert.deepEqual(entriesOf(readFastAssetCtxs(data, directory)), {
      prices: { DEF: 30_000 },
      skipped: [{ name: 'ABC', reason }],
    });
  });
}

test('messages of the wrong shape are refused', () => {
  const coins = 'answer: got an array of 0, expected an object of coins and contexts';
  mustRefuse(readFastAssetCtxs([], directory), 'shape', coins);
  const pairs = 'ctxs: got nothing, expected an array of dexes and contexts';
  mustRefuse(readAllDexsAssetCtxs({}, directory), 'shape', pairs);
  const pair = 'answer: got null, expected a pair of meta and contexts';
  mustRefuse(readMetaAndAssetCtxs(null, '', directory), 'shape', pair);
});

test('only prices that differ from the ledger are recorded, and none of an unrecorded market', () => {
  const prices = new Map([
    ['ABC', 1_000_000],
    ['DEF', 1_000_100],
    ['NEW', 5],
  ]);
  assert.deepEqual(findChangedPrices(LEDGER, prices), { DEF: '100.01' });
  assert.equal(findChangedPrices(LEDGER, new Map([['ABC', 1_000_000]])), undefined);
});

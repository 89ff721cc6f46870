/** From what an upstream lists to the ledger's dexes and markets. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { createState, type StateView } from '../../../src/state/state.ts';
import {
  readAllPerpMetas,
  readMeta,
  readPerpDexs,
} from '../../../src/upstream/dialect/market-answers.ts';
import {
  createDirectory,
  directoryOfLedger,
  type MarketDirectory,
} from '../../../src/upstream/dialect/market-directory.ts';
import {
  describeMarketChanges,
  describeNewDexes,
} from '../../../src/upstream/dialect/market-events.ts';
import { append, DEX, market, mustRead, mustRefuse, partialLedger } from '../follower/ledgers.ts';

const XYZ = { name: 'xyz', fullName: DEX.fullName, deployer: DEX.deployer, oracleUpdater: null };
const TIERS = [
  { lowerBound: '0.0', maxLeverage: 40 },
  { lowerBound: '150000000.0', maxLeverage: 20 },
];

function meta(universe: unknown[], tables: unknown[] = []) {
  return { universe, marginTables: tables, collateralToken: 0 };
}

function listed(name: string, details: Record<string, unknown> = {}) {
  return { name, szDecimals: 2, maxLeverage: 20, marginTableId: 20, ...details };
}

function directoryOf(ledger: StateView, dexes: unknown, metas: unknown): MarketDirectory {
  const listings = mustRead(readPerpDexs(dexes));
  return createDirectory(ledger, {
    dexes: listings,
    metas: mustRead(readAllPerpMetas(metas, listings)),
  });
}

function ofFirstDex(ledger: StateView, ...universe: unknown[]): MarketDirectory {
  return directoryOf(
    ledger,
    [null],
    [meta(universe, [[1001, { description: '', marginTiers: TIERS }]])],
  );
}

const NO_PRICES = new Map<string, number>();

test('dexes and markets that are new are recorded, each with its price', () => {
  const ledger = partialLedger();
  const directory = directoryOf(
    ledger,
    [null, XYZ],
    [meta([listed('ABC')]), meta([listed('xyz:GOLD', { szDecimals: 3 })])],
  );
  const prices = new Map([
    ['ABC', 123_400],
    ['xyz:GOLD', 4_005_500],
  ]);
  assert.deepEqual(describeNewDexes(ledger, directory), [DEX]);
  assert.deepEqual(describeMarketChanges(ledger, directory, prices), {
    events: [
      market('ABC', { markPx: '12.34' }),
      market('xyz:GOLD', { szDecimals: 3, markPx: '4005.5' }),
    ],
    waiting: [],
  });
  assert.deepEqual(directory.skipped, []);
});

test('a new market waits until it has a price', () => {
  const ledger = partialLedger(market('ABC'));
  const directory = ofFirstDex(ledger, listed('ABC'), listed('DEF'));
  const { events, waiting } = describeMarketChanges(ledger, directory, NO_PRICES);
  assert.deepEqual([events, waiting], [[], ['DEF']]);
});

test('what has not changed is not recorded again', () => {
  const ledger = partialLedger(DEX, market('ABC'), market('xyz:GOLD'));
  const metas = [meta([listed('ABC')]), meta([listed('xyz:GOLD')])];
  const directory = directoryOf(ledger, [null, XYZ], metas);
  assert.deepEqual(describeNewDexes(ledger, directory), []);
  const prices = new Map([['ABC', 1]]);
  const changes = describeMarketChanges(ledger, directory, prices);
  assert.deepEqual(changes, { events: [], waiting: [] });
});

test('new tiers are recorded with the price that the market has', () => {
  const ledger = partialLedger(market('ABC', { markPx: '77.5' }));
  const directory = ofFirstDex(ledger, listed('ABC', { marginTableId: 1001 }));
  assert.deepEqual(describeMarketChanges(ledger, directory, NO_PRICES).events, [
    market('ABC', { marginTiers: TIERS, markPx: '77.5' }),
  ]);
});

const ISOLATED: [string, Record<string, unknown>, boolean][] = [
  ['onlyIsolated', { onlyIsolated: true }, true],
  ['the mode strictIsolated', { marginMode: 'strictIsolated' }, true],
  ['the mode noCross', { marginMode: 'noCross' }, true],
  ['another mode', { marginMode: 'normal' }, false],
  ['nothing', { isDelisted: true }, false],
];

for (const [name, details, onlyIsolated] of ISOLATED) {
  test(`a market with ${name} is ${onlyIsolated ? '' : 'not '}only isolated`, () => {
    assert.equal(
      ofFirstDex(partialLedger(), listed('ABC', details)).find('ABC')?.onlyIsolated,
      onlyIsolated,
    );
  });
}

test('a table number below 50 that is not listed is a single tier of that leverage', () => {
  const directory = ofFirstDex(partialLedger(), listed('ABC', { marginTableId: 3 }));
  assert.deepEqual(
    directory.find('ABC')?.tiers.map(({ lowerBound, maxLeverage }) => [lowerBound, maxLeverage]),
    [[0, 3]],
  );
});

const SKIPPED: [string, Record<string, unknown>, string][] = [
  [
    'a name with other characters',
    listed('A-B'),
    'coin: got "A-B", expected NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9',
  ],
  [
    'a name of another dex',
    listed('xyz:GOLD'),
    'coin: got "xyz:GOLD", expected a coin without a colon',
  ],
  [
    'more decimals than a price can have',
    listed('BAD', { szDecimals: 7 }),
    'szDecimals: got 7, expected a whole number from 0 to 6',
  ],
  [
    'a table that is not listed',
    listed('BAD', { marginTableId: 1002 }),
    'marginTiers: got nothing, expected an array',
  ],
  [
    'other decimals than it had',
    listed('ABC', { szDecimals: 3 }),
    'szDecimals: got 3, expected 2, which cannot change',
  ],
];

for (const [name, listing, reason] of SKIPPED) {
  test(`a market that the vocabulary cannot hold is skipped and named: ${name}`, () => {
    const ledger = partialLedger(market('ABC'));
    const directory = ofFirstDex(ledger, listing, listed('GOOD'));
    assert.deepEqual(directory.skipped, [{ name: listing['name'], reason }]);
    assert.deepEqual(describeMarketChanges(ledger, directory, NO_PRICES).waiting, ['GOOD']);
  });
}

test('a dex that the vocabulary cannot hold is skipped with its markets', () => {
  const ledger = partialLedger();
  const metas = [meta([]), meta([listed('toolong:GOLD')]), meta([listed('xyz:GOLD')])];
  const directory = directoryOf(ledger, [null, { ...XYZ, name: 'toolong' }, XYZ], metas);
  assert.deepEqual(directory.skipped, [
    { name: 'toolong', reason: 'dex: got "toolong", expected 1 to 6 of a-z and 0-9' },
  ]);
  assert.deepEqual(describeNewDexes(ledger, directory), [DEX]);
  assert.deepEqual(describeMarketChanges(ledger, directory, NO_PRICES).waiting, ['xyz:GOLD']);
});

test('a market that the upstream no longer lists stays', () => {
  const ledger = partialLedger(market('ABC'), market('OLD'));
  const directory = ofFirstDex(ledger, listed('ABC'));
  assert.equal(directory.find('OLD')?.coin, 'OLD');
  assert.deepEqual(directory.universeOf(''), ['ABC']);
});

test('before the first answer, the directory is that of the ledger', () => {
  const directory = directoryOfLedger(partialLedger(DEX, market('xyz:GOLD')));
  assert.equal(directory.find('xyz:GOLD')?.dexIndex, 1);
  assert.equal(directory.universeOf('xyz'), undefined);
  assert.equal(directory.collateralTokenOf('xyz'), 0);
});

test('the token of a dex is the one that its meta names', () => {
  const metas = [meta([]), { ...meta([]), collateralToken: 235 }];
  const directory = directoryOf(partialLedger(), [null, XYZ], metas);
  assert.deepEqual(
    ['', 'xyz'].map((dex) => directory.collateralTokenOf(dex)),
    [0, 235],
  );
});

const SHAPES: [string, unknown, string][] = [
  ['an error', null, 'answer: got null, expected an array'],
  ['an object', { 0: null }, 'answer: got an object, expected an array'],
];

for (const [name, answer, message] of SHAPES) {
  test(`perpDexs of the wrong shape is refused: ${name}`, () => {
    mustRefuse(readPerpDexs(answer), 'shape', message);
  });
}

test('lists that are far too long are refused', () => {
  const dexes = Array.from({ length: 1_001 }, (_, index) => ({ ...XYZ, name: `d${index}` }));
  const tooMany = 'answer: got an array of 1001, expected at most 1000 dexes';
  mustRefuse(readPerpDexs(dexes), 'shape', tooMany);
  const universe = Array.from({ length: 10_001 }, (_, index) => listed(`C${index}`));
  const tooLong = 'universe: got an array of 10001, expected at most 10000 markets';
  mustRefuse(readMeta(meta(universe)), 'shape', tooLong);
  const halves = [meta(universe.slice(0, 6_000)), meta(universe.slice(6_000))];
  const together = 'answer: got an array of 2, expected at most 10000 markets';
  mustRefuse(readAllPerpMetas(halves, mustRead(readPerpDexs([null, XYZ]))), 'shape', together);
});

test('thousands of markets are listed, each one that cannot be held is left out', () => {
  const isOdd = (index: number) => index % 3 === 1;
  const universe = Array.from({ length: 3_000 }, (_, index) =>
    listed(isOdd(index) ? `other:C${index}` : `C${index}`),
  );
  const directory = directoryOf(partialLedger(), [null], [meta(universe)]);
  assert.equal(directory.markets.length, 2_000);
  assert.deepEqual(
    directory.skipped.map(({ name }) => name),
    universe.map(({ name }) => name).filter((_, index) => isOdd(index)),
  );
  assert.ok(directory.find('C2999') !== undefined);
});

test('a meta without markets is refused, one without tables is not', () => {
  const message = 'universe: got nothing, expected an array';
  mustRefuse(readMeta({ marginTables: [] }), 'shape', message);
  const { universe, odd } = mustRead(
    readMeta({ universe: [{ name: 'ABC', szDecimals: 2, maxLeverage: 50 }] }),
  );
  assert.deepEqual(universe[0]?.tiers, [{ lowerBound: '0.0', maxLeverage: 50 }]);
  assert.deepEqual(odd, []);
});

test('elements of perpDexs that name no dex keep their place, and are named unless they are null', () => {
  const { dexes, odd } = mustRead(readPerpDexs([null, null, 7, {}, { name: 7 }, XYZ, []]));
  assert.deepEqual(
    dexes.map((dex) => dex?.name),
    ['', undefined, undefined, undefined, undefined, 'xyz', undefined],
  );
  assert.deepEqual(odd, [
    { name: 'perpDexs[2]', reason: 'got 7, expected an object' },
    { name: 'perpDexs[3]', reason: 'name: got nothing, expected text' },
    { name: 'perpDexs[4]', reason: 'name: got 7, expected text' },
    { name: 'perpDexs[6]', reason: 'got an array of 0, expected an object' },
  ]);
});

test('metas are in the order of all places, or of those that name a dex', () => {
  const dexes = mustRead(readPerpDexs([null, null, XYZ]));
  const [first, xyz] = [meta([listed('ABC')]), meta([listed('xyz:GOLD')])];
  for (const metas of [
    [first, null, xyz],
    [first, xyz],
  ]) {
    const read = mustRead(readAllPerpMetas(metas, dexes));
    assert.deepEqual(
      [...read].map(([dex, { universe }]) => [dex, universe[0]?.name]),
      [
        ['', 'ABC'],
        ['xyz', 'xyz:GOLD'],
      ],
    );
  }
  const message = 'universe: got "xyz:GOLD", expected a coin of dex ""';
  mustRefuse(readAllPerpMetas([xyz, first], dexes), 'shape', message);
});

test('metas that are not as many as the dexes are refused', () => {
  const dexes = mustRead(readPerpDexs([null, XYZ]));
  const message = 'answer: got an array of 1, expected 2 metas, one for each dex';
  mustRefuse(readAllPerpMetas([meta([])], dexes), 'shape', message);
});

test('the markets of another perpinfo are taken over as they are', () => {
  const exchange = createSimulator({ seed: 'markets', accounts: 20 });
  while (!exchange.isSetUp) exchange.next();
  const ask = (type: string) => JSON.parse(answerQuestion(exchange.state, { type }));
  const ledger = createState();
  const directory = directoryOf(ledger, ask('perpDexs'), ask('allPerpMetas'));
  const prices = new Map(
    exchange.state.markets.markets.map(({ coin }, index) => [
      coin,
      exchange.state.markets.markPrice(index),
    ]),
  );
  append(ledger, [
    ...describeNewDexes(ledger, directory),
    ...describeMarketChanges(ledger, directory, prices).events,
  ]);
  for (const type of ['perpDexs', 'allPerpMetas', 'allMids']) {
    assert.equal(answerQuestion(ledger, { type }), answerQuestion(exchange.state, { type }));
  }
});

test('the traded markets of a dex are those of its universe that the ledger can hold', () => {
  const ledger = partialLedger(DEX, market('FOREIGN'), market('OLD'), market('xyz:GONE'));
  const directory = directoryOf(
    ledger,
    [null, XYZ],
    [
      meta([listed('DEF'), listed('A-B'), listed('OLD', { isDelisted: true }), listed('ABC')]),
      meta([listed('ABC'), listed('xyz:GOLD', { isDelisted: null })]),
    ],
  );
  const coinsOf = (dex: string) => directory.listTraded(dex).map(({ coin }) => coin);
  assert.deepEqual(coinsOf(''), ['DEF', 'ABC']);
  assert.deepEqual(coinsOf('xyz'), ['xyz:GOLD']);
  assert.deepEqual(directoryOfLedger(ledger).listTraded(''), []);
});

/** The figures of an account equal those of the twin at any size, with the short cut through plain numbers and without. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseBlock } from '../../src/events/event.ts';
import { parseAddress } from '../../src/exact/address.ts';
import { formatUnits } from '../../src/exact/decimal.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { findAccount } from '../../src/state/accounts.ts';
import { accountTotals } from '../../src/state/figures/account-totals.ts';
import {
  accountFigures,
  type MarginSummary,
  type PositionFigures,
  returnOnEquity,
} from '../../src/state/figures/figures.ts';
import { liquidationPrice } from '../../src/state/figures/liquidation.ts';
import { QuickFigures } from '../../src/state/figures/quick-figures.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState } from '../../src/state/state.ts';
import { runs, SEED_NOTE } from '../../tools/harness/seed.ts';
import type { WireEvent } from '../../tools/naive-twin/naive-block.ts';
import {
  type AccountFigures,
  figureAccount,
  writeFigures,
} from '../../tools/naive-twin/naive-figures.ts';
import { foldBlock } from '../../tools/naive-twin/naive-fold.ts';
import { createNaiveState } from '../../tools/naive-twin/naive-state.ts';
import {
  dividedBy,
  halfUp,
  minus,
  type Rational,
  rational,
  times,
  ZERO,
} from '../../tools/naive-twin/rational.ts';
import {
  accountEvents,
  marketEvent,
  randomMarket,
  randomTieredAccount,
} from './random-accounts.ts';

const USER = `0x${'a'.repeat(40)}`;

/** A whole number of 10^-decimals, rounded to nearest. */
function unitsOf(value: Rational, decimals = 6): bigint {
  return halfUp(times(value, rational(10n ** BigInt(decimals))));
}

function summaryOf({ accountValue, totalNtlPos, totalRawUsd, totalMarginUsed }: MarginSummary) {
  return [accountValue, totalNtlPos, totalRawUsd, totalMarginUsed].map(BigInt);
}

type NaiveSummary = AccountFigures['marginSummary'];

function naiveSummaryOf(summary: NaiveSummary): bigint[] {
  const { accountValue, totalNtlPos, totalRawUsd, totalMarginUsed } = summary;
  return [accountValue, totalNtlPos, totalRawUsd, totalMarginUsed].map((value) => unitsOf(value));
}

function positionOf(figures: PositionFigures, price: number | bigint | undefined) {
  const { value, unrealizedPnl, marginUsed, maintenanceMargin, rawUsd } = figures;
  return {
    amounts: [value, unrealizedPnl, marginUsed, maintenanceMargin, rawUsd].map(BigInt),
    returnOnEquity: BigInt(returnOnEquity(figures)),
    liquidationPrice: price === undefined ? undefined : BigInt(price),
    terms: [figures.isIsolated, figures.leverage, figures.maxLeverage, figures.size],
  };
}

function naivePositionOf(naive: AccountFigures['positions'][number]) {
  const { pv, entryNtl, side, marginUsed, maintenance, rawUsd, leverage, liquidation } = naive;
  const gain = times(side, minus(pv, entryNtl));
  const ratio =
    entryNtl.numerator === 0n ? ZERO : dividedBy(times(gain, rational(leverage)), entryNtl);
  const { maxLeverage } = naive.tiers[naive.tierIndex];
  return {
    amounts: [pv, gain, marginUsed, maintenance, rawUsd].map((value) => unitsOf(value)),
    returnOnEquity: unitsOf(ratio, 10),
    liquidationPrice: liquidation && unitsOf(liquidation.price, 10),
    terms: [!naive.isCross, leverage, maxLeverage, Number(naive.position.szi)],
  };
}

/** Both kinds of figures of one account, after one block of these events. */
function assertFigures(events: WireEvent[]): void {
  const block = { height: 1, time: 0, events };
  const state = createState();
  applyBlock(state, parseBlock(JSON.stringify(block)));
  const folded = foldBlock(createNaiveState(), block);
  assert.ok(folded.isAccepted);
  const naive = figureAccount(folded.state, USER, '');
  const answer = answerQuestion(state, { type: 'clearinghouseState', user: USER });
  assert.equal(answer, writeFigures(naive, 0));
  const address = parseAddress(USER) ?? assert.fail();
  const account = findAccount(state, state.addresses.find(address), 0);
  const figures = accountFigures(state, account);
  assert.deepEqual(summaryOf(figures.summary), naiveSummaryOf(naive.marginSummary));
  assert.deepEqual(summaryOf(figures.crossSummary), naiveSummaryOf(naive.crossMarginSummary));
  assert.deepEqual(
    [figures.crossMaintenanceMargin, figures.withdrawable].map(BigInt),
    [naive.crossMaintenanceMarginUsed, naive.withdrawable].map((value) => unitsOf(value)),
  );
  assert.deepEqual(
    figures.positions.map((each) => positionOf(each, liquidationPrice(figures, each))),
    naive.positions.map(naivePositionOf),
  );
  const gains = naive.positions.map((each) => naivePositionOf(each).amounts[1]);
  const gain = gains.reduce((sum, each) => sum + each, 0n);
  assert.equal(BigInt(accountTotals(state, account).unrealizedPnl), gain);
}

test(`the exact figures and the answer are those of the twin at any size ${SEED_NOTE}`, () => {
  const markets = fc.array(randomMarket, { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(markets, randomTieredAccount, (drawnMarkets, drawnAccount) => {
      const events = accountEvents(drawnAccount, drawnMarkets, USER);
      assertFigures([...drawnMarkets.map(marketEvent), ...events]);
    }),
    runs(200),
  );
});

/** An ordinary account: dollars, in a market with two tiers. */
function accountWith(...positions: readonly Partial<Choices>[]): WireEvent[] {
  const market = (coin: string): WireEvent => ({
    type: 'market',
    dex: '',
    coin,
    szDecimals: 2,
    marginTiers: [
      { lowerBound: '0.0', maxLeverage: 40 },
      { lowerBound: '1000.0', maxLeverage: 20 },
    ],
    onlyIsolated: false,
    markPx: '10.0',
  });
  const given = positions.map(({ szi = '5.0', entryNtl = '40.0', isolated }, index) => ({
    coin: `M${index}`,
    szi,
    entryNtl,
    leverage:
      isolated === undefined
        ? ({ type: 'cross', value: 7 } as const)
        : ({ type: 'isolated', value: 7, rawUsd: isolated } as const),
    cumFunding: { allTime: '1.0', sinceOpen: '1.0', sinceChange: '1.0' },
  }));
  const account: WireEvent = {
    type: 'account',
    user: USER,
    dex: '',
    rawUsd: '100.0',
    positions: given,
  };
  return [...positions.map((_, index) => market(`M${index}`)), account];
}

interface Choices {
  readonly szi: string;
  readonly entryNtl: string;
  /** The raw USD of an isolated position. */
  readonly isolated: string;
}

const ORDINARY: readonly [what: string, positions: readonly Partial<Choices>[]][] = [
  ['no position', []],
  ['a long and a short', [{}, { szi: '-5.0' }]],
  ['an isolated position', [{ isolated: '-30.0' }]],
  ['a position without a gain', [{ entryNtl: '50.0' }]],
  ['a position that cannot be liquidated', [{ szi: '1.0' }]],
  ['a position in the second tier', [{ szi: '-500.0', entryNtl: '4000.0' }]],
];

function assertPlain(events: WireEvent[]): void {
  assertFigures(events);
  const state = createState();
  applyBlock(state, parseBlock(JSON.stringify({ height: 1, time: 0, events })));
  assert.equal(new QuickFigures().compute(state, 1), true);
}

for (const [what, positions] of ORDINARY) {
  test(`the figures of an account with ${what} are computed in plain numbers`, () => {
    assertPlain(accountWith(...positions));
  });
}

test('a position whose entry was reduced to nothing has no return', () => {
  const reduce = { side: 'A', sz: '1.0', px: '10.0', fee: '0.0' } as const;
  const events = accountWith({ entryNtl: '0.000001' });
  assertPlain([...events, { type: 'fill', user: USER, coin: 'M0', ...reduce }]);
});

test('a position that was closed has no figures', () => {
  const close = { side: 'A', sz: '5.0', px: '10.0', fee: '0.0' } as const;
  assertPlain([...accountWith({}, {}), { type: 'fill', user: USER, coin: 'M0', ...close }]);
});

test('a liquidation price that is rounded up to a whole dollar has no further digits', () => {
  // The price is twice 50,001.499999 by 100,003: a dollar less two parts of 10^11.
  const market: WireEvent = {
    type: 'market',
    dex: '',
    coin: 'M0',
    szDecimals: 0,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 1 }],
    onlyIsolated: false,
    markPx: '10.0',
  };
  const [, account] = accountWith({ szi: '100003.0', isolated: '-50001.499999' });
  assertPlain([market, account]);
  const state = createState();
  const block = { height: 1, time: 0, events: [market, account] };
  applyBlock(state, parseBlock(JSON.stringify(block)));
  const answer = JSON.parse(answerQuestion(state, { type: 'clearinghouseState', user: USER }));
  assert.equal(answer.assetPositions[0].position.liquidationPx, '1.0');
});

/** Amounts around the powers of two at which sums and products leave the safe integers. */
const nearLimit = fc
  .tuple(fc.integer({ min: 38, max: 52 }), fc.integer({ min: -40, max: 40 }), fc.nat(99))
  .map(
    ([exponent, offset, share]) =>
      2 ** exponent + Math.trunc((2 ** exponent * share) / 100) + offset,
  );
const near = fc.record({
  cash: nearLimit,
  isDebt: fc.boolean(),
  orderMargin: fc.oneof(nearLimit, fc.constant(0)),
  collateral: fc.oneof(nearLimit, fc.constant(0)),
  size: fc.oneof(fc.integer({ min: -9, max: 9 }), fc.integer({ min: -100_000, max: 100_000 })),
  price: nearLimit,
  entryNotional: nearLimit,
  isolated: fc.option(nearLimit),
  leverage: fc.integer({ min: 1, max: 40 }),
  bound: nearLimit,
  furtherLeverage: fc.integer({ min: 1, max: 50 }),
});

const usd = (units: number) => formatUnits(units, 6);

type Near = typeof near extends fc.Arbitrary<infer T> ? T : never;

/** One position in a market with two tiers. */
function eventsNear(drawn: Near): WireEvent[] {
  const { size, isolated, leverage } = drawn;
  const position = {
    coin: 'M0',
    szi: `${size === 0 ? 1 : size}.0`,
    entryNtl: usd(drawn.entryNotional),
    leverage:
      isolated === null
        ? ({ type: 'cross', value: leverage } as const)
        : ({ type: 'isolated', value: leverage, rawUsd: usd(-isolated) } as const),
    cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
  };
  const rawUsd = usd(drawn.isDebt ? -drawn.cash : drawn.cash);
  return [
    {
      type: 'market',
      dex: '',
      coin: 'M0',
      szDecimals: 0,
      marginTiers: [
        { lowerBound: '0.0', maxLeverage: 40 },
        { lowerBound: usd(drawn.bound), maxLeverage: drawn.furtherLeverage },
      ],
      onlyIsolated: false,
      markPx: usd(Math.max(1, Math.trunc(drawn.price / (Math.abs(size) || 1)))),
    },
    { type: 'account', user: USER, dex: '', rawUsd, positions: [position] },
    { type: 'orderMargin', user: USER, dex: '', amount: usd(drawn.orderMargin) },
    { type: 'collateral', user: USER, dex: '', amount: usd(drawn.collateral) },
  ];
}

test(`around the safe integers the figures are those of the twin as well ${SEED_NOTE}`, () => {
  fc.assert(
    fc.property(near, (drawn) => assertFigures(eventsNear(drawn))),
    runs(1000),
  );
});

const SMALL: Near = {
  cash: 0,
  isDebt: false,
  orderMargin: 0,
  collateral: 0,
  size: 1,
  price: 2,
  entryNotional: 1,
  isolated: null,
  leverage: 1,
  bound: 1000,
  furtherLeverage: 40,
};
const SAFE_MAX = Number.MAX_SAFE_INTEGER;

/** Amounts in millionths of a dollar, each with a figure that plain numbers would get wrong. */
const BEYOND_PLAIN: readonly [what: string, near: Partial<Near>][] = [
  [
    'the value at which a short position is liquidated',
    {
      ...{ size: -1, price: 4e15, entryNotional: 4e15, bound: SAFE_MAX },
      ...{ cash: 1e15, collateral: SAFE_MAX - 1e15 + 2 },
    },
  ],
  [
    'a sum of raw USD',
    {
      ...{ price: 4.5e15, entryNotional: 4.5e15, isolated: SAFE_MAX },
      ...{ cash: 4e15 + 2, isDebt: true },
    },
  ],
  ['order margin and cash', { cash: SAFE_MAX, orderMargin: SAFE_MAX }],
  ['collateral and cash', { cash: SAFE_MAX, collateral: SAFE_MAX }],
  [
    'a maintenance margin before its division',
    {
      price: 201_915_526_305_056,
      entryNotional: 201_915_526_305_056,
      bound: 176_492_916_208_956,
      furtherLeverage: 1000,
    },
  ],
  [
    'a gain by the leverage',
    { price: 2 ** 49, entryNotional: 30_000_036_513, leverage: 41, bound: SAFE_MAX },
  ],
  [
    'a size by the divisor of its liquidation price',
    { size: 1e14, price: 1e14, entryNotional: 1e14, isolated: 9e13, bound: SAFE_MAX },
  ],
];

for (const [what, beyond] of BEYOND_PLAIN) {
  test(`${what} beyond the safe integers: the figures are those of the twin`, () => {
    assertFigures(eventsNear({ ...SMALL, ...beyond }));
  });
}

test('a gain of the smallest unit has a return', () => {
  assertFigures(eventsNear(SMALL));
});

test('gains whose sum is beyond the safe integers are added exactly', () => {
  const entryNtl = usd(SAFE_MAX);
  const [first, second, account] = accountWith(
    { szi: '0.01', entryNtl },
    { szi: '0.02', entryNtl },
  );
  assertFigures([
    { ...first, markPx: '0.0001' },
    { ...second, markPx: '0.0001' },
    account,
  ] as WireEvent[]);
});

/** The denominators of their fractions are products of all their leverages; the numerators are smaller. */
function fineTiers(count: number, step: number) {
  const primes = [997, 991, 983, 977, 971, 967].slice(0, count);
  return primes.map((maxLeverage, index) => ({ lowerBound: usd(step * index), maxLeverage }));
}

const FINE: readonly [what: string, count: number, step: number, value: number][] = [
  ['a value below tiers with a denominator beyond the safe integers', 6, 10, 5],
  ['a value in a tier with a denominator beyond the safe integers', 6, 10, 1_000_000],
  ['a value in a tier with a divisor beyond the safe integers', 5, 1, 4],
];

for (const [what, count, step, price] of FINE) {
  test(`${what}: the figures are those of the twin`, () => {
    for (const isolated of [price - 1, null]) {
      const [market, ...rest] = eventsNear({ ...SMALL, price, entryNotional: price, isolated });
      assertFigures([{ ...market, marginTiers: fineTiers(count, step) } as WireEvent, ...rest]);
    }
  });
}

test('the objects of an account are used again for the next one', () => {
  const state = createState();
  const block = { height: 1, time: 0, events: accountWith({}, {}) };
  applyBlock(state, parseBlock(JSON.stringify(block)));
  const figures = new QuickFigures();
  figures.compute(state, 1);
  const positions = [...figures.positions];
  figures.compute(state, 1);
  assert.deepEqual([positions.length, figures.positions.length], [2, 2]);
  assert.ok(figures.positions.every((position, index) => position === positions[index]));
});

/** In millionths of a dollar: figures below 2^53 whose products are beyond it. */
const LARGE: readonly [what: string, near: Partial<Near>][] = [
  ['billions of cash, and as much in a long position', { cash: 4e15, size: 4, price: 4e15 }],
  ['billions of cash, and as much in a short position', { cash: 4e15, size: -4, price: 4e15 }],
  ['an isolated position of billions', { isolated: 3e15, size: 4, price: 4e15 }],
  ['a debt of billions', { cash: 4e15, isDebt: true, size: 4, price: 4.5e15 }],
  ['a position of billions in the second tier', { size: 4, price: 4e15, bound: 1e15 + 1 }],
  [
    'a return whose division takes more than plain numbers',
    { size: 4, price: 4e15, entryNotional: 4e15 - 1, bound: 1e15 },
  ],
  [
    'a liquidation price whose division takes more than plain numbers',
    { size: 1e14, price: 1e14, entryNotional: 1e14, isolated: 9e13 },
  ],
];

for (const [what, choices] of LARGE) {
  test(`the figures of an account with ${what} are computed in plain numbers`, () => {
    assertPlain(eventsNear({ ...SMALL, entryNotional: 3e15, ...choices }));
  });
}

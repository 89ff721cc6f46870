/** What the page says of an account's risk: never better than its worst position. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runs, SEED_NOTE } from '../../../tools/harness/seed.ts';
import type { AccountState, Position } from '../../../web/src/figures/answers.ts';
import { parseDecimal } from '../../../web/src/figures/decimal.ts';
import { judgeAccount } from '../../../web/src/figures/risk.ts';
import {
  describeThresholds,
  formatDistance,
  formatMarginRatio,
  LEVELS,
  type Level,
} from '../../../web/src/figures/risk-levels.ts';

interface Wish {
  readonly coin?: string;
  readonly type?: 'cross' | 'isolated';
  /** The mark is 100. */
  readonly liquidationPx?: string | null;
  readonly marginUsed?: string;
}

/** A long position of 1 at a mark of 100. */
function createPosition({
  coin = 'NEAR',
  type = 'cross',
  liquidationPx = null,
  marginUsed = '10.0',
}: Wish): Position {
  return {
    ...{ coin, szi: '1.0', positionValue: '100.0', liquidationPx, marginUsed, maxLeverage: 20 },
    leverage: { type, value: 10, rawUsd: '-90.0' },
    ...{ entryPx: '100.0', unrealizedPnl: '0.0', returnOnEquity: '0.0' },
    cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
  };
}

function createState(
  wishes: readonly Wish[],
  { maintenance = '0.0', value = '1000.0' } = {},
): AccountState {
  const summary = {
    ...{ accountValue: value, totalNtlPos: '0.0', totalRawUsd: '0.0', totalMarginUsed: '0.0' },
  };
  return {
    ...{ marginSummary: summary, crossMarginSummary: summary, withdrawable: '0.0', time: 0 },
    crossMaintenanceMarginUsed: maintenance,
    assetPositions: wishes.map((wish) => ({ type: 'oneWay', position: createPosition(wish) })),
  };
}

const EXAMPLES: readonly (readonly [AccountState, string, string])[] = [
  [createState([]), 'nothing at risk', ''],
  [createState([], { value: '0.0' }), 'nothing at risk', ''],
  [createState([], { value: '-0.01' }), 'at risk', 'the account value is negative'],
  [
    createState([{ type: 'isolated', liquidationPx: '99.0' }], { maintenance: '10.0' }),
    'at risk',
    'NEAR isolated, 1.0 % to liquidation',
  ],
  [
    createState([{ liquidationPx: '50.0' }, { coin: 'BTC', liquidationPx: '99.8' }]),
    'at risk',
    'BTC cross, 0.2 % to liquidation',
  ],
  [
    createState([{ liquidationPx: '99.0' }, { coin: 'BTC', liquidationPx: '98.0' }]),
    'at risk',
    'NEAR cross, 1.0 % to liquidation',
  ],
  [createState([{ liquidationPx: '95.0' }]), 'watch', 'NEAR cross, 5.0 % to liquidation'],
  [createState([{ liquidationPx: '85.0' }]), 'healthy', 'NEAR cross, 15.0 % to liquidation'],
  [createState([{ liquidationPx: '101.0' }]), 'at risk', 'NEAR cross, at its liquidation price'],
  [
    createState([{ type: 'isolated', marginUsed: '-1.0' }]),
    'at risk',
    'NEAR isolated, its margin is lost',
  ],
  [
    createState([{ liquidationPx: '10.0' }], { maintenance: '500.0' }),
    'watch',
    '50.00 % of the cross margin used',
  ],
  [
    createState([{ liquidationPx: '10.0' }], { maintenance: '800.0' }),
    'at risk',
    '80.00 % of the cross margin used',
  ],
  [
    createState([{ liquidationPx: null }], { maintenance: '1.0', value: '0.0' }),
    'at risk',
    'no cross margin is left',
  ],
];

for (const [state, word, cause] of EXAMPLES) {
  test(`the verdict: ${word}${cause && `, ${cause}`}`, () => {
    const verdict = judgeAccount([['', state]]);
    assert.deepEqual([verdict.word, verdict.cause], [word, cause]);
  });
}

test('an account that is negative is at risk', () => {
  const state = createState([{ liquidationPx: null }], { value: '-1.0' });
  assert.equal(judgeAccount([['', state]]).level, 'danger');
});

test('what is owed on a dex without positions is named with it, beside a healthy one', () => {
  const states = [
    ['', createState([{ liquidationPx: '50.0' }])],
    ['abc', createState([], { value: '-3.0' })],
  ] as const;
  const { word, cause } = judgeAccount(states);
  assert.deepEqual([word, cause], ['at risk', 'the account value on abc is negative']);
});

test('the worst of all dexes counts, and is named with its dex', () => {
  const states = [
    ['', createState([{ liquidationPx: '50.0' }])],
    ['abc', createState([{ coin: 'abc:GOLD', liquidationPx: null }], { maintenance: '900.0' })],
  ] as const;
  const { word, cause } = judgeAccount(states);
  assert.deepEqual([word, cause], ['at risk', '90.00 % of the cross margin on abc used']);
});

/** Integers only, so that the model is exact: prices in millionths, amounts in hundredths. */
interface DrawnPosition {
  readonly type: 'cross' | 'isolated';
  readonly isLong: boolean;
  readonly size: bigint;
  readonly mark: bigint;
  readonly liquidation: bigint | null;
  readonly margin: bigint;
}

interface DrawnDex {
  readonly positions: readonly DrawnPosition[];
  readonly maintenance: bigint;
  readonly crossValue: bigint;
  readonly value: bigint;
}

const between = (min: bigint, max: bigint) => fc.bigInt({ min, max });

/** Around every threshold, a hundredth of a per cent from it, and anywhere. */
const distanceInHundredths = fc.oneof(
  fc.constantFrom(-1n, 0n, 1n, 499n, 500n, 501n, 1_499n, 1_500n, 1_501n),
  between(-500n, 3_000n),
  between(-20_000n, 9_999n),
);

const drawnPosition: fc.Arbitrary<DrawnPosition> = fc
  .record({
    type: fc.constantFrom('cross', 'isolated'),
    isLong: fc.boolean(),
    size: between(1n, 100_000n),
    markInHundredths: between(1n, 10_000_000n),
    distance: fc.option(distanceInHundredths, { freq: 4 }),
    margin: fc.oneof(
      { weight: 5, arbitrary: between(1n, 1_000_000n) },
      { weight: 1, arbitrary: between(-100n, 0n) },
    ),
  })
  .map(({ markInHundredths, distance, ...rest }) => {
    const mark = markInHundredths * 10_000n;
    const moved = (distance ?? 0n) * markInHundredths;
    const liquidation = rest.isLong ? mark - moved : mark + moved;
    const isPrice = distance !== null && liquidation > 0n;
    return { ...rest, mark, liquidation: isPrice ? liquidation : null };
  });

const drawnDex: fc.Arbitrary<DrawnDex> = fc
  .record({
    positions: fc.array(drawnPosition, { maxLength: 4 }),
    used: fc.oneof(
      fc.constantFrom(0n, 4_999n, 5_000n, 5_001n, 7_999n, 8_000n, 8_001n, 10_000n),
      between(0n, 12_000n),
    ),
    crossValue: fc.oneof(
      { weight: 6, arbitrary: between(1n, 10_000n).map((one) => one * 10_000n) },
      { weight: 1, arbitrary: between(-10_000n, 0n) },
    ),
    value: fc.oneof(
      { weight: 6, arbitrary: between(0n, 100_000_000n) },
      { weight: 1, arbitrary: fc.oneof(fc.constantFrom(-1n, 0n), between(-100_000_000n, -1n)) },
    ),
  })
  .map(({ used, ...rest }) => ({
    ...rest,
    maintenance: rest.crossValue > 0n ? (used * rest.crossValue) / 10_000n : used,
  }));

function writeUnits(units: bigint, decimals: number): string {
  const digits = `${units < 0n ? -units : units}`.padStart(decimals + 1, '0');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

const coinOf = (dexIndex: number, index: number) => `COIN${dexIndex}${index}`;

function writePosition(drawn: DrawnPosition, coin: string): Position {
  const { type, isLong, size, mark, liquidation, margin } = drawn;
  return {
    ...createPosition({ coin, type, marginUsed: writeUnits(margin, 2) }),
    szi: writeUnits(isLong ? size : -size, 2),
    positionValue: writeUnits(size * mark, 8),
    liquidationPx: liquidation === null ? null : writeUnits(liquidation, 6),
  };
}

function writeState(drawn: DrawnDex, dexIndex: number): AccountState {
  const { marginSummary: summary, ...state } = createState([]);
  return {
    ...state,
    marginSummary: { ...summary, accountValue: writeUnits(drawn.value, 2) },
    crossMarginSummary: { ...summary, accountValue: writeUnits(drawn.crossValue, 2) },
    crossMaintenanceMarginUsed: writeUnits(drawn.maintenance, 2),
    assetPositions: drawn.positions.map((position, index) => ({
      ...{ type: 'oneWay', position: writePosition(position, coinOf(dexIndex, index)) },
    })),
  };
}

const dexNames = ['', 'abc', 'idx', 'xyz'];

/** What is within a threshold, by the words that name it. */
interface Within {
  readonly level: Exclude<Level, 'safe'>;
  readonly cause: RegExp;
}

function findWithin(accounts: readonly DrawnDex[]): Within[] {
  const found: Within[] = [];
  const note = (isDanger: boolean, isWatch: boolean, cause: string) => {
    if (isDanger) found.push({ level: 'danger', cause: new RegExp(cause) });
    else if (isWatch) found.push({ level: 'watch', cause: new RegExp(cause) });
  };
  for (const [dexIndex, { positions, maintenance, crossValue, value }] of accounts.entries()) {
    const where = dexIndex === 0 ? '' : ` on ${dexNames[dexIndex]}`;
    note(value < 0n, false, `^the account value${where} is negative$`);
    if (positions.length === 0) continue;
    for (const [index, { type, isLong, mark, liquidation, margin }] of positions.entries()) {
      const name = `^${coinOf(dexIndex, index)} ${type}, `;
      note(type === 'isolated' && margin <= 0n, false, `${name}its margin is lost$`);
      if (liquidation === null) continue;
      const left = isLong ? mark - liquidation : liquidation - mark;
      note(20n * left < mark, 20n * left < 3n * mark, `${name}(at its|[\\d.]+ % to) liquidation`);
    }
    const isDanger = maintenance > 0n && 5n * maintenance >= 4n * crossValue;
    const isWatch = maintenance > 0n && 2n * maintenance >= crossValue;
    note(isDanger, isWatch, `cross margin${where} (used|is left)$`);
  }
  return found;
}

test(`no account within a threshold is called healthy, and the cause is within it ${SEED_NOTE}`, () => {
  const seen = new Set<string>();
  const property = fc.property(fc.array(drawnDex, { maxLength: dexNames.length }), (accounts) => {
    const states = accounts.map((drawn, index) => {
      return [dexNames[index], writeState(drawn, index)] as const;
    });
    const within = findWithin(accounts);
    const { level, word, cause } = judgeAccount(states);
    const worst = within.some((one) => one.level === 'danger') ? 'danger' : 'watch';
    assert.equal(level, within.length === 0 ? 'safe' : worst);
    if (within.length === 0) {
      const isEmpty = accounts.every(({ positions }) => positions.length === 0);
      assert.equal(word, isEmpty ? 'nothing at risk' : 'healthy');
      assert.equal(cause === '', isEmpty);
    } else {
      assert.doesNotMatch(word, /healthy|nothing/);
      const named = within.find((one) => one.level === level && one.cause.test(cause));
      assert.ok(named, `${cause} is not within a threshold`);
    }
    seen.add(level).add(cause.replace(/[\d.]+|abc|idx|xyz/g, ''));
  });
  fc.assert(property, runs(1_000));
  // Nothing of what may be said was left out.
  for (const said of [
    ...LEVELS,
    'COIN isolated, its margin is lost',
    'the account value is negative',
  ]) {
    assert.ok(seen.has(said), `${said} of ${[...seen]}`);
  }
});

test('what is shown is on the side of a threshold on which it is judged to be', () => {
  const distances = ['0.04951', '0.04999', '0.05', '0.05049', '0.1496', '0.15', '0.1234'];
  assert.deepEqual(
    distances.map((distance) => formatDistance(parseDecimal(distance))),
    ['4.9', '4.9', '5.0', '5.0', '14.9', '15.0', '12.3'],
  );
  const ratios = ['0.499949', '0.499951', '0.5', '0.799999', '0.8', '0.12345'];
  assert.deepEqual(
    ratios.map((ratio) => formatMarginRatio(parseDecimal(ratio))),
    ['49.99', '49.99', '50.00', '79.99', '80.00', '12.35'],
  );
});

test('the thresholds are told in words', () => {
  assert.equal(
    describeThresholds(),
    '“watch” from 50 % of the cross margin, or below 15 % to liquidation; ' +
      '“at risk” from 80 % of the cross margin, or below 5 % to liquidation.',
  );
});

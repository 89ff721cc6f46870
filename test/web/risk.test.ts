/** What the page says of an account's risk: never better than its worst position. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AccountState, Position } from '../../web/src/figures/answers.ts';
import { judgeAccount } from '../../web/src/figures/risk.ts';
import { describeThresholds, LEVELS, type Level } from '../../web/src/figures/risk-levels.ts';
import { runs, SEED_NOTE } from '../seed.ts';

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

for (const [state, word, culprit] of EXAMPLES) {
  test(`the verdict: ${word}${culprit && `, ${culprit}`}`, () => {
    const verdict = judgeAccount([['', state]]);
    assert.deepEqual([verdict.word, verdict.culprit], [word, culprit]);
  });
}

test('an account that is negative is at risk', () => {
  const state = createState([{ liquidationPx: null }], { value: '-1.0' });
  assert.equal(judgeAccount([['', state]]).level, 'danger');
});

test('the worst of all dexes counts, and is named with its dex', () => {
  const states = [
    ['', createState([{ liquidationPx: '50.0' }])],
    ['abc', createState([{ coin: 'abc:GOLD', liquidationPx: null }], { maintenance: '900.0' })],
  ] as const;
  const { word, culprit } = judgeAccount(states);
  assert.deepEqual([word, culprit], ['at risk', '90.00 % of the cross margin on abc used']);
});

/** The levels of figures, by hand. */
function levelOf(distance: number, ratio: number): Level {
  if (distance < 5 || ratio >= 80) return 'danger';
  return distance < 15 || ratio >= 50 ? 'watch' : 'safe';
}

test(`no verdict is better than what is worst ${SEED_NOTE}`, () => {
  const whole = fc.integer({ min: 1, max: 99 });
  const account = fc.record({ distances: fc.array(whole, { minLength: 1 }), ratio: whole });
  const property = fc.property(fc.array(account, { minLength: 1, maxLength: 4 }), (accounts) => {
    const states = accounts.map(({ distances, ratio }, index) => {
      const wishes = distances.map((distance) => ({ liquidationPx: `${100 - distance}.0` }));
      return [`dex${index}`, createState(wishes, { maintenance: `${ratio * 10}.0` })] as const;
    });
    const levels = accounts.flatMap(({ distances, ratio }) =>
      distances.map((distance) => LEVELS.indexOf(levelOf(distance, ratio))),
    );
    assert.equal(LEVELS.indexOf(judgeAccount(states).level), Math.max(...levels));
  });
  fc.assert(property, runs(200));
});

test('the thresholds are told in words', () => {
  assert.equal(
    describeThresholds(),
    '“watch” from 50 % of the cross margin, or below 15 % to liquidation; ' +
      '“at risk” from 80 % of the cross margin, or below 5 % to liquidation.',
  );
});

/** An account over its dexes: what is shown of it, and its totals. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdingsOf, keyOf, pickDex, totalsOf } from '../../../web/src/figures/all-dexes.ts';
import type { AccountState, States } from '../../../web/src/figures/answers.ts';
import { findTightest } from '../../../web/src/figures/risk.ts';
import { position } from './position.ts';

interface Wish {
  readonly value: string;
  readonly maintenance?: string;
  readonly coins?: readonly string[];
}

function createState({ value, maintenance = '0.0', coins = [] }: Wish): AccountState {
  const summary = {
    ...{ accountValue: value, totalNtlPos: '0.2', totalRawUsd: '0.0', totalMarginUsed: '0.1' },
  };
  return {
    ...{ marginSummary: summary, crossMarginSummary: summary, withdrawable: '0.000001', time: 0 },
    crossMaintenanceMarginUsed: maintenance,
    assetPositions: coins.map((coin) => ({
      type: 'oneWay',
      position: position(coin, '1.0', '1.0'),
    })),
  };
}

const STATES: States = [
  ['', createState({ value: '9007199254740993.000001', coins: ['A', 'B'] })],
  ['xyz', createState({ value: '-0.000001', coins: ['A'] })],
  ['abc', createState({ value: '0.5' })],
];

test('totals are exact, over all dexes or one', () => {
  assert.deepEqual(totalsOf(STATES), {
    accountValue: '9007199254740993.5',
    totalNtlPos: '0.6',
    totalMarginUsed: '0.3',
    withdrawable: '0.000003',
  });
  assert.equal(totalsOf(pickDex(STATES, 'xyz')).accountValue, '-0.000001');
  assert.equal(totalsOf(pickDex(STATES, '')).accountValue, '9007199254740993.000001');
  assert.deepEqual(pickDex(STATES, 'nope'), []);
  assert.equal(pickDex(STATES, undefined), STATES);
});

test('positions are named by dex and coin', () => {
  assert.deepEqual(holdingsOf(STATES).map(keyOf), [' A', ' B', 'xyz A']);
});

test('the tightest dex has the largest share of maintenance, or no margin left', () => {
  const tightestOf = (...wishes: readonly Wish[]) => {
    const states = wishes.map((wish, index) => [`d${index}`, createState(wish)] as const);
    return findTightest(states)?.[0];
  };
  assert.equal(tightestOf(), undefined);
  assert.equal(tightestOf({ value: '0.0' }, { value: '5.0' }), 'd0');
  assert.equal(
    tightestOf({ value: '10.0', maintenance: '4.0' }, { value: '1.0', maintenance: '0.5' }),
    'd1',
  );
  assert.equal(
    tightestOf({ value: '10.0', maintenance: '9.0' }, { value: '0.0', maintenance: '0.1' }),
    'd1',
  );
});

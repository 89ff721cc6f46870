/** The figures of a row of the board. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boardFiguresOf,
  changeBetween,
  nextUnlockOf,
} from '../../../web/src/figures/board-figures.ts';
import { formatDecimal } from '../../../web/src/figures/decimal.ts';
import { accountState } from './account-state.ts';
import { position } from './position.ts';

test('figures are summed over all dexes, exactly', () => {
  const figures = boardFiguresOf([
    [
      '',
      accountState({
        value: '100.1',
        maintenance: '10.01',
        positions: [
          position('BTC', '2.0', '200.0', { unrealizedPnl: '-0.3', liquidationPx: '50.5' }),
          position('ETH', '-1.0', '400.0', { unrealizedPnl: '0.1', liquidationPx: '440.0' }),
        ],
      }),
    ],
    [
      'abc',
      accountState({
        value: '0.02',
        positions: [position('abc:GOLD', '1.0', '5.000001', { unrealizedPnl: '1.0' })],
      }),
    ],
  ]);
  const { marginRatio, nearest, verdict, value, long, short, net, unrealizedPnl } = figures;
  assert.deepEqual(
    { value, long, short, net, unrealizedPnl },
    {
      value: '100.12',
      long: '205.000001',
      short: '400.0',
      net: '-194.999999',
      unrealizedPnl: '0.8',
    },
  );
  assert.equal(marginRatio && formatDecimal(marginRatio), '0.1');
  assert.deepEqual([nearest?.coin, nearest?.distance, nearest?.loss], ['ETH', '10.0 %', '40.0']);
  assert.equal(verdict.cause, 'ETH cross, 10.0 % to liquidation');
});

test('what a long position loses until its liquidation is its value now less that then', () => {
  const long = position('A', '3.0', '300.0', { liquidationPx: '99.5' });
  assert.equal(boardFiguresOf([['', accountState({ positions: [long] })]]).nearest?.loss, '1.5');
});

test('without positions there is nothing to be liquidated', () => {
  const { nearest, verdict, net } = boardFiguresOf([['', accountState({})]]);
  assert.deepEqual([nearest, verdict.word, net], [undefined, 'nothing at risk', '0.0']);
});

test('if maintenance is due and nothing is left there is no margin ratio', () => {
  const positions = [position('A', '1.0', '1.0')];
  const empty = accountState({ value: '0.0', maintenance: '1.0', positions });
  assert.equal(
    boardFiguresOf([
      ['', accountState({})],
      ['abc', empty],
    ]).marginRatio,
    undefined,
  );
});

test('a change is an amount and a share of what there was', () => {
  assert.deepEqual(changeBetween('200.0', '190.0'), { amount: '-10.0', percent: '-5.0' });
  assert.deepEqual(changeBetween('-2.0', '1.0'), { amount: '3.0', percent: '150.0' });
  assert.deepEqual(changeBetween('0.0', '1.0'), { amount: '1.0', percent: undefined });
});

test('the next stake to be unlocked is the first one of those that are locked', () => {
  const stakes = [50, 10, 30, 20].map((lockedUntilTimestamp) => ({
    ...{ validator: '0x1', amount: `${lockedUntilTimestamp}.0`, lockedUntilTimestamp },
  }));
  assert.equal(nextUnlockOf(stakes, 10)?.amount, '20.0');
  assert.equal(nextUnlockOf(stakes, 50), undefined);
});

/** Figures with all their digits. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  digitsOfAccount,
  digitsOfAuction,
  digitsOfPosition,
  digitsOfStake,
  digitsOfStakes,
  digitsOfSums,
  type NamedFigure,
} from '../../../web/src/figures/all-digits.ts';
import type { AccountState } from '../../../web/src/figures/answers.ts';
import { position } from './position.ts';

const textsOf = (figures: readonly NamedFigure[]) =>
  Object.fromEntries(figures.map(({ label, text }) => [label, text]));

const BTC = position('BTC', '-0.5', '43000.123456', {
  unrealizedPnl: '-0.10000001',
  liquidationPx: '137959.8353909465',
  marginUsed: '4300.012',
  cumFunding: { allTime: '-3.25', sinceOpen: '0.125', sinceChange: '0.0' },
});

test('a position has every digit of the endpoint, its mark, and funding as it was received', () => {
  assert.deepEqual(textsOf(digitsOfPosition(BTC)), {
    Size: '-0.5',
    Value: '43000.123456',
    Entry: '1.0',
    Mark: '86000.246912',
    'Unrealized profit': '-0.10000001',
    'Return on equity': '0.0',
    Margin: '4300.012',
    'Liquidation price': '137959.8353909465',
    'Funding received since open': '-0.125',
    'Funding received since change': '0.0',
    'Funding received of all time': '3.25',
  });
  const without = textsOf(digitsOfPosition(position('ETH', '1.0', '2.0')));
  assert.equal('Liquidation price' in without, false);
});

test('sums are exact', () => {
  const other = position('ETH', '1.0', '0.000001', { unrealizedPnl: '0.1', marginUsed: '0.0001' });
  assert.deepEqual(
    textsOf(digitsOfSums([BTC, other].map((each) => ({ dex: '', position: each })))),
    {
      Value: '43000.123457',
      'Unrealized profit': '-0.00000001',
      Margin: '4300.0121',
      'Funding received since open': '-0.125',
    },
  );
  const delegations = ['0.00000001', '2.5'].map((amount) => ({
    ...{ validator: `0x${'1'.repeat(40)}`, amount, lockedUntilTimestamp: 0 },
  }));
  assert.deepEqual(textsOf(digitsOfStakes(delegations)), { Amount: '2.50000001' });
  assert.deepEqual(textsOf(digitsOfStake(delegations[0])), {
    Validator: `0x${'1'.repeat(40)}`,
    Amount: '0.00000001',
  });
});

test('an account has the figures of its panel, and the change of its value if there is one', () => {
  const summary = (accountValue: string) => ({
    ...{ accountValue, totalNtlPos: '43000.123456', totalRawUsd: '0.0', totalMarginUsed: '1.5' },
  });
  const state: AccountState = {
    marginSummary: summary('43000.123456'),
    crossMarginSummary: summary('17.000001'),
    crossMaintenanceMarginUsed: '3.00000001',
    withdrawable: '5.5',
    assetPositions: [{ type: 'oneWay', position: BTC }],
    time: 0,
  };
  const expected = {
    'Account value': '43000.123456',
    'Margin used': '1.5',
    Withdrawable: '5.5',
    'Position value': '43000.123456',
    'Unrealized profit': '-0.10000001',
    Leverage: '1.0',
    Long: '0.0',
    Short: '43000.123456',
    'Net exposure': '-43000.123456',
    'Cross maintenance margin': '3.00000001',
    'Cross account value': '17.000001',
  };
  const states = [['', state]] as const;
  assert.deepEqual(textsOf(digitsOfAccount(states, undefined)), expected);
  assert.deepEqual(textsOf(digitsOfAccount(states, { amount: '-0.000001', ratio: undefined })), {
    ...expected,
    'Change of the account value': '-0.000001',
  });
});

test('over several dexes an account has totals, and the cross margin of the tightest', () => {
  const summary = (accountValue: string) => ({
    ...{ accountValue, totalNtlPos: '0.0', totalRawUsd: '0.0', totalMarginUsed: '0.0' },
  });
  const stateOf = (value: string, maintenance: string): AccountState => ({
    marginSummary: summary(value),
    crossMarginSummary: summary(value),
    crossMaintenanceMarginUsed: maintenance,
    withdrawable: value,
    assetPositions: [],
    time: 0,
  });
  const states = [
    ['', stateOf('100.0', '1.0')],
    ['abc', stateOf('10.000001', '5.0')],
  ] as const;
  const texts = textsOf(digitsOfAccount(states, undefined));
  assert.equal(texts['Account value'], '110.000001');
  assert.equal(texts['Cross maintenance margin on dex abc'], '5.0');
  assert.equal(texts['Cross account value on dex abc'], '10.000001');
});

test('an auction says whether its price is the present one or the last one', () => {
  const auction = { startTimeSeconds: 0, durationSeconds: 1, startGas: '9.0', currentGas: '7.5' };
  assert.deepEqual(textsOf(digitsOfAuction({ ...auction, endGas: null }, '5.0')), {
    'Cost now': '7.5',
    Start: '9.0',
    Floor: '5.0',
  });
  assert.deepEqual(textsOf(digitsOfAuction({ ...auction, endGas: '7.5' }, undefined)), {
    'Ended at': '7.5',
    Start: '9.0',
  });
});

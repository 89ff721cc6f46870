/** Delegations, spot balances and trades. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAddress, parseAddress } from '../../../src/exact/address.ts';
import { readDelegationsAnswer } from '../../../src/feed/follow/dialect/delegations-answer.ts';
import { readAbstraction, readCollateral } from '../../../src/feed/follow/dialect/spot-answer.ts';
import { readTrades } from '../../../src/feed/follow/dialect/trade-message.ts';
import { mustRead, mustRefuse, TIME, USER } from './ledgers.ts';

const ADDRESS = parseAddress(USER) ?? assert.fail();
const VALIDATOR = `0x${'B2'.repeat(20)}`;

function delegation(change: Record<string, unknown> = {}) {
  return { validator: VALIDATOR, amount: '12060.16529862', lockedUntilTimestamp: TIME, ...change };
}

test('a list of delegations becomes the event that replaces the recorded one', () => {
  const other = `0x${'c3'.repeat(20)}`;
  const answer = [delegation(), delegation({ validator: other, amount: '1.50' })];
  assert.deepEqual(readDelegationsAnswer(answer, ADDRESS), {
    type: 'delegations',
    user: USER,
    delegations: [
      delegation({ validator: VALIDATOR.toLowerCase() }),
      delegation({ validator: other, amount: '1.5' }),
    ],
  });
});

test('an empty list is recorded too, and an amount of zero is no delegation', () => {
  const empty = { type: 'delegations', user: USER, delegations: [] };
  assert.deepEqual(readDelegationsAnswer([], ADDRESS), empty);
  assert.deepEqual(readDelegationsAnswer([delegation({ amount: '0.0' })], ADDRESS), empty);
});

const DELEGATIONS: [string, unknown, string][] = [
  ['an error', null, 'answer: got null, expected an array'],
  [
    'a validator twice',
    [delegation(), delegation()],
    'validator: got an array of 2, expected each validator once',
  ],
  [
    'a validator that is no address',
    [delegation({ validator: '0x12' })],
    '[0].validator: got "0x12", expected 0x and 40 hexadecimal digits',
  ],
  [
    'a negative amount',
    [delegation(), delegation({ amount: '-1.0' })],
    '[1].amount: got "-1.0", expected an amount of 0 or more',
  ],
  [
    'an amount with more decimals than stakes have',
    [delegation({ amount: '0.123456789' })],
    '[0].amount: got "0.123456789", expected a decimal with at most 8 decimals',
  ],
  [
    'no time',
    [delegation({ lockedUntilTimestamp: undefined })],
    '[0].lockedUntilTimestamp: got nothing, expected a whole number from 0 to 8640000000000000',
  ],
];

for (const [name, answer, message] of DELEGATIONS) {
  test(`delegations that cannot be recorded are refused: ${name}`, () => {
    mustRefuse(readDelegationsAnswer(answer, ADDRESS), 'shape', message);
  });
}

test('the modes of an account', () => {
  const modes = ['default', 'disabled', 'unifiedAccount', 'portfolioMargin'];
  const unified = modes.map((mode) => mustRead(readAbstraction(mode)).isUnified);
  assert.deepEqual(unified, [false, false, true, true]);
  const message = 'answer: got null, expected the mode of an account as text';
  mustRefuse(readAbstraction(null), 'shape', message);
});

const BALANCES = {
  balances: [
    { coin: 'HYPE', token: 150, total: '3.123456789012', hold: '0.0', entryNtl: '1.0' },
    { coin: 'USDC', token: 0, total: '7018.01645', hold: '480.705469', entryNtl: '0.0' },
    { coin: 'USDX', token: 235, total: '1.12345678', hold: '0.12345600', entryNtl: '0.0' },
  ],
};

test('the collateral is the total without what the perp account holds, rounded down', () => {
  assert.equal(readCollateral(BALANCES, 0), 6_537_310_981);
  assert.equal(readCollateral(BALANCES, 235), 1_000_000);
});

test('a token without a balance is no collateral', () => {
  assert.equal(readCollateral(BALANCES, 7), 0);
  assert.equal(readCollateral({ balances: [] }, 0), 0);
});

test('balances that contradict themselves or have the wrong shape are refused', () => {
  const balance = { token: 0, total: '1.0', hold: '2.0' };
  const message = 'total: got 1.0, expected at least hold, 2.0, by at most 2^53 millionths';
  mustRefuse(readCollateral({ balances: [balance] }, 0), 'figure', message);
  const shape = 'balances: got nothing, expected an array';
  mustRefuse(readCollateral({}, 0), 'shape', shape);
});

test('trades name both sides and their time', () => {
  const trade = {
    ...{ coin: 'ABC', side: 'B', px: '100.0', sz: '1.0', time: TIME, hash: '0x', tid: 1 },
    users: [USER, VALIDATOR],
  };
  const [{ coin, time, users }] = mustRead(readTrades([trade]));
  assert.deepEqual(
    [coin, time, users.map(formatAddress)],
    ['ABC', TIME, [USER, VALIDATOR.toLowerCase()]],
  );
  assert.deepEqual(readTrades([]), []);
});

test('trades of the wrong shape are refused', () => {
  const trade = { coin: 'ABC', time: TIME, users: [USER, 'nobody'] };
  const message = '[0].users[1]: got "nobody", expected 0x and 40 hexadecimal digits';
  mustRefuse(readTrades([trade]), 'shape', message);
  mustRefuse(readTrades({}), 'shape', 'answer: got an object, expected an array');
});

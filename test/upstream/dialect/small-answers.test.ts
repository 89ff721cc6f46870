/** Delegations, spot balances and trades. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { describeValue } from '../../../src/events/refusal.ts';
import { formatAddress, parseAddress } from '../../../src/exact/address.ts';
import { readReportedAccount } from '../../../src/upstream/dialect/account-shape.ts';
import { readDelegationsAnswer } from '../../../src/upstream/dialect/delegations-answer.ts';
import { readAnswer } from '../../../src/upstream/dialect/dialect.ts';
import {
  hasKnownRules,
  readCollateral,
  readMode,
} from '../../../src/upstream/dialect/spot-answer.ts';
import { readTrades } from '../../../src/upstream/dialect/trade-message.ts';
import { PROJECT } from '../../../tools/harness/paths.ts';
import { mustRead, mustRefuse, TIME, USER } from '../follower/ledgers.ts';

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

test('the modes of an account, and those whose rules are not known', () => {
  const modes = ['default', 'disabled', 'unifiedAccount', 'portfolioMargin', 'dexAbstraction'];
  assert.deepEqual(
    modes.map((mode) => mustRead(readMode(mode))),
    modes,
  );
  assert.deepEqual(modes.map(hasKnownRules), [true, true, true, false, false]);
  for (const odd of [null, '', 'a b', 'x'.repeat(41), ['default']]) {
    mustRefuse(
      readMode(odd),
      'shape',
      `answer: got ${describeValue(odd)}, expected the mode of an account: 1 to 40 letters or digits as text`,
    );
  }
});

const BALANCES = {
  balances: [
    { coin: 'HYPE', token: 150, total: '3.123456789012', hold: '0.0', entryNtl: '1.0' },
    { coin: 'USDC', token: 0, total: '7018.01645', hold: '480.705469', entryNtl: '0.0' },
    { coin: 'USDX', token: 235, total: '1.12345678', hold: '0.12345600', entryNtl: '0.0' },
    { coin: 'USDY', token: 236, total: '1543038.7473044', hold: '543038.7473040001' },
    { coin: 'USDZ', token: 237, total: '1.0', hold: '-0.123456789' },
  ],
};

/** An account without positions. */
const PERP = mustRead(
  readAnswer(() =>
    readReportedAccount({
      marginSummary: summary('1000000.5'),
      crossMarginSummary: summary('1000000.5'),
      crossMaintenanceMarginUsed: '20.25',
      withdrawable: '0.0',
      assetPositions: [],
      time: TIME,
    }),
  ),
);

function summary(accountValue: string) {
  return { accountValue, totalNtlPos: '0.0', totalRawUsd: accountValue, totalMarginUsed: '0.0' };
}

test('the collateral is the total without what the perp account holds, rounded down', () => {
  assert.equal(readCollateral(BALANCES, 0, PERP), 6_537_310_981);
  assert.equal(readCollateral(BALANCES, 235, PERP), 1_000_000);
});

test('a hold has the noise of a double, and may be below 0', () => {
  assert.equal(readCollateral(BALANCES, 236, PERP), 1_000_000_000_000);
  assert.equal(readCollateral(BALANCES, 237, PERP), 1_123_456);
});

test('what is available after maintenance counts before total and hold', () => {
  const spot = { ...BALANCES, tokenToAvailableAfterMaintenance: [[0, '2000000.1234567891'], 7] };
  // 2000000.12345678 + 20.25 - 1000000.5
  assert.equal(readCollateral(spot, 0, PERP), 1_000_019_873_456);
  assert.equal(readCollateral(spot, 7, PERP), 0, 'a token that has no balance');
  mustRefuse(
    readCollateral(spot, 235, PERP),
    'shape',
    'tokenToAvailableAfterMaintenance: got an array of 2, expected a list that has the token 235',
  );
  const odd = { ...BALANCES, tokenToAvailableAfterMaintenance: {} };
  mustRefuse(
    readCollateral(odd, 0, PERP),
    'shape',
    'tokenToAvailableAfterMaintenance: got an object, expected an array',
  );
});

test('the recorded spot answer of a unified account', () => {
  const text = readFileSync(path.join(PROJECT, 'test/recorded/unified-01.json'), 'utf8');
  const [perp, spot] = JSON.parse(text).answers;
  const reported = mustRead(readAnswer(() => readReportedAccount(perp)));
  assert.equal(readCollateral(spot, 0, reported), 982_506_795 + 3_203_883 - 25_185_181);
});

test('a token without a balance is no collateral', () => {
  assert.equal(readCollateral(BALANCES, 7, PERP), 0);
  assert.equal(readCollateral({ balances: [] }, 0, PERP), 0);
});

test('a collateral below 0 and a wrong shape are refused', () => {
  const balance = { token: 0, total: '-1.0', hold: '2.0' };
  const message =
    'collateral: got -3.0, expected a spot balance of 0 or more behind the positions, of at most 2^53 millionths';
  mustRefuse(readCollateral({ balances: [balance] }, 0, PERP), 'figure', message);
  const shape = 'balances: got nothing, expected an array';
  mustRefuse(readCollateral({}, 0, PERP), 'shape', shape);
  const pairs = { tokenToAvailableAfterMaintenance: [[0, 5]], balances: [] };
  mustRefuse(
    readCollateral(pairs, 0, PERP),
    'shape',
    'tokenToAvailableAfterMaintenance: got 5, expected a decimal as text',
  );
});

test('trades name both sides and their time', () => {
  const trade = {
    ...{ coin: 'ABC', side: 'B', px: '100.0', sz: '1.0', time: TIME, hash: '0x', tid: 1 },
    users: [USER, VALIDATOR],
  };
  const [{ coin, time, users }] = mustRead(readTrades([trade])).trades;
  assert.deepEqual(
    [coin, time, users.map(formatAddress)],
    ['ABC', TIME, [USER, VALIDATOR.toLowerCase()]],
  );
  assert.deepEqual(readTrades([]), { trades: [], odd: undefined });
});

test('trades of the wrong shape are refused', () => {
  const trade = { coin: 'ABC', time: TIME, users: [USER, 'nobody'] };
  const message = '[0].users[1]: got "nobody", expected 0x and 40 hexadecimal digits';
  const good = { ...trade, users: [USER, USER] };
  const { trades, odd } = mustRead(readTrades([null, good, trade]));
  assert.deepEqual(
    trades.map(({ coin }) => coin),
    ['ABC'],
    'the others are read',
  );
  mustRefuse(odd, 'shape', '[0]: got null, expected an object');
  mustRefuse(mustRead(readTrades([trade])).odd, 'shape', message);
  mustRefuse(readTrades({}), 'shape', 'answer: got an object, expected an array');
});

/** Answers that cannot be read, and pushed accounts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAccountAnswer } from '../../../src/upstream/dialect/account-answer.ts';
import { checkAccount } from '../../../src/upstream/dialect/account-check.ts';
import { readPushedAccounts } from '../../../src/upstream/dialect/account-shape.ts';
import { NO_DEXES, readMeta } from '../../../src/upstream/dialect/market-answers.ts';
import {
  createDirectory,
  directoryOfLedger,
} from '../../../src/upstream/dialect/market-directory.ts';
import { isSameRatio } from '../../../src/upstream/dialect/same-ratio.ts';
import {
  type AnsweredAccount,
  type AnsweredPosition,
  askAccount,
} from '../follower/as-upstream.ts';
import { DEX, market, mustRead, mustRefuse, partialLedger, USER } from '../follower/ledgers.ts';

const FUNDING = { allTime: '1.5', sinceOpen: '0.5', sinceChange: '0.0' };
const LEDGER = partialLedger(DEX, market('ABC'), market('DEF'), market('xyz:GOLD'), {
  type: 'account',
  user: USER,
  dex: '',
  rawUsd: '500.0',
  positions: [
    {
      coin: 'ABC',
      szi: '2.5',
      entryNtl: '240.0',
      leverage: { type: 'cross', value: 10 },
      cumFunding: FUNDING,
    },
    {
      coin: 'DEF',
      szi: '-1.0',
      entryNtl: '90.0',
      leverage: { type: 'isolated', value: 5, rawUsd: '118.0' },
      cumFunding: FUNDING,
    },
  ],
});
const directory = directoryOfLedger(LEDGER);

function read(answer: unknown, dex = '') {
  return readAccountAnswer(answer, { dex, directory, collateral: 0 });
}

function answerWith(change: (answer: AnsweredAccount) => void): AnsweredAccount {
  const answer = askAccount(LEDGER, USER, '');
  change(answer);
  return answer;
}

function answerWithPosition(change: Partial<Record<keyof AnsweredPosition, unknown>>): unknown {
  return answerWith(({ assetPositions }) => Object.assign(assetPositions[0].position, change));
}

test('the rows of an answer are those that it was computed from', () => {
  const { rows } = mustRead(read(askAccount(LEDGER, USER, '')));
  const [first, second] = rows.positions.map(({ market: { coin }, ...row }) => ({ coin, ...row }));
  assert.deepEqual([rows.cash, rows.orderMargin, rows.isOrderMarginExact], [500_000_000, 0, true]);
  const funding = { fundingAllTime: 1_500_000, fundingSinceOpen: 500_000, fundingSinceChange: 0 };
  assert.deepEqual(first, {
    ...{ coin: 'ABC', size: 250, entryNotional: 240_000_000, markPrice: 1_000_000 },
    ...{ mode: 'cross', leverage: 10, rawUsd: 0 },
    ...funding,
  });
  assert.deepEqual(second, {
    ...{ coin: 'DEF', size: -100, entryNotional: 90_000_000, markPrice: 1_000_000 },
    ...{ mode: 'isolated', leverage: 5, rawUsd: 118_000_000 },
    ...funding,
  });
});

test('fields that we do not know are ignored', () => {
  const answer = { ...askAccount(LEDGER, USER, ''), news: [1] };
  assert.equal(mustRead(read(answer)).rows.positions.length, 2);
});

test('the two figures in doubles may have an exponent', () => {
  const answer = answerWithPosition({ returnOnEquity: '4.1666666666e-1', liquidationPx: null });
  assert.deepEqual(checkAccount(mustRead(read(answer)), directory), []);
});

test('a figure that is infinite is like no other', () => {
  for (const infinite of ['1e999', '-1e999']) {
    assert.equal(isSameRatio('12.5', infinite, 0), false);
    assert.equal(isSameRatio(infinite, '12.5', 0), false);
  }
});

test('an isolated leg that has outlived its position shows in the totals', () => {
  const answer = answerWith(({ marginSummary }) => {
    marginSummary.accountValue = '769.0';
    marginSummary.totalRawUsd = '619.0';
  });
  const fields = checkAccount(mustRead(read(answer)), directory).map(({ field }) => field);
  assert.deepEqual(fields, ['marginSummary.accountValue', 'marginSummary.totalRawUsd']);
});

test('a collateral shows in the liquidation price of cross positions, if one has such a price', () => {
  const isShown = (answer: unknown) => mustRead(read(answer)).rows.isCollateralShown;
  assert.equal(isShown(answerWithPosition({ liquidationPx: null })), false);
  assert.equal(isShown(answerWithPosition({ liquidationPx: '12.0' })), true);
  const isolated = answerWith((told) => {
    told.assetPositions.splice(0, 1);
    told.withdrawable = '0.0';
  });
  assert.equal(isShown(isolated), true);
});

test('where nothing is withdrawable, the order margin is at least what would be free', () => {
  const answer = answerWith((told) => {
    told.withdrawable = '0.0';
  });
  const { orderMargin, isOrderMarginExact } = mustRead(read(answer)).rows;
  assert.deepEqual([orderMargin, isOrderMarginExact], [725_000_000, false]);
});

const SHAPES: [string, unknown, string][] = [
  ['nothing', null, 'answer: got null, expected an object'],
  ['text', 'busy', 'answer: got "busy", expected an object'],
  ['a list', [], 'answer: got an array of 0, expected an object'],
  [
    'no summary',
    answerWith((told) => Object.assign(told, { marginSummary: undefined })),
    'marginSummary: got nothing, expected an object',
  ],
  [
    'a number for an amount',
    answerWith((told) => Object.assign(told, { withdrawable: 12 })),
    'withdrawable: got 12, expected a decimal as text',
  ],
  [
    'an exponent',
    answerWith((told) => Object.assign(told.marginSummary, { accountValue: '1e3' })),
    'marginSummary.accountValue: got "1e3", expected a decimal as text',
  ],
  [
    'positions that are no list',
    answerWith((told) => Object.assign(told, { assetPositions: {} })),
    'assetPositions: got an object, expected an array',
  ],
  [
    'no coin',
    answerWithPosition({ coin: undefined }),
    'assetPositions[0].position.coin: got nothing, expected text',
  ],
  [
    'a leverage that is a number',
    answerWithPosition({ leverage: 20 }),
    'assetPositions[0].position.leverage: got 20, expected an object',
  ],
  [
    'a price of liquidation that is missing',
    answerWithPosition({ liquidationPx: undefined }),
    'assetPositions[0].position.liquidationPx: got nothing, expected a number as text',
  ],
  [
    'a time in text',
    answerWith((told) => Object.assign(told, { time: '12' })),
    'time: got "12", expected a whole number from 1 to 8640000000000000',
  ],
];

for (const [name, answer, message] of SHAPES) {
  test(`an answer of the wrong shape is refused: ${name}`, () => {
    mustRefuse(read(answer), 'shape', message);
  });
}

test('the place in a list is in the message, not in the name that is counted', () => {
  const error = read(answerWithPosition({ marginUsed: null }));
  assert.ok(error instanceof Error && 'mismatch' in error);
  assert.deepEqual(error.mismatch, {
    field: 'assetPositions.position.marginUsed',
    coin: undefined,
    ours: 'a decimal as text',
    theirs: 'null',
  });
});

const FIGURES: [string, unknown, string][] = [
  [
    'a value that no price gives',
    answerWithPosition({ positionValue: '250.000001' }),
    'positionValue of ABC: got 250.000001, expected a multiple of the size, by a price above 0',
  ],
  [
    'a value of zero',
    answerWithPosition({ positionValue: '0.0' }),
    'positionValue of ABC: got 0.0, expected a multiple of the size, by a price above 0',
  ],
  [
    'a gain above the value',
    answerWithPosition({ unrealizedPnl: '250.0' }),
    'unrealizedPnl of ABC: got 250.0, expected a gain that leaves an entry value above 0 and within 2^53 units',
  ],
  [
    'a size with more decimals than the market has',
    answerWithPosition({ szi: '2.501' }),
    'szi of ABC: got 2.501, expected a decimal with at most 2 decimals',
  ],
  [
    'a leverage that is not whole',
    answerWithPosition({ leverage: { type: 'cross', value: 2.5 } }),
    'leverage.value of ABC: got 2.5, expected a whole number from 1 to 1000',
  ],
  [
    'a margin mode that we do not know',
    answerWithPosition({ leverage: { type: 'shared', value: 2 } }),
    'leverage.type of ABC: got "shared", expected cross or isolated',
  ],
  [
    'an isolated position without rawUsd',
    answerWithPosition({ leverage: { type: 'isolated', value: 2 } }),
    'leverage.rawUsd of ABC: got nothing, expected an amount, as the position is isolated',
  ],
  [
    'a position that is not one-way',
    answerWith(({ assetPositions }) => {
      assetPositions[1].type = 'hedge';
    }),
    'type of DEF: got "hedge", expected oneWay',
  ],
  [
    'a coin twice',
    answerWith(({ assetPositions }) => assetPositions.push(assetPositions[0])),
    'coin of ABC: got ABC, expected each coin once',
  ],
  [
    'more withdrawable than is free',
    answerWith((told) => {
      told.withdrawable = '725.000001';
    }),
    'withdrawable: got 725.000001, expected at most 725.0, what positions leave free',
  ],
  [
    'a negative amount to withdraw',
    answerWith((told) => {
      told.withdrawable = '-1.0';
    }),
    'withdrawable: got -1.0, expected at most 725.0, what positions leave free',
  ],
  [
    'cash that cannot be stored',
    answerWith((told) => {
      told.crossMarginSummary.totalRawUsd = '9007199254.740992';
    }),
    'crossMarginSummary.totalRawUsd: got 9007199254.740992, expected an amount within ±9007199254.740991',
  ],
];

for (const [name, answer, message] of FIGURES) {
  test(`an answer that contradicts itself or the rules is refused: ${name}`, () => {
    mustRefuse(read(answer), 'figure', message);
  });
}

test('an answer with a coin that is not listed asks for the markets', () => {
  const message = 'coin: got "NEW", expected a coin that is listed on dex ""';
  mustRefuse(read(answerWithPosition({ coin: 'NEW' })), 'market', message);
});

test('an answer with a coin that cannot be held says why', () => {
  const entry = { name: 'A-B', szDecimals: 2, maxLeverage: 20, marginTableId: 20 };
  const meta = mustRead(readMeta({ universe: [entry], marginTables: [] }));
  const listing = { dexes: NO_DEXES, metas: new Map([['', meta]]) };
  const answer = answerWithPosition({ coin: 'A-B' });
  mustRefuse(
    readAccountAnswer(answer, {
      dex: '',
      directory: createDirectory(LEDGER, listing),
      collateral: 0,
    }),
    'market',
    'coin: got "A-B", expected a coin that the ledger can hold (coin: got "A-B", expected NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9)',
  );
});

test("an answer with another dex's coin is refused", () => {
  const message = 'coin: got "xyz:GOLD", expected a coin that is listed on dex ""';
  mustRefuse(read(answerWithPosition({ coin: 'xyz:GOLD' })), 'market', message);
});

test('an answer for a dex that is not listed is refused', () => {
  const message = 'dex: got "new", expected a dex that is listed';
  mustRefuse(read(askAccount(LEDGER, USER, ''), 'new'), 'market', message);
});

test('a pushed account names its user and dex', () => {
  const answer = askAccount(LEDGER, USER, '');
  const data = { user: USER, dex: 'xyz', clearinghouseState: answer };
  const accounts = [{ user: USER, dex: 'xyz', answer }];
  assert.deepEqual(readPushedAccounts(data), { accounts, odd: [] });
});

test('a pushed account without a dex is on the first one', () => {
  const answer = askAccount(LEDGER, USER, '');
  const data = { user: USER, clearinghouseState: answer };
  const accounts = [{ user: USER, dex: '', answer }];
  assert.deepEqual(readPushedAccounts(data), { accounts, odd: [] });
});

test('the accounts on all dexes are pushed together, and an odd element does not lose the others', () => {
  const clearinghouseStates = [['', 1], null, ['xyz'], [5, 6], ['xyz', 2]];
  const { accounts, odd } = mustRead(readPushedAccounts({ user: USER, clearinghouseStates }));
  assert.deepEqual(accounts, [
    { user: USER, dex: '', answer: 1 },
    { user: USER, dex: 'xyz', answer: 2 },
  ]);
  const expected = 'expected a pair of dex and state';
  assert.deepEqual(
    odd.map(({ message }) => message),
    [
      `clearinghouseStates[1]: got null, ${expected}`,
      `clearinghouseStates[2]: got an array of 1, ${expected}`,
      `clearinghouseStates[3]: got an array of 2, ${expected}`,
    ],
  );
});

test('a pushed message of another shape is refused', () => {
  mustRefuse(readPushedAccounts({}), 'shape', 'user: got nothing, expected text');
  mustRefuse(
    readPushedAccounts({ user: USER, clearinghouseStates: {} }),
    'shape',
    'clearinghouseStates: got an object, expected an array',
  );
});

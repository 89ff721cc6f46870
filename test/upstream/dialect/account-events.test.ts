/** What an account that was read again adds to the ledger. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from '../../../src/exact/address.ts';
import { accountTime } from '../../../src/state/partial-ledger.ts';
import {
  type AccountRows,
  readAccountAnswer,
} from '../../../src/upstream/dialect/account-answer.ts';
import {
  describeAccountChanges,
  findDifferences,
  isExplainedByFunding,
} from '../../../src/upstream/dialect/account-events.ts';
import { directoryOfLedger } from '../../../src/upstream/dialect/market-directory.ts';
import { askAccount } from '../follower/as-upstream.ts';
import { append, market, mustRead, partialLedger, TIME, USER } from '../follower/ledgers.ts';

const ADDRESS = parseAddress(USER) ?? assert.fail();
const MARKETS = [market('ABC'), market('DEF')];
const FUNDING = { allTime: '1.5', sinceOpen: '0.5', sinceChange: '0.0' };
const ISOLATED = { type: 'isolated', value: 5, rawUsd: '118.0' };
const CROSS = { type: 'cross', value: 10 };

function position(change: Record<string, unknown> = {}) {
  return {
    coin: 'ABC',
    szi: '2.5',
    entryNtl: '240.0',
    leverage: CROSS,
    cumFunding: FUNDING,
    ...change,
  };
}

function account(change: Record<string, unknown> = {}) {
  const positions = [position(), position({ coin: 'DEF', szi: '-1.0', leverage: ISOLATED })];
  return { type: 'account', user: USER, dex: '', rawUsd: '500.0', positions, ...change };
}

function amount(type: 'orderMargin' | 'collateral', value: string) {
  return { type, user: USER, dex: '', amount: value };
}

function confirmation(time: number) {
  return { type: 'accountTime', user: USER, dex: '', time };
}

/** The rows of an account as an upstream with these events answers it. */
function rowsOf(events: readonly unknown[], collateral = 0): AccountRows {
  const upstream = partialLedger(...MARKETS, ...events);
  const directory = directoryOfLedger(upstream);
  const answer = askAccount(upstream, USER, '');
  return mustRead(readAccountAnswer(answer, { dex: '', directory, collateral })).rows;
}

function changes(recorded: readonly unknown[], rows: AccountRows) {
  return describeAccountChanges(partialLedger(...MARKETS, ...recorded), ADDRESS, rows);
}

test('an account that is new to the ledger is recorded whole, with the time of its answer', () => {
  assert.deepEqual(changes([], rowsOf([account()])), [account(), confirmation(TIME)]);
});

test('an account without cash and positions is recorded too: it is known to be empty', () => {
  const empty = account({ rawUsd: '0.0', positions: [] });
  assert.deepEqual(changes([], rowsOf([empty])), [empty, confirmation(TIME)]);
});

test('an account that has not changed is confirmed, not repeated', () => {
  assert.deepEqual(changes([account()], rowsOf([account()])), [confirmation(TIME)]);
});

test('order margin and collateral have events of their own', () => {
  const told = [account(), amount('orderMargin', '30.0')];
  assert.deepEqual(changes([account()], rowsOf(told, 70_000_000)), [
    amount('orderMargin', '30.0'),
    amount('collateral', '70.0'),
    confirmation(TIME),
  ]);
});

test('orders that are gone are recorded', () => {
  const recorded = [account(), amount('orderMargin', '30.0')];
  assert.deepEqual(changes(recorded, rowsOf([account()])), [
    amount('orderMargin', '0.0'),
    confirmation(TIME),
  ]);
});

test('where nothing is withdrawable, an order margin that may still be true is kept', () => {
  const rows = rowsOf([account(), amount('orderMargin', '1000.0')]);
  assert.deepEqual(changes([account(), amount('orderMargin', '900.0')], rows), [
    confirmation(TIME),
  ]);
  assert.deepEqual(changes([account(), amount('orderMargin', '700.0')], rows), [
    amount('orderMargin', '725.0'),
    confirmation(TIME),
  ]);
});

test('an answer older than what the ledger holds changes nothing', () => {
  const rows = { ...rowsOf([account()]), time: TIME - 1 };
  assert.deepEqual(changes([account({ rawUsd: '1.0' })], rows), []);
});

test('the time of the answer is the time of the account', () => {
  const ledger = partialLedger(...MARKETS);
  const rows = { ...rowsOf([account()]), time: TIME + 5 };
  append(ledger, describeAccountChanges(ledger, ADDRESS, rows), TIME + 100);
  assert.equal(accountTime(ledger, ADDRESS, 0), TIME + 5);
});

const SURPRISES: [string, Record<string, unknown>, string[]][] = [
  ['nothing', {}, []],
  ['a transfer', { rawUsd: '600.0' }, ['rawUsd']],
  ['a position that was closed', { positions: [position()] }, ['positions']],
  [
    'a position that was closed while another was opened',
    { positions: [position({ coin: 'DEF', szi: '-1.0', leverage: ISOLATED })] },
    ['positions'],
  ],
  [
    'a position that grew',
    {
      positions: [
        position({ szi: '2.6', entryNtl: '250.0' }),
        position({ coin: 'DEF', szi: '-1.0', leverage: ISOLATED }),
      ],
    },
    ['szi', 'entryNtl'],
  ],
  [
    'another leverage',
    {
      positions: [
        position({ leverage: { type: 'cross', value: 9 } }),
        position({ coin: 'DEF', szi: '-1.0', leverage: ISOLATED }),
      ],
    },
    ['leverage'],
  ],
  [
    'margin moved into an isolated position',
    {
      rawUsd: '490.0',
      positions: [
        position(),
        position({ coin: 'DEF', szi: '-1.0', leverage: { ...ISOLATED, rawUsd: '128.0' } }),
      ],
    },
    ['rawUsd', 'leverage.rawUsd'],
  ],
  [
    'funding',
    {
      rawUsd: '499.0',
      positions: [
        position({ cumFunding: { allTime: '2.5', sinceOpen: '1.5', sinceChange: '1.0' } }),
        position({ coin: 'DEF', szi: '-1.0', leverage: ISOLATED }),
      ],
    },
    ['rawUsd', 'cumFunding.allTime', 'cumFunding.sinceOpen', 'cumFunding.sinceChange'],
  ],
];

for (const [name, change, fields] of SURPRISES) {
  test(`what differs from the ledger is named: ${name}`, () => {
    const ledger = partialLedger(...MARKETS, account());
    assert.deepEqual(findDifferences(ledger, ADDRESS, rowsOf([account(change)])), fields);
  });
}

test('an account that the ledger has never held is no surprise', () => {
  assert.deepEqual(findDifferences(partialLedger(...MARKETS), ADDRESS, rowsOf([account()])), []);
});

test('funding explains cash and funding, nothing else', () => {
  const [, , fields] = SURPRISES.at(-1) ?? assert.fail();
  assert.ok(fields.every(isExplainedByFunding));
  const others = ['szi', 'entryNtl', 'positions', 'leverage', 'orderMargin', 'collateral'];
  assert.deepEqual(others.filter(isExplainedByFunding), []);
});

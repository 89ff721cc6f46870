/** What a ledger knows of a user, and when it was last read. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { type Address, parseAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { applyBlock } from '../../src/state/fold.ts';
import {
  accountTime,
  areDelegationsKnown,
  delegationsTime,
  isAccountKnown,
} from '../../src/state/partial-ledger.ts';
import { createState, type State } from '../../src/state/state.ts';

const USER = '0xa11ce00000000000000000000000000000000001';
const VALIDATOR = '0x0a11da7040000000000000000000000000000002';
const OTHER_VALIDATOR = '0x0a11da7040000000000000000000000000000003';
const TIME = 1_758_556_800_000;
const FIRST_DEX = 0;
const SECOND_DEX = 1;

const user = addressOf(USER);

function addressOf(text: string): Address {
  const address = parseAddress(text);
  assert.ok(address !== undefined, text);
  return address;
}

const MARKETS = [
  { type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: VALIDATOR },
  {
    type: 'market',
    dex: '',
    coin: 'BTC',
    szDecimals: 5,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 40 }],
    onlyIsolated: false,
    markPx: '60000.5',
  },
];

/** The state after blocks of these events, from the given time on, a second apart. */
function stateFrom(time: number, ...blocks: readonly (readonly object[])[]): State {
  const state = createState();
  [MARKETS, ...blocks].forEach((events, index) => {
    const block = { height: index + 1, time: time + index * 1000, events };
    applyBlock(state, parseBlock(JSON.stringify(block)));
  });
  return state;
}

const ACCOUNT = { type: 'account', user: USER, dex: '', rawUsd: '10.0', positions: [] };

const NAMING_THE_ACCOUNT: readonly object[] = [
  ACCOUNT,
  { type: 'transfer', user: USER, dex: '', amount: '1.0' },
  { type: 'orderMargin', user: USER, dex: '', amount: '1.0' },
  { type: 'collateral', user: USER, dex: '', amount: '0.0' },
  { type: 'leverage', user: USER, coin: 'BTC', mode: 'cross', value: 5 },
  { type: 'fill', user: USER, coin: 'BTC', side: 'B', sz: '0.1', px: '60000.0', fee: '0.0' },
];

for (const event of NAMING_THE_ACCOUNT) {
  const { type } = event as { type: string };
  test(`after ${type} the account on its dex is known, and nothing else of the user`, () => {
    const state = stateFrom(TIME, [event]);
    assert.equal(isAccountKnown(state, user, FIRST_DEX), true);
    assert.equal(isAccountKnown(state, user, SECOND_DEX), false);
    assert.equal(areDelegationsKnown(state, user), false);
    const isRead = type === 'account';
    assert.equal(accountTime(state, user, FIRST_DEX), isRead ? TIME + 1000 : 0);
  });
}

const DELEGATE = { type: 'delegate', user: USER, validator: VALIDATOR, amount: '5.0' };
const NOT_DELEGATED = {
  type: 'delegation',
  user: USER,
  validator: VALIDATOR,
  amount: '0.0',
  lockedUntilTimestamp: 0,
};
const NO_DELEGATIONS = { type: 'delegations', user: USER, delegations: [] };

for (const event of [DELEGATE, NOT_DELEGATED, NO_DELEGATIONS]) {
  test(`after ${JSON.stringify(event)} the user's delegations are known, and no account`, () => {
    const state = stateFrom(TIME, [event]);
    assert.equal(areDelegationsKnown(state, user), true);
    assert.equal(areDelegationsKnown(state, addressOf(VALIDATOR)), false);
    assert.equal(isAccountKnown(state, user, FIRST_DEX), false);
    assert.equal(delegationsTime(state, user), event === NO_DELEGATIONS ? TIME + 1000 : 0);
  });
}

test('nothing is known of a user that no event has named', () => {
  const state = stateFrom(TIME);
  assert.equal(isAccountKnown(state, user, FIRST_DEX), false);
  assert.equal(areDelegationsKnown(state, user), false);
  assert.equal(accountTime(state, user, FIRST_DEX), 0);
  assert.equal(delegationsTime(state, user), 0);
});

test('accountTime corrects the time of an account, also to an earlier one', () => {
  const read = (time: number) => ({ type: 'accountTime', user: USER, dex: '', time });
  const corrected = stateFrom(TIME, [ACCOUNT, read(TIME + 400)]);
  assert.equal(accountTime(corrected, user, FIRST_DEX), TIME + 400);
  const confirmed = stateFrom(TIME, [ACCOUNT, read(TIME + 400)], [read(TIME + 2000)]);
  assert.equal(accountTime(confirmed, user, FIRST_DEX), TIME + 2000);
  const moved = stateFrom(TIME, [ACCOUNT], [NAMING_THE_ACCOUNT[1]]);
  assert.equal(accountTime(moved, user, FIRST_DEX), TIME + 1000);
});

test('delegations that are read at time 0 are known', () => {
  const state = createState();
  applyBlock(state, parseBlock(JSON.stringify({ height: 1, time: 0, events: [NO_DELEGATIONS] })));
  assert.equal(areDelegationsKnown(state, user), true);
});

function listed(validator: string, amount: string) {
  return { validator, amount, lockedUntilTimestamp: TIME };
}

test('delegations replaces the whole list, in its own order', () => {
  const given = [listed(OTHER_VALIDATOR, '7.0'), listed(VALIDATOR, '3.0')];
  const state = stateFrom(TIME, [DELEGATE, { ...NO_DELEGATIONS, delegations: given }]);
  assert.equal(answerQuestion(state, { type: 'delegations', user: USER }), JSON.stringify(given));
  const cleared = stateFrom(TIME, [DELEGATE], [NO_DELEGATIONS]);
  assert.equal(answerQuestion(cleared, { type: 'delegations', user: USER }), '[]');
});

test('delegations leaves those of other users as they are', () => {
  const other = { ...DELEGATE, user: OTHER_VALIDATOR };
  const state = stateFrom(TIME, [other, DELEGATE], [NO_DELEGATIONS]);
  const question = { type: 'delegations', user: OTHER_VALIDATOR };
  assert.match(answerQuestion(state, question), /"amount":"5.0"/);
});

test('a long list of delegations is replaced by another one in the same rows', () => {
  const validators = Array.from(
    { length: 8000 },
    (_, index) => `0x${`${index}`.padStart(40, 'f')}`,
  );
  const given = validators.map((validator) => listed(validator, '1.0'));
  const event = { ...NO_DELEGATIONS, delegations: given };
  const state = stateFrom(TIME, [event], [event]);
  const answer = JSON.parse(answerQuestion(state, { type: 'delegations', user: USER }));
  assert.equal(answer.length, 8000);
  assert.equal(state.delegations.rowCount, 8001);
});

test('a later delegation does not change when the list was read', () => {
  const state = stateFrom(TIME, [NO_DELEGATIONS], [DELEGATE]);
  assert.equal(delegationsTime(state, user), TIME + 1000);
});

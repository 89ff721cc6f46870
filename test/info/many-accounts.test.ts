/** Many accounts in one answer: the single answers in order, and every invalid question. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerQuestion, parseQuestion, parseSubscription } from '../../src/info/read-question.ts';
import { AnswerWriter } from '../../src/info/writing/answer-writer.ts';
import { createState } from '../../src/state/state.ts';
import { assertRefused, parseQueryText, type Refused, stateOf } from './states.ts';
import { SUBSCRIPTIONS, TYPES } from './types.ts';

const USER = '0xabcdef0000000000000000000000000000000001';
const OTHER = '0xabcdef0000000000000000000000000000000002';
const STRANGER = '0xabcdef0000000000000000000000000000000003';
const UPPER_CASE = `0x${USER.slice(2).toUpperCase()}`;

function market(dex: string, coin: string) {
  const marginTiers = [{ lowerBound: '0.0', maxLeverage: 10 }];
  return {
    type: 'market',
    dex,
    coin,
    szDecimals: 2,
    marginTiers,
    onlyIsolated: false,
    markPx: '50.0',
  };
}

function transfer(user: string, dex: string, amount: string) {
  return { type: 'transfer', user, dex, amount };
}

function buy(user: string, coin: string, sz: string) {
  return { type: 'fill', user, coin, side: 'B', sz, px: '50.0', fee: '0.0' };
}

/** Three dexes, not in the order of their names; two users with accounts on some of them. */
const STATE = stateOf(
  [
    { type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: STRANGER },
    { type: 'perpDex', dex: 'abc', fullName: 'Oils', deployer: STRANGER },
    market('', 'ETH'),
    market('xyz', 'xyz:GOLD'),
  ],
  [
    transfer(USER, '', '1000.0'),
    transfer(USER, 'xyz', '500.0'),
    transfer(OTHER, 'abc', '7.5'),
    buy(USER, 'ETH', '2.0'),
    buy(USER, 'xyz:GOLD', '1.0'),
  ],
);

function account(user: string, dex = ''): string {
  return answerQuestion(STATE, { type: 'clearinghouseState', user, dex });
}

function allDexes(user: string): string {
  return answerQuestion(STATE, { type: 'allDexsClearinghouseState', user });
}

function batch(users: readonly unknown[], dex?: string): string {
  return answerQuestion(STATE, { type: 'batchClearinghouseStates', users, dex });
}

function noAccount(value = '0.0'): string {
  const summary =
    `{"accountValue":"${value}","totalNtlPos":"0.0"` +
    `,"totalRawUsd":"${value}","totalMarginUsed":"0.0"}`;
  return (
    `{"marginSummary":${summary},"crossMarginSummary":${summary}` +
    `,"crossMaintenanceMarginUsed":"0.0","withdrawable":"${value}"` +
    ',"assetPositions":[],"time":1758556801000}'
  );
}

test('the accounts on all dexes are those on each, in the order of the dexes', () => {
  const expected = `[["",${account(USER)}],["xyz",${account(USER, 'xyz')}],["abc",${noAccount()}]]`;
  assert.equal(allDexes(USER), expected);
  assert.equal(allDexes(UPPER_CASE), expected);
  assert.equal(
    allDexes(OTHER),
    `[["",${noAccount()}],["xyz",${noAccount()}],["abc",${noAccount('7.5')}]]`,
  );
});

test('a ledger with one dex has a list of one', () => {
  const state = createState();
  const empty = answerQuestion(state, { type: 'clearinghouseState', user: USER });
  const question = { type: 'allDexsClearinghouseState', user: USER };
  assert.equal(answerQuestion(state, question), `[["",${empty}]]`);
});

function answered(successful: readonly string[], failed: readonly string[] = []): string {
  return `{"successful_states":[${successful.join(',')}],"failed_wallets":[${failed.join(',')}]}`;
}

function pair(user: string, states: string): string {
  return `["${user}",${states}]`;
}

test('a batch is answered in its order, in lower case, and twice what is listed twice', () => {
  assert.equal(
    batch([OTHER, UPPER_CASE, STRANGER, USER]),
    answered([
      pair(OTHER, noAccount()),
      pair(USER, account(USER)),
      pair(STRANGER, noAccount()),
      pair(USER, account(USER)),
    ]),
  );
  assert.equal(
    batch([USER, OTHER], 'xyz'),
    answered([pair(USER, account(USER, 'xyz')), pair(OTHER, noAccount())]),
  );
  assert.equal(batch([USER], ''), answered([pair(USER, account(USER))]));
});

test('a batch on all dexes has all the accounts of each user', () => {
  assert.equal(
    batch([OTHER, USER, '0x1'], 'ALL_DEXES'),
    answered([pair(OTHER, allDexes(OTHER)), pair(USER, allDexes(USER))], [failure('0x1')]),
  );
});

test('a batch says of an address without 0x that 0x is missing', () => {
  const bare = USER.slice(2);
  const reason = `got "${bare}", ${EXPECTED}: 0x is missing`;
  assert.equal(batch([bare]), answered([], [JSON.stringify([bare, reason])]));
});

test('an empty batch has an empty answer', () => {
  assert.equal(batch([]), answered([]));
  assert.equal(batch([], 'xyz'), answered([]));
  assert.equal(batch([], 'ALL_DEXES'), answered([]));
});

const EXPECTED = 'expected 0x and 40 hexadecimal digits';

/** What a batch says of a text that is not an address. */
function failure(given: string, shown = JSON.stringify(given)): string {
  return JSON.stringify([given, `got ${shown}, ${EXPECTED}`]);
}

test('what is not an address is named, and the others are answered', () => {
  const huge = 'z'.repeat(5000);
  assert.deepEqual(
    JSON.parse(batch(['', '0xeaa3', USER, ` ${USER}`, `${USER}0`, 'a"b\\\n', huge])),
    JSON.parse(
      answered(
        [pair(USER, account(USER))],
        [
          failure(''),
          failure('0xeaa3'),
          failure(` ${USER}`),
          failure(`${USER}0`),
          failure('a"b\\\n'),
          failure(huge, `"${'z'.repeat(60)}"… (5000 characters)`),
        ],
      ),
    ),
  );
});

test('what is not even text is named by its place', () => {
  assert.equal(
    batch([5, null, true, [USER], { user: USER }, UPPER_CASE]),
    answered(
      [pair(USER, account(USER))],
      [
        `["users[0]","got 5, ${EXPECTED}"]`,
        `["users[1]","got null, ${EXPECTED}"]`,
        `["users[2]","got true, ${EXPECTED}"]`,
        `["users[3]","got an array of 1, ${EXPECTED}"]`,
        `["users[4]","got an object, ${EXPECTED}"]`,
      ],
    ),
  );
});

function usersOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `0x${index.toString(16).padStart(40, '0')}`);
}

function namesOf(answer: string): string[] {
  const { successful_states: states } = JSON.parse(answer);
  return states.map(([user]: [string]) => user);
}

function tooMany(count: number, expected: string): Refused {
  const message = `users: got an array of ${count}, expected ${expected}`;
  return { code: 'invalid_field', field: 'users', message };
}

test('a batch has at most a thousand users, on all dexes a hundred', () => {
  assert.deepEqual(namesOf(batch(usersOf(1000))), usersOf(1000));
  assertRefused(() => batch(usersOf(1001)), tooMany(1001, 'a list of at most 1000 addresses'));
  assert.deepEqual(namesOf(batch(usersOf(100), 'ALL_DEXES')), usersOf(100));
  const expected = 'at most 100 addresses with dex "ALL_DEXES"';
  assertRefused(() => batch(usersOf(101), 'ALL_DEXES'), tooMany(101, expected));
  assertRefused(() => batch(usersOf(1000), 'ALL_DEXES'), tooMany(1000, expected));
});

function weigh(question: object): number {
  return parseQuestion(question).weight;
}

test('a batch weighs as much as its questions one by one', () => {
  const type = 'batchClearinghouseStates';
  assert.equal(weigh({ type, users: [] }), 2);
  assert.equal(weigh({ type, users: [USER] }), 2);
  assert.equal(weigh({ type, users: [USER, USER, 'nobody'], dex: 'xyz' }), 6);
  assert.equal(weigh({ type, users: usersOf(1000) }), 2000);
  assert.equal(weigh({ type, users: [], dex: 'ALL_DEXES' }), 2);
  assert.equal(weigh({ type, users: [USER], dex: 'ALL_DEXES' }), 20);
  assert.equal(weigh({ type, users: usersOf(100), dex: 'ALL_DEXES' }), 2000);
  assert.equal(weigh({ type: 'clearinghouseState', user: USER }), 2);
  assert.equal(weigh({ type: 'allDexsClearinghouseState', user: USER }), 20);
});

test('a batch is refused for users that are not a list', () => {
  const wrong: [unknown, string][] = [
    [null, 'null'],
    [USER, `"${USER}"`],
    [{ 0: USER, length: 1 }, 'an object'],
    [1, '1'],
  ];
  for (const [users, shown] of wrong) {
    assertRefused(() => parseQuestion({ type: 'batchClearinghouseStates', users }), {
      code: 'invalid_field',
      field: 'users',
      message: `users: got ${shown}, expected a list of at most 1000 addresses`,
    });
  }
  assertRefused(() => parseQuestion({ type: 'batchClearinghouseStates', user: USER }), {
    code: 'missing_field',
    field: 'users',
    message: 'users: got nothing, expected up to 1000 addresses (up to 100 with dex "ALL_DEXES")',
  });
});

function unknownDex(dex: string): Refused {
  const message = `dex: got "${dex}", expected one of "", "xyz", "abc"`;
  return { code: 'unknown_dex', field: 'dex', message };
}

test('a batch is refused for a dex that is not there', () => {
  for (const dex of ['all_dexes', 'ALL_DEXES ', 'XYZ', 'constructor']) {
    assertRefused(() => batch([USER], dex), unknownDex(dex));
    assertRefused(() => batch([], dex), unknownDex(dex));
    const question = parseQuestion({ type: 'batchClearinghouseStates', users: [USER], dex });
    assertRefused(() => question.validate(STATE), unknownDex(dex));
  }
  assertRefused(() => batch([USER], JSON.parse('["xyz"]')), {
    code: 'invalid_field',
    field: 'dex',
    message: 'dex: got an array of 1, expected the name of a perp dex as text',
  });
});

test('only a batch knows all dexes by a name', () => {
  assertRefused(() => account(USER, 'ALL_DEXES'), unknownDex('ALL_DEXES'));
  const question = parseQuestion({ type: 'batchClearinghouseStates', users: [], dex: 'ALL_DEXES' });
  question.validate(STATE);
});

test('the accounts on all dexes are refused without an address', () => {
  const type = 'allDexsClearinghouseState';
  assertRefused(() => answerQuestion(STATE, { type }), {
    code: 'missing_field',
    field: 'user',
    message: 'user: got nothing, expected an address: 0x and 40 hexadecimal digits, either case',
  });
  assertRefused(() => answerQuestion(STATE, { type, user: [USER] }), {
    code: 'invalid_address',
    field: 'user',
    message: `user: got an array of 1, ${EXPECTED}`,
  });
});

function answerQuery(query: string): string {
  return parseQueryText(query).answer(STATE);
}

test('a query lists users one by one, or with commas', () => {
  const type = 'type=batchClearinghouseStates';
  const expected = batch([OTHER, USER, 'x', USER], 'xyz');
  assert.equal(answerQuery(`${type}&dex=xyz&users=${OTHER},${USER},x,${USER}`), expected);
  assert.equal(
    answerQuery(`${type}&users=${OTHER}&users=${UPPER_CASE}&dex=xyz&users=x&users=${USER}`),
    expected,
  );
  assert.equal(answerQuery(`${type}&users=${OTHER}&users=${USER},x,${USER}&dex=xyz`), expected);
  assert.equal(answerQuery(`${type}&users=${USER}&dex=ALL_DEXES`), batch([USER], 'ALL_DEXES'));
  assert.equal(answerQuery(`${type}&users=${USER},`), batch([USER, '']));
  assert.equal(answerQuery(`${type}&users=`), batch(['']));
  assert.equal(parseQueryText(`${type}&users=${usersOf(1000)}`).weight, 2000);
});

test('a query for one account is answered as a body is', () => {
  const query = `type=clearinghouseState&user=${UPPER_CASE}&dex=xyz&users=nobody`;
  assert.equal(answerQuery(query), account(USER, 'xyz'));
  assert.equal(answerQuery(`user=${USER}&type=allDexsClearinghouseState`), allDexes(USER));
});

test('a query is refused for too many users, and for none', () => {
  const type = 'type=batchClearinghouseStates';
  assertRefused(
    () => answerQuery(`${type}&users=${usersOf(1001)}`),
    tooMany(1001, 'a list of at most 1000 addresses'),
  );
  assertRefused(
    () => answerQuery(`${type}&users=${usersOf(60)}&dex=ALL_DEXES&users=${usersOf(41)}`),
    tooMany(101, 'at most 100 addresses with dex "ALL_DEXES"'),
  );
  assertRefused(() => answerQuery(type), {
    code: 'missing_field',
    field: 'users',
    message: 'users: got nothing, expected up to 1000 addresses (up to 100 with dex "ALL_DEXES")',
  });
});

test('a query is refused for its type as a body is', () => {
  const expected = `expected one of ${TYPES}`;
  assertRefused(() => answerQuery(''), {
    code: 'missing_field',
    field: 'type',
    message: `type: got nothing, ${expected}`,
  });
  assertRefused(() => answerQuery('type='), {
    code: 'unknown_type',
    field: 'type',
    message: `type: got "", ${expected}`,
  });
  assertRefused(() => answerQuery('type=openOrders'), {
    code: 'unknown_type',
    field: 'type',
    message: `type: got "openOrders", ${expected}`,
  });
});

test('a batch cannot be subscribed to, the accounts of a user on all dexes can', () => {
  assertRefused(() => parseSubscription({ type: 'batchClearinghouseStates', users: [USER] }), {
    code: 'unknown_type',
    field: 'type',
    message: `type: got "batchClearinghouseStates", expected one of ${SUBSCRIPTIONS}`,
  });
  const question = parseSubscription({ type: 'allDexsClearinghouseState', user: UPPER_CASE });
  assert.equal(question.formatFields(), `"user":"${USER}"`);
});

test('a subscription is refused for what it is, and for a moment of the past', () => {
  assertRefused(() => parseSubscription(5), {
    code: 'invalid_field',
    field: 'subscription',
    message: 'subscription: got 5, expected an object with a type',
  });
  for (const [field, value] of [
    ['atHeight', 0],
    ['atTime', 5],
  ] as const) {
    assertRefused(() => parseSubscription({ type: 'allMids', [field]: value }), {
      code: 'invalid_field',
      field,
      message: `${field}: got ${value}, expected none: the past is not pushed`,
    });
  }
});

test('the fields of a subscription are repeated, without the first dex where clients expect none', () => {
  const fieldsOf = (subscription: object) => parseSubscription(subscription).formatFields();
  assert.equal(fieldsOf({ type: 'allMids' }), '');
  assert.equal(fieldsOf({ type: 'allMids', dex: 'xyz' }), '"dex":"xyz"');
  const account = { type: 'clearinghouseState', user: USER };
  assert.equal(fieldsOf(account), `"user":"${USER}","dex":""`);
});

/** One user with a dozen positions on each of two dexes. */
function crowdedState() {
  const coins = Array.from({ length: 12 }, (_, index) => `COIN${index}`);
  const dexes = ['', 'xyz'];
  const named = (dex: string) => coins.map((coin) => (dex === '' ? coin : `${dex}:${coin}`));
  return stateOf(
    [{ type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: STRANGER }],
    dexes.flatMap((dex) => named(dex).map((coin) => market(dex, coin))),
    dexes.map((dex) => transfer(USER, dex, '1000.0')),
    dexes.flatMap((dex) => named(dex).map((coin) => buy(USER, coin, '1.0'))),
  );
}

test('answers are the same in a buffer that has to grow', () => {
  const state = crowdedState();
  for (const body of [
    { type: 'clearinghouseState', user: USER },
    { type: 'allDexsClearinghouseState', user: USER },
    { type: 'delegations', user: USER },
  ]) {
    const question = parseQuestion(body);
    const out = new AnswerWriter(1);
    question.write(out, state);
    assert.equal(out.toString(), question.answer(state));
  }
  for (const dex of ['', 'ALL_DEXES']) {
    const users = [USER, STRANGER, USER, 'nobody'];
    const question = parseQuestion({ type: 'batchClearinghouseStates', users, dex });
    const out = new AnswerWriter('{"successful_states":['.length);
    for (const pieces = question.writePieces(out, state); pieces.next().done !== true; );
    assert.equal(out.toString(), question.answer(state));
  }
});

/** How often a batch pauses. */
function pausesOf(users: readonly string[], dex: string): number {
  const question = parseQuestion({ type: 'batchClearinghouseStates', users, dex });
  const pieces = question.writePieces(new AnswerWriter(), STATE);
  let pauses = 0;
  while (pieces.next().done !== true) pauses++;
  return pauses;
}

test('a batch is written with a pause after 8 accounts, and a long one says its length before', () => {
  for (const [users, dex, pauses, bytes] of [
    [7, '', 0, undefined],
    [8, '', 1, undefined],
    [15, '', 1, undefined],
    [16, '', 2, undefined],
    [32, '', 4, undefined],
    [33, '', 4, 33 * 2500],
    // Three dexes: a pause after three users.
    [2, 'ALL_DEXES', 0, undefined],
    [3, 'ALL_DEXES', 1, undefined],
    [4, 'ALL_DEXES', 1, undefined],
    [5, 'ALL_DEXES', 1, 5 * 5000],
    [22, 'ALL_DEXES', 7, 22 * 5000],
  ] as const) {
    const question = { type: 'batchClearinghouseStates', users: usersOf(users), dex };
    assert.equal(parseQuestion(question).bytesExpected, bytes, `${users} on ${dex}`);
    assert.equal(pausesOf(usersOf(users), dex), pauses, `${users} on ${dex}`);
  }
});

test('only a batch is written in pieces', () => {
  const question = parseQuestion({ type: 'clearinghouseState', user: USER });
  assert.equal(question.bytesExpected, undefined);
  assert.throws(() => question.writePieces(new AnswerWriter(), STATE), {
    message: 'the answers of clearinghouseState are not long',
  });
});

test('a batch has changed when one of its accounts has, and never without one', () => {
  const changedAt = (users: readonly string[], dex: string) =>
    parseQuestion({ type: 'batchClearinghouseStates', users, dex }).changedAt(STATE);
  const state = STATE.height;
  assert.deepEqual(
    [changedAt([], ''), changedAt(['nobody'], ''), changedAt([STRANGER], '')],
    [0, 0, 0],
  );
  assert.deepEqual([changedAt([USER], ''), changedAt([STRANGER, OTHER], 'abc')], [state, state]);
  assert.deepEqual([changedAt([OTHER], ''), changedAt([STRANGER], 'ALL_DEXES')], [0, 1]);
  assert.equal(changedAt([STRANGER, OTHER, STRANGER], 'ALL_DEXES'), state);
  const onAll = (user: string) =>
    parseQuestion({ type: 'allDexsClearinghouseState', user }).changedAt(STATE);
  assert.deepEqual([onAll(STRANGER), onAll(OTHER)], [1, state]);
});

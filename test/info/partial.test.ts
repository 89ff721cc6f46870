/** A partial ledger answers what it holds, and refuses what no event has named. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from '../../src/exact/address.ts';
import { BodySource, JsonSource, QuerySource } from '../../src/http/answering/question-source.ts';
import { RowAnswerCaches } from '../../src/http/answering/row-answer-cache.ts';
import {
  isSubjectKnown,
  oldestTime,
  type QuestionSubject,
} from '../../src/info/question-subject.ts';
import { STATE_TYPES } from '../../src/info/question-types.ts';
import { answerQuestion, parseQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { AnswerWriter } from '../../src/info/writing/answer-writer.ts';
import type { State } from '../../src/state/state.ts';
import { assertRefused, stateOf, TIME } from './states.ts';

/** Known on both dexes, with delegations. */
const KNOWN = '0xabcdef0000000000000000000000000000000001';
/** Known on the second dex only. */
const ELSEWHERE = '0xabcdef0000000000000000000000000000000002';
const STRANGER = '0xabcdef0000000000000000000000000000000003';

const DEX = { type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: STRANGER };
const PARTIAL = { type: 'partial' };

function account(user: string, dex: string) {
  return { type: 'account', user, dex, rawUsd: '12.5', positions: [] };
}

const MARKET = {
  type: 'market',
  dex: '',
  coin: 'BTC',
  szDecimals: 5,
  marginTiers: [{ lowerBound: '0.0', maxLeverage: 40 }],
  onlyIsolated: false,
  markPx: '60000.0',
};

const EVENTS = [
  DEX,
  MARKET,
  account(KNOWN, ''),
  account(KNOWN, 'xyz'),
  account(ELSEWHERE, 'xyz'),
  { type: 'accountTime', user: KNOWN, dex: 'xyz', time: TIME - 500 },
  { type: 'delegations', user: KNOWN, delegations: [] },
];

const WHOLE = stateOf(EVENTS, []);
const HELD = stateOf(EVENTS, [PARTIAL]);

const ABOUT_USERS = [
  'clearinghouseState',
  'delegations',
  'allDexsClearinghouseState',
  'delegatorSummary',
  'webData2',
];

test('a dex that does not exist is refused before the account', () => {
  const question = parseQuestion({ type: 'clearinghouseState', user: STRANGER, dex: 'abc' });
  for (const ask of ['validate', 'subjects', 'answer'] as const) {
    assert.throws(
      () => question[ask](HELD),
      (error) => error instanceof RequestError && error.code === 'unknown_dex',
    );
  }
});

test('validate leaves unknown users to answer, which comes after the budget', () => {
  for (const type of ABOUT_USERS) parseQuestion({ type, user: STRANGER }).validate(HELD);
});

test('an answer about an unknown user is not written either', () => {
  const question = parseQuestion({ type: 'clearinghouseState', user: STRANGER });
  for (const write of ['write', 'writePieces'] as const) {
    assertRefused(() => question[write](new AnswerWriter(), HELD), {
      code: 'not_ready',
      field: 'user',
      message: `this ledger does not hold the account of ${STRANGER} on dex "": it is partial, and no event has named it`,
    });
  }
});

test('every question that takes a user says what it is about, or that it is not recorded', () => {
  const silent = STATE_TYPES.filter(
    ({ fields, partial }) =>
      ('user' in fields || 'users' in fields) &&
      partial?.subjects === undefined &&
      partial?.isRefused !== true,
  );
  assert.deepEqual(
    silent.map(({ type }) => type),
    [],
  );
});

test('questions that are not about users are answered as on any ledger', () => {
  const others = STATE_TYPES.filter(
    ({ type, fields }) => Object.keys(fields).length === 0 && type !== 'perpDeployAuctionStatus',
  );
  assert.ok(others.length >= 5);
  for (const { type } of others) {
    assert.equal(answerQuestion(HELD, { type }), answerQuestion(WHOLE, { type }));
    assert.deepEqual(parseQuestion({ type }).subjects(HELD), []);
  }
});

function addressOf(text: string) {
  const address = parseAddress(text);
  assert.ok(address !== undefined, text);
  return address;
}

function subjectsOf(question: Record<string, unknown>): readonly QuestionSubject[] {
  return parseQuestion(question).subjects(HELD);
}

const ACCOUNT_KIND = { kind: 'account' } as const;

test('a question names the accounts and delegations that its answer is about', () => {
  const known = addressOf(KNOWN);
  const onFirst = { ...ACCOUNT_KIND, user: known, dexIndex: 0 };
  const onSecond = { ...ACCOUNT_KIND, user: known, dexIndex: 1 };
  const elsewhere = { ...onSecond, user: addressOf(ELSEWHERE) };
  const staked = { kind: 'delegations', user: known };
  const user = KNOWN;
  assert.deepEqual(subjectsOf({ type: 'clearinghouseState', user, dex: 'xyz' }), [onSecond]);
  assert.deepEqual(subjectsOf({ type: 'allDexsClearinghouseState', user }), [onFirst, onSecond]);
  assert.deepEqual(subjectsOf({ type: 'webData2', user }), [onFirst]);
  assert.deepEqual(subjectsOf({ type: 'delegations', user }), [staked]);
  assert.deepEqual(subjectsOf({ type: 'delegatorSummary', user }), [staked]);
  const batch = { type: 'batchClearinghouseStates', users: [KNOWN, '0x12', ELSEWHERE] };
  assert.deepEqual(subjectsOf({ ...batch, dex: 'xyz' }), [onSecond, elsewhere]);
  assert.equal(subjectsOf({ ...batch, dex: 'ALL_DEXES' }).length, 4);
});

test('unknown subjects are found, and the time of several is that of the oldest', () => {
  const all = subjectsOf({
    type: 'batchClearinghouseStates',
    users: [KNOWN, ELSEWHERE],
    dex: 'ALL_DEXES',
  });
  const isUnknown = (subject: QuestionSubject) => !isSubjectKnown(HELD, subject);
  assert.deepEqual(all.filter(isUnknown), [
    { ...ACCOUNT_KIND, user: addressOf(ELSEWHERE), dexIndex: 0 },
  ]);
  assert.equal(oldestTime(HELD, all), 0);
  const known = subjectsOf({ type: 'allDexsClearinghouseState', user: KNOWN });
  assert.deepEqual(known.filter(isUnknown), []);
  assert.equal(oldestTime(HELD, known), TIME - 500);
  assert.equal(oldestTime(HELD, subjectsOf({ type: 'delegations', user: KNOWN })), TIME);
  assert.equal(oldestTime(HELD, []), undefined);
});

/** Every way in which a transport reads the most frequent question. */
function sourcesOf(user: string) {
  const question = { type: 'clearinghouseState', user };
  return [
    new BodySource(Buffer.from(JSON.stringify(question))).read(false),
    new JsonSource(question, 'body').read(false),
    new QuerySource(Buffer.from(`type=clearinghouseState&user=${user}`)).read(false),
  ];
}

test('the quick way to an account refuses what the others refuse, also after a cached answer', () => {
  const caches = new RowAnswerCaches();
  const ask = (state: State, user: string) =>
    sourcesOf(user).map((question) => {
      assert.ok('subjects' in question);
      return caches.answer(question, state, undefined).toString();
    });
  const question = { type: 'clearinghouseState', user: KNOWN };
  assert.deepEqual(new Set(ask(HELD, KNOWN)), new Set([answerQuestion(HELD, question)]));
  // The ring now has the empty account, at the height of the partial ledger.
  assert.equal(new Set(ask(WHOLE, STRANGER)).size, 1);
  for (const source of sourcesOf(STRANGER)) {
    assert.ok('subjects' in source);
    assert.throws(
      () => caches.answer(source, HELD, undefined),
      (error) => error instanceof RequestError && error.code === 'not_ready',
    );
    assert.deepEqual(source.subjects(HELD), [
      { ...ACCOUNT_KIND, user: addressOf(STRANGER), dexIndex: 0 },
    ]);
  }
});

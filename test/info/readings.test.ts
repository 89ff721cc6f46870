/** The exchange's own answers, read for one question, stand in for what the ledger does not hold. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, parseAddress } from '../../src/exact/address.ts';
import type { QuestionSubject } from '../../src/info/question-subject.ts';
import { parseQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { UpstreamAnswers } from '../../src/info/upstream-answers.ts';
import { AnswerWriter } from '../../src/info/writing/answer-writer.ts';
import { assertRefused, stateOf, TIME } from './states.ts';

const KNOWN = '0xabcdef0000000000000000000000000000000001';
const STRANGER = '0xabcdef0000000000000000000000000000000003';
const ACCOUNT: QuestionSubject = { kind: 'account', user: addressOf(STRANGER), dexIndex: 0 };
const DELEGATIONS: QuestionSubject = { kind: 'delegations', user: addressOf(STRANGER) };
const ANSWER = '{"marginSummary":{"accountValue":"1.5"}}';

const STATE = stateOf(
  [{ type: 'account', user: KNOWN, dex: '', rawUsd: '12.5', positions: [] }],
  [{ type: 'partial' }],
);

function addressOf(text: string): Address {
  const address = parseAddress(text);
  assert.ok(address);
  return address;
}

function readingsOf(subject: QuestionSubject, answer: string): UpstreamAnswers {
  const readings = new UpstreamAnswers();
  assert.deepEqual([readings.isEmpty, readings.hasAnswers], [true, false]);
  readings.noteAnswer(subject, answer, TIME + 5);
  readings.noteAnswer(subject, answer, TIME + 9);
  assert.deepEqual([readings.isEmpty, readings.hasAnswers], [false, true]);
  assert.equal(readings.oldestAnswerTime, TIME + 5);
  return readings;
}

test("an account is answered by the exchange's own words, returned or written", () => {
  const question = parseQuestion({ type: 'clearinghouseState', user: STRANGER });
  const readings = readingsOf(ACCOUNT, ANSWER);
  assert.equal(question.answer(STATE, readings), ANSWER);
  const out = new AnswerWriter();
  question.write(out, STATE, readings);
  assert.equal(out.toString(), ANSWER);
});

test('delegations are answered by them, and a sum of them is refused', () => {
  const readings = readingsOf(DELEGATIONS, '["own"]');
  const ask = (type: string) => parseQuestion({ type, user: STRANGER }).answer(STATE, readings);
  assert.equal(ask('delegations'), '["own"]');
  assertRefused(() => ask('delegatorSummary'), {
    code: 'upstream_failed',
    field: 'user',
    message:
      "the exchange's list of delegations has amounts that the ledger cannot hold: ask for delegations",
  });
});

test('answers about different accounts and delegations of a user are kept apart', () => {
  const readings = readingsOf(ACCOUNT, '"first"');
  readings.noteAnswer({ ...ACCOUNT, dexIndex: 1 }, '"second"', TIME);
  readings.noteAnswer(DELEGATIONS, '"staked"', TIME);
  const state = stateOf(
    [{ type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: KNOWN }],
    [{ type: 'partial' }],
  );
  const ask = (body: object) => parseQuestion({ ...body, user: STRANGER }).answer(state, readings);
  assert.equal(ask({ type: 'clearinghouseState' }), '"first"');
  assert.equal(ask({ type: 'clearinghouseState', dex: 'xyz' }), '"second"');
  assert.equal(ask({ type: 'allDexsClearinghouseState' }), '[["","first"],["xyz","second"]]');
  assert.equal(ask({ type: 'delegations' }), '"staked"');
});

test('what is not ASCII in an answer is escaped', () => {
  const question = parseQuestion({ type: 'clearinghouseState', user: STRANGER });
  const readings = readingsOf(ACCOUNT, '["\u007f\u0080é€\u{1f600}"]');
  assert.equal(question.answer(STATE, readings), '["\u007f\\u0080\\u00e9\\u20ac\\ud83d\\ude00"]');
});

test('an answer of any length is written into a buffer of any size', () => {
  // It would fit into the room that its user or dex has, but for a few bytes.
  const own = JSON.stringify({ long: 'x'.repeat(139) });
  const readings = readingsOf(ACCOUNT, own);
  const onAll = parseQuestion({ type: 'allDexsClearinghouseState', user: STRANGER });
  const out = new AnswerWriter(1);
  onAll.write(out, STATE, readings);
  assert.equal(out.toString(), `[["",${own}]]`);
  const users = [STRANGER, STRANGER];
  for (const [dex, told] of [
    ['', own],
    ['ALL_DEXES', `[["",${own}]]`],
  ]) {
    const batch = parseQuestion({ type: 'batchClearinghouseStates', users, dex });
    const small = new AnswerWriter('{"successful_states":['.length);
    assert.equal(batch.writePieces(small, STATE, readings).next().done, true);
    const states = users.map((user) => `["${user}",${told}]`);
    assert.equal(
      small.toString(),
      `{"successful_states":[${states.join(',')}],"failed_wallets":[]}`,
    );
  }
});

test('on all dexes and in a batch they stand beside what the ledger holds', () => {
  const readings = readingsOf(ACCOUNT, ANSWER);
  const onAll = parseQuestion({ type: 'allDexsClearinghouseState', user: STRANGER });
  const out = new AnswerWriter();
  onAll.write(out, STATE, readings);
  assert.equal(out.toString(), onAll.answer(STATE, readings));
  assert.ok(out.toString().includes(ANSWER));
  const batch = parseQuestion({ type: 'batchClearinghouseStates', users: [KNOWN, STRANGER] });
  const held = parseQuestion({ type: 'clearinghouseState', user: KNOWN }).answer(STATE);
  const { successful_states, failed_wallets } = JSON.parse(batch.answer(STATE, readings));
  assert.deepEqual(
    successful_states.map(([user]: [string]) => user),
    [KNOWN, STRANGER],
  );
  assert.deepEqual(successful_states[0][1], JSON.parse(held));
  assert.deepEqual(successful_states[1][1], JSON.parse(ANSWER));
  assert.deepEqual(failed_wallets, []);
});

test('what could not be read is refused with the reason, and only that', () => {
  const readings = new UpstreamAnswers();
  readings.noteFailure(ACCOUNT, new RequestError('upstream_failed', 'the exchange is away'));
  assert.equal(readings.isEmpty, false);
  const question = parseQuestion({ type: 'clearinghouseState', user: STRANGER });
  assert.throws(() => question.answer(STATE, readings), { code: 'upstream_failed' });
  const known = parseQuestion({ type: 'clearinghouseState', user: KNOWN });
  assert.equal(known.answer(STATE, readings), known.answer(STATE));
  const delegations = parseQuestion({ type: 'delegations', user: STRANGER });
  assertRefused(() => delegations.answer(STATE, readings), {
    code: 'not_ready',
    field: 'user',
    message: `this ledger does not hold the delegations of ${STRANGER}: it is partial, and no event has named it`,
  });
});

test('a question names the rows that its answer depends on', () => {
  const user = STATE.addresses.find(addressOf(KNOWN));
  const ask = (type: string, asked: string) => parseQuestion({ type, user: asked });
  const about = ask('clearinghouseState', KNOWN).dependencies(STATE);
  assert.equal(about?.accounts.length, 1);
  assert.deepEqual(ask('delegations', KNOWN).dependencies(STATE)?.addresses, [user]);
  assert.notEqual(ask('allDexsClearinghouseState', KNOWN).dependencies(STATE), undefined);
  assert.equal(parseQuestion({ type: 'allMids' }).dependencies(STATE), undefined);
  // Whoever is not known yet may become known by any block.
  for (const type of ['clearinghouseState', 'delegations', 'allDexsClearinghouseState']) {
    assert.equal(ask(type, STRANGER).dependencies(STATE), undefined);
  }
});

test('a long answer in pieces is the same text', () => {
  const users = Array.from({ length: 1000 }, (_, index) => `0x${String(index).padStart(40, '0')}`);
  const question = parseQuestion({
    type: 'batchClearinghouseStates',
    users: [KNOWN, ...users].slice(1),
  });
  assert.ok((question.bytesExpected ?? 0) > 0);
  const out = new AnswerWriter();
  const steps = question.writePieces(out, STATE);
  let pieces = 0;
  while (steps.next().done !== true) pieces++;
  assert.ok(pieces > 1);
  assert.equal(out.toString(), question.answer(STATE));
});

test('refusals of unknown types are the same for the same type, however many there are', () => {
  const refusalOf = (type: string) => {
    try {
      return parseQuestion({ type });
    } catch (error) {
      return error;
    }
  };
  const keep = (name: string, count: number) => {
    for (let index = 0; index < count; index++) refusalOf(`${name} ${index}`);
  };
  // Until what was kept before is forgotten.
  let first = refusalOf('nope');
  for (let index = 0; refusalOf('nope') === first && index < 100; index++)
    refusalOf(`old ${index}`);
  first = refusalOf('nope');
  keep('new', 62);
  assert.equal(refusalOf('nope'), first);
  keep('newer', 1);
  assert.notEqual(refusalOf('nope'), first);
  assert.deepEqual(refusalOf('nope'), first);
  const isKept = (type: string) => {
    const before = refusalOf(type);
    return refusalOf(type) === before;
  };
  assert.deepEqual([isKept('x'.repeat(64)), isKept('x'.repeat(65))], [true, false]);
});

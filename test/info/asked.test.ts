/** What every type of question tells beside its answer: since when it is the same, its cost, its size. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import type { StateQuestion } from '../../src/info/question.ts';
import { OWN_TYPES } from '../../src/info/question-types.ts';
import { parseQuestion, readQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { AnswerWriter } from '../../src/info/writing/answer-writer.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State, type StateView } from '../../src/state/state.ts';
import { withoutTime } from '../../tools/harness/without-time.ts';
import { listBodies } from '../archive/witness.ts';

const BLOCKS = 80;
const simulator = createSimulator({ seed: 'asked', accounts: 10 });
const lines = Array.from({ length: BLOCKS }, () => simulator.next());
const users = [1, 2, 3].map((row) => formatAddress(simulator.state.addresses.addressOf(row)));
const bodies = listBodies({
  user: users,
  users: [users, Array.from({ length: 40 }, (_, index) => users[index % 3])],
  dex: ['', 'abc'],
  id: [3],
});

function lookAt(state: StateView, body: object): { text: string; changedAt: number } | undefined {
  try {
    const question = parseQuestion(body);
    return { text: withoutTime(question.answer(state)), changedAt: question.changedAt(state) };
  } catch (error) {
    // A dex that is not there yet.
    if (error instanceof RequestError) return undefined;
    throw error;
  }
}

test('no answer changes without its height of change', () => {
  const state = createState();
  const last = new Map<object, string>();
  for (const line of lines) {
    applyBlock(state, parseBlock(line));
    for (const body of bodies) {
      const seen = lookAt(state, body);
      if (seen === undefined) continue;
      const before = last.get(body);
      const about = `${JSON.stringify(body)} at ${state.height}`;
      assert.ok(seen.changedAt >= 0 && seen.changedAt <= state.height, about);
      if (before !== undefined && before !== seen.text) {
        assert.equal(seen.changedAt, state.height, about);
      }
      last.set(body, seen.text);
    }
  }
  assert.equal(new Set([...last.keys()].map((body) => JSON.stringify(body))).size, last.size);
});

/** The same exchange, a block later, after one that gives other users the first rows. */
function applyLater(state: State, line: string): void {
  const block = JSON.parse(line);
  if (state.height === 0) {
    const strangers = ['0x01', '0x02'].map((start) => start.padEnd(42, 'f'));
    const events = strangers.map((user) => ({ type: 'transfer', user, dex: '', amount: '1.0' }));
    applyBlock(state, parseBlock(JSON.stringify({ height: 1, time: block.time, events })));
  }
  applyBlock(state, parseBlock(JSON.stringify({ ...block, height: block.height + 1 })));
}

test('a question that is asked again is answered as a new one, in whichever state', () => {
  const [state, later] = [createState(), createState()];
  const asked = bodies.map((body) => ({ body, question: parseQuestion(body) }));
  const out = new AnswerWriter();
  const lookAgain = (state: StateView, question: StateQuestion) => {
    out.clear();
    question.write(out, state);
    return { text: withoutTime(out.toString()), changedAt: question.changedAt(state) };
  };
  let answers = 0;
  for (const line of lines) {
    applyBlock(state, parseBlock(line));
    applyLater(later, line);
    for (const { body, question } of asked) {
      for (const where of [state, later]) {
        const expected = lookAt(where, body);
        if (expected === undefined) continue;
        assert.deepEqual(lookAgain(where, question), expected, JSON.stringify(body));
        answers++;
      }
    }
  }
  assert.ok(answers > BLOCKS * bodies.length, `${answers} answers`);
});

test('a refusal in one state leaves nothing behind for the next question', () => {
  const [state, later] = [createState(), createState()];
  for (const line of lines) applyBlock(state, parseBlock(line));
  const rows = Array.from({ length: state.addresses.table.rowCount - 1 }, (_, index) => index + 1);
  const question = rows
    .map((row) => formatAddress(state.addresses.addressOf(row)))
    .map((user) => parseQuestion({ type: 'clearinghouseState', user, dex: 'abc' }))
    .find((question) => question.changedAt(state) > 0);
  assert.ok(question !== undefined);
  for (const _time of [1, 2]) assert.throws(() => question.changedAt(later), RequestError);
});

test('an answer about many accounts says how long it is about, and comes in pieces', () => {
  const many = Array.from({ length: 40 }, (_, index) => users[index % 3]);
  const of = (body: object) => parseQuestion({ type: 'batchClearinghouseStates', ...body });
  assert.equal(of({ users }).bytesExpected, undefined);
  const one = of({ users: many }).bytesExpected ?? 0;
  const all = of({ users: many, dex: 'ALL_DEXES' }).bytesExpected ?? 0;
  assert.ok(one > 0 && all > one, `${one} and ${all} bytes`);
});

test('a question about the past is of the type and the weight of the one about the present', () => {
  const [user] = users;
  for (const { type, weight } of OWN_TYPES) {
    const fields = { user, users, dex: '', id: 3, coin: 'BTC', requests: [] };
    const asked = readQuestion({ type, ...fields, atHeight: 5 });
    if (asked instanceof RequestError) continue;
    assert.equal(asked.source, 'archive', type);
    assert.equal(asked.type, type);
    assert.ok(asked.weight >= weight, type);
  }
});

test('what has rows is also asked for as CSV, and what has none is not', () => {
  const [user] = users;
  const isOther = (body: object) => {
    const question = readQuestion(body);
    assert.ok(!(question instanceof RequestError) && question.source === 'archive');
    return question.asCsv?.() !== question;
  };
  assert.equal(isOther({ type: 'accountHistory', user }), true);
  assert.equal(isOther({ type: 'positionHistory', user, coin: 'BTC' }), true);
  assert.equal(isOther({ type: 'portfolio', user }), false);
});

test('a refusal is told as JSON, with its status, and as existing clients read it', () => {
  const refusal = readQuestion({ type: 'accountHistory', user: 'nobody' });
  assert.ok(refusal instanceof RequestError);
  const { error, message, field, code, msg } = JSON.parse(refusal.toJson());
  assert.deepEqual([error, field, refusal.status], ['invalid_address', 'user', 422]);
  assert.equal(msg, message);
  assert.ok(code !== undefined);
});

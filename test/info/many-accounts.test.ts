/** How a batch of accounts is written: at most so many, in pieces, with pauses. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerQuestion, parseQuestion } from '../../src/info/read-question.ts';
import { AnswerWriter } from '../../src/info/writing/answer-writer.ts';
import { parseQueryText, stateOf } from './states.ts';

const USER = '0xabcdef0000000000000000000000000000000001';
const STRANGER = '0xabcdef0000000000000000000000000000000003';

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

const STATE = stateOf(
  ['xyz', 'abc'].map((dex) => ({ type: 'perpDex', dex, fullName: dex, deployer: STRANGER })),
);

function batch(users: readonly unknown[], dex?: string): string {
  return answerQuestion(STATE, { type: 'batchClearinghouseStates', users, dex });
}

function usersOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `0x${index.toString(16).padStart(40, '0')}`);
}

function namesOf(answer: string): string[] {
  const { successful_states: states } = JSON.parse(answer);
  return states.map(([user]: [string]) => user);
}

test('a batch may have a thousand users, on all dexes a hundred', () => {
  assert.deepEqual(namesOf(batch(usersOf(1000))), usersOf(1000));
  assert.deepEqual(namesOf(batch(usersOf(100), 'ALL_DEXES')), usersOf(100));
  const query = parseQueryText(`type=batchClearinghouseStates&users=${usersOf(1000)}`);
  assert.deepEqual([query.weight, namesOf(query.answer(STATE))], [2000, usersOf(1000)]);
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

/** What an answer about the past reads is charged as the work goes on, which ends where nothing is left. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import { exchange } from '../../tools/harness/raw-client.ts';
import {
  createKey,
  formatQuestion,
  formatRequest,
  prepareData,
} from '../../tools/harness/service.ts';
import { historyOf, pastOf } from '../info/histories.ts';
import { stateOf, TIME } from '../info/states.ts';
import { createInProcess, listenLocally, openGround } from './in-process.ts';

const USER = `0x${'a'.repeat(40)}`;
/** 1,001 points of two blocks: 62.5625. */
const SERIES = { type: 'accountHistory', user: USER, step: 1 };

/** A service with keys of these budgets, which regain nothing during a test. */
async function start(context: TestContext, ...budgets: readonly number[]) {
  return startWith(context, {}, ...budgets);
}

/** The same with another history. */
async function startWith(
  context: TestContext,
  others: Partial<HistoryView>,
  ...budgets: readonly number[]
) {
  const closers: (() => Promise<void> | void)[] = [];
  context.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const { folder } = await prepareData({ after: (remove) => closers.push(remove) });
  const keys: string[] = [];
  for (const weight of budgets) {
    keys.push(await createKey(folder, { weight, periodMs: 360_000_000 }));
  }
  const ground = await openGround(folder);
  closers.push(() => ground.close());
  await ground.live.restored;
  const ledgerId = ground.live.state?.ledgerId ?? '';
  const history = historyOf([TIME, TIME + 1000], { ledgerId, ...others });
  const service = createInProcess(ground, { history: { isKept: true, find: () => history } });
  closers.push(service.close);
  const port = await listenLocally(service.server);
  const send = async (request: Buffer) => {
    const { status, headers, body } = await exchange(port, request);
    const left = Number(headers.get('ratelimit-remaining'));
    const retryAfter = Number(headers.get('retry-after'));
    return { status, left, body: JSON.parse(body), retryAfter };
  };
  const post = (key: string, question: object) =>
    send(formatQuestion(key, { body: JSON.stringify(question) }));
  const get = (key: string, query: string) =>
    send(formatRequest({ method: 'GET', path: `/${key}/info?${query}` }));
  return { keys, post, get };
}

test('a question about the past weighs what it reads, if that is more than its base weight', async (context) => {
  const { keys, post, get } = await start(context, 1000);
  const [key] = keys;
  let left = 1000;
  for (const [question, weight] of [
    [{ type: 'clearinghouseState', user: USER }, 2],
    [{ type: 'clearinghouseState', user: USER, atHeight: 1 }, 13],
    [{ type: 'delegations', user: USER, atHeight: 1 }, 20],
    [{ type: 'accountHistory', user: USER, step: 500 }, 20],
    [{ type: 'portfolio', user: USER }, 20],
    [SERIES, 1001 / 16],
    [{ ...SERIES, from: TIME + 1, to: TIME + 800 }, 800 / 16],
  ] as const) {
    left -= weight;
    const reply = await post(key, question);
    assert.deepEqual([reply.status, reply.left], [200, Math.floor(left)], question.type);
  }
  const polled = await get(key, `type=accountHistory&user=${USER}&step=1`);
  assert.deepEqual([polled.status, polled.left], [200, Math.floor(left - 1001 / 16)]);
});

test('what is known of a weight is asked for before the work starts, and the wait is enough for it', async (context) => {
  const { keys, post } = await start(context, 100);
  assert.deepEqual((await post(keys[0], SERIES)).left, 37);
  // 37.4375 are left, and the base weight could be paid.
  for (let attempt = 0; attempt < 2; attempt++) {
    const { status, left, body, retryAfter } = await post(keys[0], SERIES);
    assert.deepEqual([status, body.code, left], [429, 'rate_limited', 37]);
    assert.match(body.message, /^budget: this question weighs 63 or more, 37 of 100 are left; /);
    // 62.5625 less 37.4375, at one in 3,600 seconds.
    assert.ok(Math.abs(retryAfter - 25.125 * 3600) <= 1, `${retryAfter}`);
  }
});

test('a key that cannot pay the base weight is told all that is known of the weight', async (context) => {
  const { keys, post } = await start(context, 40, 64);
  for (const [key, spent, question, weight] of [
    [keys[0], 39, { type: 'clearinghouseState', user: USER, atHeight: 1 }, 13],
    [keys[1], 60, SERIES, 62.5625],
  ] as const) {
    const budget = key === keys[0] ? 40 : 64;
    // Each of them is refused, and weighs 1.
    for (let count = 0; count < spent; count++) await post(key, { type: 'nope' });
    for (let attempt = 0; attempt < 2; attempt++) {
      const { status, left, body, retryAfter } = await post(key, question);
      assert.deepEqual([status, left], [429, budget - spent]);
      assert.match(body.message, new RegExp(`weighs ${Math.ceil(weight)} or more, ${left} of`));
      const expected = (weight - left) * (360_000 / budget);
      assert.ok(Math.abs(retryAfter - expected) <= 10, `${retryAfter}, not ${expected}`);
    }
  }
});

const MARKET = {
  ...{ type: 'market', dex: '', coin: 'BTC', szDecimals: 2, onlyIsolated: false, markPx: '1000.0' },
  marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
};

/** A history that reads so many changes for an account, with a slice of time for each of 32 steps. */
function readChanges(count: number): Partial<HistoryView> {
  const reads = { marks: 0, changes: 0 };
  function* positionChanges() {
    for (let index = 0; index < 32; index++) {
      reads.changes += count / 32;
      const endMs = performance.now() + 0.3;
      while (performance.now() < endMs);
      yield undefined;
    }
  }
  const state = stateOf([MARKET]);
  return { reads, at: () => pastOf(state), positionChanges };
}

const POSITIONS = { type: 'positionHistory', user: USER, coin: 'BTC' };

test('an answer that has started is completed, and what it weighs beyond the budget is a debt', async (context) => {
  const { keys, post } = await startWith(context, readChanges(32 * 70), 100);
  assert.deepEqual((await post(keys[0], POSITIONS)).left, 30);
  const answered = await post(keys[0], POSITIONS);
  assert.deepEqual([answered.status, answered.left], [200, 0]);
  const { status, body, retryAfter } = await post(keys[0], POSITIONS);
  assert.equal(status, 429);
  assert.match(body.message, /^budget: this question weighs 20 or more, 0 of 100 are left; /);
  // A debt of 40, and the base weight.
  assert.ok(Math.abs(retryAfter - 60 * 3600) <= 10, `${retryAfter}`);
});

test('a debt is at most the whole budget: an answer that would exceed it ends as a 429', async (context) => {
  const { keys, post } = await startWith(context, readChanges(32 * 95), 100);
  const replies = await Promise.all(Array.from({ length: 5 }, () => post(keys[0], POSITIONS)));
  const answered = replies.filter(({ status }) => status === 200).length;
  assert.ok(answered <= 2, `${answered} answered`);
  assert.ok(replies.every(({ status }) => status === 200 || status === 429));
  // All were begun: the base weight of each was left.
  assert.ok(replies.some(({ body }) => /weighs (?!20)\d+ or more/.test(body.message)));
});

test('what a partial ledger did not know then is refused at the weight of a refusal', async (context) => {
  const state = stateOf([{ type: 'partial' }, MARKET]);
  const { keys, post, get } = await startWith(context, { at: () => pastOf(state) }, 20);
  for (const [left, ask] of [
    [19, () => post(keys[0], { type: 'clearinghouseState', user: USER, atHeight: 1 })],
    [18, () => get(keys[0], `type=clearinghouseState&user=${USER}&atTime=${TIME}`)],
  ] as const) {
    const reply = await ask();
    assert.deepEqual([reply.status, reply.body.error, reply.left], [422, 'unknown_height', left]);
    assert.ok(Number.isNaN(reply.retryAfter));
  }
});

test('of many series at once, no more are answered than the budget allows', async (context) => {
  const { keys, post } = await start(context, 130);
  const replies = await Promise.all(Array.from({ length: 5 }, () => post(keys[0], SERIES)));
  const answered = replies.filter(({ status }) => status === 200).length;
  assert.ok(answered <= 2, `${answered} answered`);
  assert.ok(replies.every(({ status }) => status === 200 || status === 429));
});

test('what weighs more than the whole budget is refused for good', async (context) => {
  const { keys, post } = await start(context, 50);
  const { status, left, body } = await post(keys[0], SERIES);
  assert.deepEqual([status, body.code, body.field], [422, 'invalid_field', 'type']);
  assert.match(
    body.message,
    /^type: the question weighs 63 or more, the key's whole budget is 50; /,
  );
  assert.equal(left, 50 - 1);
});

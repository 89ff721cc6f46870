/** What an answer about the past reads is charged as the work goes on, which ends where nothing is left. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { exchange } from '../../tools/harness/raw-client.ts';
import {
  createKey,
  formatQuestion,
  formatRequest,
  prepareData,
} from '../../tools/harness/service.ts';
import { historyOf } from '../info/histories.ts';
import { TIME } from '../info/states.ts';
import { createInProcess, listenLocally, openGround } from './in-process.ts';

const USER = `0x${'a'.repeat(40)}`;
/** 1,001 points of two blocks: 62.5625. */
const SERIES = { type: 'accountHistory', user: USER, step: 1 };

/** A service with keys of these budgets, which regain nothing during a test. */
async function start(context: TestContext, ...budgets: readonly number[]) {
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
  const history = historyOf([TIME, TIME + 1000], { ledgerId });
  const service = createInProcess(ground, { history: { isKept: true, find: () => history } });
  closers.push(service.close);
  const port = await listenLocally(service.server);
  const send = async (request: Buffer) => {
    const { status, headers, body } = await exchange(port, request);
    const left = Number(headers.get('ratelimit-remaining'));
    return { status, left, body: JSON.parse(body), retryAfter: headers.get('retry-after') };
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

test('where the key has nothing left, the answer ends as a 429, and what was done stays charged', async (context) => {
  const { keys, post } = await start(context, 100);
  assert.deepEqual((await post(keys[0], SERIES)).left, 37);
  const { status, left, body, retryAfter } = await post(keys[0], SERIES);
  // 37.4375 were left, and the base weight is taken.
  assert.deepEqual([status, body.code, left], [429, 'rate_limited', 17]);
  assert.match(body.message, /^budget: this question weighs 63 or more, 17 of 100 are left; /);
  // All of it is charged again: 62.5625 less 17.4375 at one in 3,600 seconds.
  assert.equal(Number(retryAfter), 45.125 * 3600);
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
  assert.equal(left, 50 - 20 - 1);
});

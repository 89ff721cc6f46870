/** Refusals of a key that goes on asking without a budget come at a bounded pace. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Allowance } from '../../src/access/budgets.ts';
import { Cancellation, STOPPING } from '../../src/http/answering/cancellation.ts';
import { isUnpaid, RefusalRateLimit } from '../../src/http/answering/limits/refusal-rate-limit.ts';
import { refusalReply } from '../../src/http/message/refusal-reply.ts';
import { Reply } from '../../src/http/message/reply.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { connect } from '../../tools/harness/raw-client.ts';
import { createKey, formatQuestion, prepareData } from '../../tools/harness/service.ts';
import { createInProcess, listenLocally, openGround } from './in-process.ts';

const INTERVAL_MS = 20;
const AT_ONCE = 10;

/** A pace, and what of its replies has come, in order. */
function openPace(context: TestContext) {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const pace = new RefusalRateLimit();
  const come: string[] = [];
  const refuse = (keyId: string, cancellation = new Cancellation(), isLast = false) => {
    const refusal = new Reply(429, '');
    refusal.isLast = isLast;
    const reply = pace.pass(refusal, keyId, cancellation);
    if (reply instanceof Promise) void reply.then(() => come.push(keyId));
    else come.push(keyId);
  };
  const passInterval = async () => {
    context.mock.timers.tick(INTERVAL_MS);
    await new Promise(setImmediate);
  };
  return { come, refuse, passInterval };
}

function refuseTimes(times: number, refuse: () => void): void {
  for (let count = 0; count < times; count++) refuse();
}

test('a key gets so many refusals at once, and as many in each interval', async (context) => {
  const { come, refuse, passInterval } = openPace(context);
  refuseTimes(2.5 * AT_ONCE, () => refuse('loud'));
  assert.equal(come.length, AT_ONCE);
  await passInterval();
  assert.equal(come.length, 2 * AT_ONCE);
  await passInterval();
  assert.equal(come.length, 2.5 * AT_ONCE);
});

test('a refusal that comes later in an interval waits behind those that came before', async (context) => {
  const { come, refuse, passInterval } = openPace(context);
  refuseTimes(2 * AT_ONCE, () => refuse('loud'));
  await passInterval();
  refuse('loud');
  assert.equal(come.length, 2 * AT_ONCE);
  await passInterval();
  assert.equal(come.length, 2 * AT_ONCE + 1);
});

test('other keys do not wait for one that is refused often', async (context) => {
  const { come, refuse, passInterval } = openPace(context);
  refuseTimes(10 * AT_ONCE, () => refuse('loud'));
  refuse('quiet');
  assert.equal(come.at(-1), 'quiet');
  await passInterval();
  refuse('quiet');
  assert.equal(come.at(-1), 'quiet');
});

test('a refusal that ends its connection counts as five', async (context) => {
  const { come, refuse, passInterval } = openPace(context);
  refuseTimes(5, () => refuse('loud', undefined, true));
  assert.equal(come.length, 2);
  await passInterval();
  assert.equal(come.length, 4);
  refuse('loud');
  await passInterval();
  assert.equal(come.length, 6);
});

test('no refusal waits on a connection that has ended or is to end', async (context) => {
  const { come, refuse } = openPace(context);
  const cancellation = new Cancellation();
  refuseTimes(2 * AT_ONCE, () => refuse('loud', cancellation));
  cancellation.cancel(STOPPING);
  await new Promise(setImmediate);
  assert.equal(come.length, 2 * AT_ONCE);
  refuse('loud', cancellation);
  assert.equal(come.length, 2 * AT_ONCE + 1);
});

const CONNECTIONS = 500;
const WAITING_EACH = 100;
/** About half of what a search through the queue for each refusal takes in processor time. */
const CLOSE_CPU_MS_MAX = 400;

test('connections with many waiting refusals are closed without a search for each of them', (context) => {
  const { come, refuse } = openPace(context);
  const cancellations = Array.from({ length: CONNECTIONS }, () => new Cancellation());
  for (let count = 0; count < WAITING_EACH; count++) {
    for (const cancellation of cancellations) refuse('loud', cancellation);
  }
  assert.equal(come.length, AT_ONCE);
  const before = process.cpuUsage();
  for (const cancellation of cancellations.reverse()) cancellation.cancel(STOPPING);
  const cpuMs = process.cpuUsage(before).user / 1000;
  assert.ok(cpuMs < CLOSE_CPU_MS_MAX, `${cpuMs} ms`);
});

const SPENT: Allowance = {
  isAllowed: true,
  limit: 40,
  remaining: 0,
  resetSeconds: 60,
  retryAfterSeconds: 0,
};
const LATE = true;

for (const [what, code, allowance, isLate, expected] of [
  ['a 429', 'rate_limited', SPENT, !LATE, true],
  ['a 429 of a key with something left', 'rate_limited', { ...SPENT, remaining: 3 }, !LATE, true],
  ['a 422 of a key with something left', 'invalid_field', { ...SPENT, remaining: 3 }, !LATE, false],
  ['a 422 of a key with nothing left', 'invalid_field', SPENT, !LATE, true],
  ['a 422 of a key without a budget', 'invalid_field', undefined, !LATE, false],
  ['a question that the follower has no budget for', 'not_ready', undefined, LATE, true],
  ['a question that the exchange did not answer', 'upstream_failed', SPENT, LATE, true],
  ['a question to a service that starts', 'not_ready', SPENT, !LATE, false],
  ['a question to a service that is overloaded', 'overloaded', SPENT, LATE, false],
  ['a height that does not come', 'behind', SPENT, LATE, false],
] as const) {
  test(`${what}: ${expected ? 'its refusal has a pace' : 'it is refused at once'}`, () => {
    const reply = refusalReply(new RequestError(code, 'no'));
    reply.allowance = allowance;
    assert.equal(isUnpaid(reply, isLate), expected);
  });
}

test('a client that asks again and again gets each of its refusals, in its order', async (context) => {
  const closers: (() => Promise<void> | void)[] = [];
  context.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const { folder } = await prepareData({ after: (remove) => closers.push(remove) });
  const key = await createKey(folder, { weight: 20, periodMs: 3_600_000 });
  const ground = await openGround(folder);
  closers.push(() => ground.close());
  await ground.live.restored;
  const service = createInProcess(ground);
  closers.push(service.close);
  const client = await connect(await listenLocally(service.server));
  closers.push(() => client.close());
  const requests = Array.from({ length: 3 * AT_ONCE }, () => formatQuestion(key));
  client.send(Buffer.concat(requests));
  const statuses: number[] = [];
  while (statuses.length < requests.length) {
    const { status } = await client.response();
    statuses.push(status);
  }
  assert.deepEqual(statuses, [200, ...Array.from({ length: requests.length - 1 }, () => 429)]);
});

/** Many subscriptions on one connection: at which pace, and what happens after a refusal. */

import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { PacedSubscriber } from '../../../web/src/service/paced-subscriber.ts';

const question = (index: number, type = 'delegations') => ({ type, user: `0x${index}` });
const questions = (count: number) => Array.from({ length: count }, (_, index) => question(index));

let nowMs: number;
/** What was sent, in order. */
let sent: string[];
let acknowledged: string[];
let refused: string[];
let subscriber: PacedSubscriber;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  nowMs = 1_000;
  sent = [];
  acknowledged = [];
  refused = [];
  subscriber = new PacedSubscriber({
    nowMs: () => nowMs,
    send: (method, { user }) => sent.push(`${method} ${user}`),
    acknowledged: ({ user = '' }) => acknowledged.push(user),
    refused: ({ user }, reason) => refused.push(`${user} ${reason}`),
  });
});

function pass(ms: number): void {
  for (let left = ms; left > 0; left -= 10) {
    nowMs += 10;
    mock.timers.tick(10);
  }
}

/** Of up to ten. */
function acknowledgeAll(): void {
  for (const line of sent) subscriber.acknowledge(question(Number(line.slice(-1))));
}

const refusal = (code: string, message: string, index: number) => ({
  ...{ code, message, method: 'subscribe', subscription: question(index) },
});

test('at most twenty are in flight, the most important ones first', () => {
  subscriber.setWanted(questions(45));
  assert.deepEqual(sent, []);
  subscriber.opened();
  pass(200);
  assert.equal(sent.length, 20);
  assert.equal(sent[0], 'subscribe 0x0');
  for (let index = 0; index < 20; index++) subscriber.acknowledge(question(index));
  pass(100);
  assert.equal(sent.length, 40);
  assert.equal(acknowledged.length, 20);
});

test('one that is refused is asked for again, each time later', () => {
  subscriber.setWanted(questions(2));
  subscriber.opened();
  pass(20);
  subscriber.acknowledge(question(1));
  subscriber.refuse(refusal('upstream_failed', 'the exchange is away', 0));
  assert.deepEqual(refused, ['0x0 upstream_failed: the exchange is away']);
  pass(1_400);
  assert.equal(sent.length, 2);
  pass(1_400);
  assert.deepEqual(sent.slice(2), ['subscribe 0x0']);
  subscriber.refuse(refusal('upstream_failed', 'away', 0));
  pass(2_900);
  assert.equal(sent.length, 3);
  pass(2_500);
  assert.equal(sent.length, 4);
});

test('with a spent budget it waits twice as long as it is told to, and asks one by one', () => {
  subscriber.setWanted(questions(3));
  subscriber.opened();
  pass(20);
  for (let index = 0; index < 3; index++) {
    subscriber.refuse({ ...refusal('rate_limited', 'spent', index), retryAfterSeconds: 5 });
  }
  assert.equal(subscriber.isShort, true);
  sent.length = 0;
  pass(9_900);
  assert.deepEqual(sent, []);
  pass(200);
  assert.deepEqual(sent, ['subscribe 0x0']);
  subscriber.acknowledge(question(0));
  pass(9_700);
  assert.equal(sent.length, 1);
  pass(300);
  assert.deepEqual(sent, ['subscribe 0x0', 'subscribe 0x1']);
  subscriber.acknowledge(question(1));
  pass(10_100);
  subscriber.acknowledge(question(2));
  pass(10_100);
  assert.equal(subscriber.isShort, false);
});

test('a new connection begins without subscriptions', () => {
  subscriber.setWanted(questions(2));
  subscriber.opened();
  pass(20);
  acknowledgeAll();
  subscriber.closed();
  pass(5_000);
  assert.equal(sent.length, 2);
  subscriber.opened();
  pass(20);
  assert.equal(sent.length, 4);
});

test('what is no longer wanted is unsubscribed, and what stays is not asked for again', () => {
  subscriber.setWanted(questions(2));
  subscriber.opened();
  pass(20);
  acknowledgeAll();
  sent.length = 0;
  subscriber.setWanted([question(1), question(2)]);
  pass(100);
  assert.deepEqual(sent, ['unsubscribe 0x0', 'subscribe 0x2']);
});

test('one that is not answered is asked for again, and one that is there already is there', () => {
  subscriber.setWanted(questions(1));
  subscriber.opened();
  pass(31_000);
  assert.deepEqual(refused, ['0x0 the service did not answer']);
  pass(3_000);
  assert.equal(sent.length, 2);
  subscriber.refuse({ ...refusal('invalid_field', 'it is open', 0), field: 'method' });
  assert.deepEqual(acknowledged, ['0x0']);
});

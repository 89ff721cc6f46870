/** When a question is polled: at its interval, with backoff after a failure, not while it is pushed. */

import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { Refusal } from '../../../web/src/service/service.ts';
import { Watch } from '../../../web/src/service/watch.ts';

const QUESTION = { type: 'delegations', user: '0x1' };
const ANSWER = { value: [], height: 1, time: 1, accountTime: undefined };
const POLL_MS = 1_000;

let asked: number;
let refused: Refusal[];
let failure: Refusal | undefined;
let watch: Watch;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  asked = 0;
  refused = [];
  failure = undefined;
  watch = new Watch({
    pollMs: POLL_MS,
    ask: async () => {
      asked++;
      if (failure !== undefined) throw failure;
      return ANSWER;
    },
    answered: () => undefined,
    refused: (refusal) => refused.push(refusal),
  });
});

/** Advances the clock and runs everything that is due. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 50) {
    mock.timers.tick(Math.min(left, 50));
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  }
}

test('it asks at once, then at its pace', async () => {
  watch.change(QUESTION);
  assert.equal(asked, 1);
  await pass(3_200);
  assert.equal(asked, 4);
  watch.change(undefined);
  await pass(5_000);
  assert.equal(asked, 4);
});

test('what is asked about the past is asked once, and again only after a failure', async () => {
  failure = new Refusal('the archive catches up', 503, 'behind');
  watch.change({ ...QUESTION, atHeight: 7 });
  await pass(3_000);
  assert.ok(asked >= 2, `${asked}`);
  failure = undefined;
  await pass(60_000);
  const answered = asked;
  await pass(60_000);
  assert.equal(asked, answered);
});

test('after failures it waits ever longer, up to half a minute', async () => {
  failure = new Refusal('overloaded', 503, 'overloaded');
  watch.change(QUESTION);
  await pass(60_000);
  // Without backing off it would be 61.
  assert.ok(asked >= 4 && asked <= 8, `${asked}`);
  await pass(180_000);
  assert.ok(asked >= 8 && asked <= 17, `${asked}`);
  failure = undefined;
  await pass(40_000);
  const recovered = asked;
  await pass(5_000);
  assert.equal(asked, recovered + 5);
});

test('it waits as long as it is told to', async () => {
  failure = new Refusal('budget', 429, 'rate_limited', 20_000);
  watch.change(QUESTION);
  await pass(19_900);
  assert.equal(asked, 1);
  await pass(200);
  assert.equal(asked, 2);
});

test('what was asked wrongly is not asked again, until something changes', async () => {
  failure = new Refusal('no such address', 422, 'invalid_address');
  watch.change(QUESTION);
  await pass(60_000);
  assert.equal(asked, 1);
  assert.deepEqual(refused, [failure]);
  watch.kick();
  assert.equal(asked, 2);
});

test('while answers are pushed it does not ask; when they end it does at once', async () => {
  watch.change(QUESTION);
  await pass(100);
  watch.setPushed(true);
  await pass(10_000);
  assert.equal(asked, 1);
  watch.setPushed(false);
  assert.equal(asked, 2);
});

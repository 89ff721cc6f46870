/** What long answers hold in memory is given back, however their connection ends. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { UnsentBytes } from '../../src/http/answering/limits/unsent-bytes.ts';
import { LongAnswers } from '../../src/http/answering/long-answers.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { connectPush } from '../../tools/harness/push-client.ts';
import { connect, exchange } from '../../tools/harness/raw-client.ts';
import { formatQuestion } from '../../tools/harness/service.ts';
import { ALICE, answerOfExchange, openFollowed } from './followed.ts';
import { startInProcess } from './in-process.ts';

const CLIENTS = 20;
const BATCH = {
  type: 'batchClearinghouseStates',
  users: Array.from({ length: 1000 }, (_, index) => `0x${String(index).padStart(40, '0')}`),
};

let underWay = 0;
let written = 0;
let unreleased = 0;
const { write } = LongAnswers.prototype;
LongAnswers.prototype.write = async function (...question) {
  underWay++;
  const answer = await write.apply(this, question).finally(() => underWay--);
  if (answer === undefined || !('release' in answer)) return answer;
  written++;
  unreleased++;
  return {
    ...answer,
    release(isFree) {
      unreleased--;
      answer.release(isFree);
    },
  };
};

async function untilReleased(writtenMin: number): Promise<void> {
  while (written < writtenMin || underWay > 0 || unreleased > 0) await sleep(5);
  assert.equal(unreleased, 0);
}

for (const noFastLane of [false, true]) {
  const lane = noFastLane ? "on Node's server" : 'on the fast lane';

  test(`${lane}, an answer that is read is released`, async (context) => {
    const { port, key } = await startInProcess(context, { settings: { noFastLane } });
    const before = written;
    const { status } = await exchange(port, formatQuestion(key, { body: JSON.stringify(BATCH) }));
    assert.equal(status, 200);
    await untilReleased(before + 1);
    assert.equal(written, before + 1);
  });

  test(`${lane}, an answer that nobody reads any more is released`, async (context) => {
    const { port, key } = await startInProcess(context, { settings: { noFastLane } });
    const question = formatQuestion(key, { body: JSON.stringify(BATCH) });
    const before = written;
    for (let count = 0; count < CLIENTS; count++) {
      const client = await connect(port);
      client.socket.pause();
      client.send(question);
      // Before, while and after the answer is written.
      await sleep(count);
      client.socket.resetAndDestroy();
    }
    await untilReleased(before + 1);
  });
}

test('over push, an answer is released', async (context) => {
  const { port, key } = await startInProcess(context);
  const client = await connectPush(context, { port, key });
  const before = written;
  client.send({ method: 'post', id: 1, request: { type: 'info', payload: BATCH } });
  await client.next('post');
  await untilReleased(before + 1);
});

const LIMIT_REACHED = new RequestError('overloaded', 'too much is unread');

/** Bodies that are counted, and not given back yet. */
let counted = 0;
let held = 0;
const { add } = UnsentBytes.prototype;
UnsentBytes.prototype.add = function (bytes) {
  counted++;
  held++;
  const noteSent = add.call(this, bytes);
  return () => {
    held--;
    noteSent();
  };
};

/** Fills of the exchange, more than 200 KB. */
function longAnswer(): string {
  const [fill] = JSON.parse(answerOfExchange('userFills'));
  return JSON.stringify(new Array(600).fill(fill));
}

test('a long answer of the exchange is counted until it is sent, on every transport', async (context) => {
  const { follower, key, post, ports } = await openFollowed(context, {
    settings: { forward: true },
  });
  const answer = longAnswer();
  follower.answerForwarded = async () => ({ outcome: 'answered', status: 200, answer });
  const question = { type: 'userFills', user: ALICE };
  const before = counted;
  for (const port of [ports.lane, ports.node]) {
    const asked = formatQuestion(key, { body: JSON.stringify(question) });
    const { status, body } = await exchange(port, asked);
    assert.deepEqual([status, body], [200, answer]);
    const gone = await connect(port);
    gone.socket.pause();
    gone.send(asked);
    await sleep(20);
    gone.socket.resetAndDestroy();
  }
  assert.deepEqual(await post(question), { type: 'userFills', data: JSON.parse(answer) });
  while (held > 0) await sleep(5);
  assert.ok(counted >= before + 3, `${counted - before} bodies`);
});

test('answers of the exchange are refused while too much is unread, however many are in flight', async (context) => {
  const { follower, ask } = await openFollowed(context, { settings: { forward: true } });
  const answer = longAnswer();
  let arrive: () => void = () => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  follower.answerForwarded = () =>
    arrived.then(() => ({ outcome: 'answered', status: 200, answer }));
  const asked = [1, 2, 3].map((startTime) => ask({ type: 'userFills', user: ALICE, startTime }));
  while (follower.forwarded.length < asked.length) await sleep(5);
  const { findOverload } = UnsentBytes.prototype;
  context.mock.method(UnsentBytes.prototype, 'findOverload', function (this: UnsentBytes) {
    return held > 0 ? LIMIT_REACHED : findOverload.call(this);
  });
  arrive();
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  assert.deepEqual(statuses, [200, 503, 503]);
});

/** What long answers hold in memory is given back, however their connection ends. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LongAnswers } from '../../src/http/long-answers.ts';
import { connectPush } from '../push/push-client.ts';
import { startInProcess } from './in-process.ts';
import { connect, exchange } from './raw-client.ts';
import { formatQuestion } from './service.ts';

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

/** What changes under a connection while it is open, and what fails: both lanes notice it at once. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Budgets } from '../../src/access/budgets.ts';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import { run } from '../../tools/harness/program.ts';
import { formatQuestion, HEIGHT } from '../../tools/harness/service.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { StandingClock } from '../standing-clock.ts';
import { type BothLanes, openBothLanes, openConversation } from './both-lanes.ts';
import { metricsOf } from './metrics.ts';

const clock = new StandingClock();

/** A conversation in which ordinary questions are asked, each answered with this status. */
function openQuestions(lanes: BothLanes, key = lanes.keySets[0].free) {
  const conversation = openConversation(lanes);
  let length = 0;
  const ask = async () => {
    await conversation.deliver(formatQuestion(key, { body: '{"type":"exchangeStatus"}' }));
    const { text, standing } = await conversation.settle();
    const said = text.slice(length);
    length = text.length;
    return { said, standing, status: Number(said.slice(9, 12)) };
  };
  return { ask, close: () => conversation.close() };
}

test('a new block is in the next answer', async (t) => {
  const lanes = await openBothLanes(t);
  const questions = openQuestions(lanes);
  assert.match((await questions.ask()).said, new RegExp(`Ledger-Height: ${HEIGHT}\r\n`));
  // By a process of its own, as it is: a ledger is opened once in a process.
  const [next] = simulateLines(HEIGHT + 1, 'http').slice(HEIGHT);
  assert.equal((await run(['append', '--data', lanes.folder], { input: next })).code, 0);
  while (lanes.ground.live.state?.height === HEIGHT) await sleep(5);
  assert.match((await questions.ask()).said, new RegExp(`Ledger-Height: ${HEIGHT + 1}\r\n`));
  questions.close();
});

test('a key that is revoked or has expired is not taken any more', async (t) => {
  const lanes = await openBothLanes(t);
  const store = await openEmbeddedKeys(lanes.folder);
  const terms = { label: 'lane', budget: undefined };
  const revoked = store.create({ ...terms, expiresMs: undefined });
  const expiring = store.create({ ...terms, expiresMs: Date.now() + 10_000 });
  await sleep(100);
  const [first, second] = [revoked, expiring].map(({ secret }) => openQuestions(lanes, secret));
  assert.deepEqual([(await first.ask()).status, (await second.ask()).status], [200, 200]);
  store.revoke(revoked.id);
  await sleep(100);
  clock.advance(9_999);
  assert.deepEqual([(await first.ask()).status, (await second.ask()).status], [401, 200]);
  clock.advance(1);
  assert.deepEqual([(await first.ask()).status, (await second.ask()).status], [401, 401]);
  first.close();
  second.close();
  await store.close();
});

test('a budget is spent, and comes back', async (t) => {
  const lanes = await openBothLanes(t);
  const questions = openQuestions(lanes, lanes.keySets[0].small);
  let status = 200;
  for (let count = 0; status === 200 && count < 30; count++)
    status = (await questions.ask()).status;
  assert.equal(status, 429);
  clock.advance(3_600_000);
  assert.equal((await questions.ask()).status, 200);
  questions.close();
});

test('without a state, with an old one and under too much load nothing is answered', async (t) => {
  const lanes = await openBothLanes(t, { settings: { refuseStale: true } });
  const { live } = lanes.ground;
  const questions = openQuestions(lanes);
  assert.equal((await questions.ask()).status, 200);
  for (const [name, stub] of [
    ['findStaleness', { value: () => ({ status: 'stale', message: 'old' }) }],
    ['state', { value: undefined }],
  ] as const) {
    Object.defineProperty(live, name, { ...stub, configurable: true });
    assert.equal((await questions.ask()).status, 503);
    Reflect.deleteProperty(live, name);
    assert.equal((await questions.ask()).status, 200);
  }
  questions.close();
  const busy = openQuestions(await openBothLanes(t, { settings: { overloadDelay: -1 } }));
  assert.match((await busy.ask()).said, /"error":"overloaded"/);
  busy.close();
});

class FailingBudgets extends Budgets {
  override charge(): never {
    throw new Error('a bug');
  }
}

test('an error of our own ends one connection, and is counted once', async (t) => {
  const lanes = await openBothLanes(t, { createBudgets: () => new FailingBudgets() });
  const failing = openQuestions(lanes, lanes.keySets[0].budgeted);
  assert.deepEqual(await failing.ask(), { said: '', standing: 'destroyed', status: 0 });
  failing.close();
  const questions = openQuestions(lanes);
  assert.equal((await questions.ask()).status, 200);
  questions.close();
  const counted = await metricsOf(lanes.plain);
  assert.ok(counted.includes('perpinfo_internal_failures_total 1'));
  assert.deepEqual(await metricsOf(lanes.fast), counted);
  for (const { logged } of [lanes.fast, lanes.plain]) {
    assert.deepEqual(
      logged.map(({ err }) => (err as Error).message),
      ['a bug'],
    );
  }
});

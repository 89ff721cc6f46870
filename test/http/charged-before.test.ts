/** What takes longer than a turn is charged before it is begun: questions in flight fit into the budget. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { CancelledAnswer } from '../../src/http/answering/cancellation.ts';
import { LongAnswers } from '../../src/http/answering/long-answers.ts';
import { PastAnswers } from '../../src/http/answering/past-answers.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { exchange } from '../../tools/harness/raw-client.ts';
import { createKey, formatQuestion, prepareData } from '../../tools/harness/service.ts';
import { historyOf } from '../info/histories.ts';
import { createInProcess, listenLocally, openGround } from './in-process.ts';

const USERS = Array.from({ length: 1000 }, (_, index) => `0x${String(index).padStart(40, '0')}`);
/** Of a question about so many accounts. */
const WEIGHT = 2000;
/** The same about a moment: 10, and 3 for each account. */
const PAST_WEIGHT = 3010;
/** What a question of this length weighs, also if it is refused. */
const LENGTH_WEIGHT = 6;
const BATCH = { type: 'batchClearinghouseStates', users: USERS };

/** A service, and a key that can afford one such question, and nothing more for an hour. */
async function startWithBudget(context: TestContext, weight = WEIGHT) {
  const closers: (() => Promise<void> | void)[] = [];
  context.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const { folder } = await prepareData({ after: (remove) => closers.push(remove) });
  const key = await createKey(folder, { weight, periodMs: 3_600_000 });
  const ground = await openGround(folder);
  closers.push(() => ground.close());
  await ground.live.restored;
  const history = historyOf([1], { ledgerId: ground.live.state?.ledgerId ?? '' });
  const service = createInProcess(ground, { history: { isKept: true, find: () => history } });
  closers.push(service.close);
  const port = await listenLocally(service.server);
  return async (question: object) => {
    const body = JSON.stringify(question);
    const { status, headers } = await exchange(port, formatQuestion(key, { body }));
    return { status, remaining: headers.get('ratelimit-remaining') };
  };
}

for (const [what, question, weight] of [
  ['now', BATCH, WEIGHT],
  // Those that are refused meanwhile are charged for their length.
  ['in the past', { ...BATCH, atHeight: 1 }, PAST_WEIGHT + 4 * LENGTH_WEIGHT],
] as const) {
  test(`of many questions about many accounts ${what} at once, as many are answered as the budget allows`, async (context) => {
    const ask = await startWithBudget(context, weight);
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(question)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 429, 429, 429, 429]);
    assert.equal(Math.min(...answers.map(({ remaining }) => Number(remaining))), 0);
  });
}

test('what is refused after all is given back', async (context) => {
  const ask = await startWithBudget(context);
  const { status, remaining } = await ask({ ...BATCH, atHeight: 1, dex: 'nope' });
  assert.deepEqual([status, remaining], [422, String(WEIGHT - LENGTH_WEIGHT)]);
});

test('an answer that was begun again and again, because it is too long, is charged', async (context) => {
  const ask = await startWithBudget(context);
  const tooLong = new RequestError('overloaded', 'users: too many', 'users');
  const outcomes = [
    { outcome: new RequestError('overloaded', 'too much is unread'), left: WEIGHT },
    { outcome: new CancelledAnswer(tooLong, Number.POSITIVE_INFINITY), left: 0 },
  ];
  for (const { outcome, left } of outcomes) {
    context.mock.method(LongAnswers.prototype, 'write', async () => outcome);
    assert.deepEqual(await ask(BATCH), { status: 503, remaining: String(left) });
    context.mock.restoreAll();
  }
});

test('work that blocks made useless is charged on top of the weight, also if the answer is refused', async (context) => {
  const outcomes = [
    undefined,
    new CancelledAnswer(new RequestError('overloaded', 'interrupted'), Number.POSITIVE_INFINITY),
  ];
  for (const outcome of outcomes) {
    const ask = await startWithBudget(context, 2 * WEIGHT);
    const { write } = LongAnswers.prototype;
    context.mock.method(
      LongAnswers.prototype,
      'write',
      async function interrupted(
        this: LongAnswers,
        ...[question, upstream, requester]: Parameters<typeof write>
      ) {
        requester.pay(WEIGHT / 2);
        return outcome ?? write.call(this, question, upstream, requester);
      },
    );
    const { status, remaining } = await ask(BATCH);
    assert.deepEqual([status, remaining], [outcome === undefined ? 200 : 503, String(WEIGHT / 2)]);
    context.mock.restoreAll();
  }
});

for (const [what, question, workedMs, left] of [
  ['now', BATCH, 10, WEIGHT - 400],
  ['in the past', { ...BATCH, atHeight: 1 }, 10, WEIGHT - 400],
  ['in the past, of which much was worked', { ...BATCH, atHeight: 1 }, 1000, 0],
] as const) {
  test(`of an answer ${what} that is given up, the time that was worked stays charged`, async (context) => {
    const ask = await startWithBudget(context);
    const refusal = new RequestError('not_ready', 'the service is stopping');
    const outcome = async () => new CancelledAnswer(refusal, workedMs);
    context.mock.method(LongAnswers.prototype, 'write', outcome);
    context.mock.method(PastAnswers.prototype, 'answer', outcome);
    assert.deepEqual(await ask(question), { status: 503, remaining: String(left) });
  });
}

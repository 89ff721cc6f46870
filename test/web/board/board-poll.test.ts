/** The board without push: its accounts are asked for in turn, by one loop whatever happens. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoardPoll } from '../../../web/src/board/board-poll.ts';
import type { Answer, Question } from '../../../web/src/figures/answers.ts';
import { Refusal } from '../../../web/src/service/service.ts';

const STEP_MS = 2_000;
const FAILED_MS = 10_000;
const USER = `0x${'ab'.repeat(20)}`;

test('polling that is stopped and started during a question goes on once, not twice', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const asked: string[] = [];
  const answers: ((answer: Answer) => void)[] = [];
  const poll = new BoardPoll({
    users: () => [USER],
    ask({ type }: Question) {
      asked.push(type);
      return new Promise((resolve) => answers.push(resolve));
    },
    answered: () => undefined,
    answeredStakes: () => undefined,
    failed: () => undefined,
  });
  /** Answers whatever is asked, until nothing more is. */
  const answerAll = async () => {
    while (answers.length > 0) {
      const value = { successful_states: [], failed_wallets: [] };
      for (const answer of answers.splice(0)) {
        answer({ value, height: 1, time: 1, accountTime: undefined });
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  poll.start();
  context.mock.timers.tick(STEP_MS);
  assert.equal(asked.length, 1);
  poll.stop();
  poll.start();
  await answerAll();
  asked.length = 0;
  for (let step = 0; step < 5; step++) {
    context.mock.timers.tick(STEP_MS);
    await answerAll();
  }
  const batches = asked.filter((type) => type === 'batchClearinghouseStates');
  assert.equal(batches.length, 5);
  poll.stop();
});

test('a batch that fails as a whole is a problem of each of its accounts, unless it is tried in parts', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const users = [USER, `0x${'cd'.repeat(20)}`];
  const refusals = [
    new Refusal('too heavy', 422),
    new Refusal('the service cannot be reached'),
    new Refusal('still too heavy', 422),
  ];
  const failed: string[] = [];
  const poll = new BoardPoll({
    users: () => users,
    async ask() {
      throw refusals.shift() ?? new Refusal('asked too often');
    },
    answered: () => undefined,
    answeredStakes: () => undefined,
    failed: (user, reason) => failed.push(`${user} ${reason}`),
  });
  const failNext = async () => {
    context.mock.timers.tick(FAILED_MS);
    await new Promise((resolve) => setImmediate(resolve));
    return failed.splice(0);
  };
  poll.start();
  assert.deepEqual(await failNext(), []);
  const reason = 'the service cannot be reached';
  assert.deepEqual(
    await failNext(),
    users.map((user) => `${user} ${reason}`),
  );
  assert.deepEqual(await failNext(), []);
  poll.stop();
  assert.deepEqual(await failNext(), []);
});

/** A follower of the stub exchange, both as processes: every answer is true at its Account-Time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../tools/harness/running.ts';
import type { Question } from '../../tools/stub-exchange/dialect-answers.ts';
import type { FollowerAnswer } from '../../tools/stub-exchange/follower-answers.ts';
import { type Following, startFollowing } from '../../tools/stub-exchange/following.ts';
import { holdsStrangeCoin } from '../../tools/stub-exchange/strange-coin.ts';
import { FULL_ONLY, LONG_ONLY, scale } from '../scale.ts';

const HOUR_MS = 3_600_000;
const ROUNDS = scale(1, 1, 40);

function accountQuestions({ truth }: Following): Question[] {
  return truth.users.flatMap((user) =>
    truth.dexes.map((dex) => ({ type: 'clearinghouseState', user, dex })),
  );
}

function accountTimeOf({ headers }: FollowerAnswer): number {
  return Number(headers['account-time']);
}

/** Asks all questions at once, some rounds long. */
async function askRounds(
  { follower }: Following,
  questions: readonly Question[],
  rounds: number,
): Promise<FollowerAnswer[]> {
  const told: FollowerAnswer[] = [];
  for (let round = 0; round < rounds; round++) {
    told.push(...(await Promise.all(questions.map((question) => follower.ask(question)))));
    await sleep(200);
  }
  return told;
}

test(
  'every account of the exchange is answered as it was at its Account-Time',
  LONG_ONLY,
  async (context) => {
    const following = await startFollowing(context, { stub: { accounts: scale(15, 15, 40) } });
    const questions = accountQuestions(following);
    await Promise.all(questions.map((question) => following.follower.untilAnswered(question)));
    const told = await askRounds(following, questions, ROUNDS);
    await following.check(told);
    const withPositions = told.filter(({ body }) => body.includes('"coin"'));
    assert.ok(withPositions.length > told.length / 10, `${withPositions.length} with positions`);
  },
);

test('an account with other rules is answered with the words of the exchange', async (context) => {
  const following = await startFollowing(context);
  const { truth, follower } = following;
  const sources = new Set<unknown>();
  for (const user of truth.otherUsers) {
    const question = { type: 'clearinghouseState', user, dex: '' };
    const told = await until('an answer', async () => {
      const answer = await follower.ask(question);
      return answer.status === 200 && answer;
    });
    sources.add(told.headers['account-source']);
    // What the ledger answers is true by its own rules: no price of such an account depends on others.
    await following.check([told]);
  }
  assert.ok(sources.has('upstream'));
});

test(
  'delegations and the auction are answered as the exchange has them',
  LONG_ONLY,
  async (context) => {
    const following = await startFollowing(context);
    const { truth, follower } = following;
    const users = truth.users.slice(0, 12);
    const questions = [
      { type: 'perpDeployAuctionStatus' },
      ...users.map((user) => ({ type: 'delegations', user })),
    ];
    await until('the auction', async () => (await follower.ask(questions[0])).body !== 'null');
    const told = await Promise.all(questions.map((question) => follower.untilAnswered(question)));
    await following.check(told);
    assert.ok(told.some(({ body }) => body.includes('validator')));
  },
);

test(
  'an account that the exchange does not know is empty, and has been asked for',
  LONG_ONLY,
  async (context) => {
    const { follower } = await startFollowing(context);
    const user = `0x${'c'.repeat(40)}`;
    const told = await follower.untilAnswered({ type: 'clearinghouseState', user });
    assert.ok(accountTimeOf(told) > 0);
    assert.deepEqual(JSON.parse(told.body).assetPositions, []);
    const { status, body } = await follower.ask({ type: 'clearinghouseState', user, dex: 'nope' });
    assert.deepEqual([status, JSON.parse(body).error], [422, 'unknown_dex']);
  },
);

test(
  'accounts are read again after the full hour, and have its funding',
  LONG_ONLY,
  async (context) => {
    const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    const following = await startFollowing(context, {
      // Blocks come by command: none is late for the hour, however slow the machine is.
      stub: { startTimeMs: hour - 3000, intervalMs: 0 },
      follower: { flags: ['--follow-sweep', '600000', '--follow-users-max', '0'] },
    });
    const { follower, truth, stub } = following;
    const question = { type: 'clearinghouseState', user: truth.users[0], dex: '' };
    const before = await follower.untilAnswered(question);
    assert.ok(accountTimeOf(before) < hour, `${accountTimeOf(before)} before ${hour}`);
    const after = await until('a reading after the hour', async () => {
      await stub.step();
      const told = await follower.ask(question);
      return accountTimeOf(told) > hour ? told : undefined;
    });
    await following.check([before, after]);
  },
);

test(
  'an account is read again before it is answered if a request asks for a younger one',
  LONG_ONLY,
  async (context) => {
    const following = await startFollowing(context, {
      follower: { flags: ['--follow-sweep', '600000', '--follow-users-max', '0'] },
      stub: { intervalMs: 50 },
    });
    const { follower, truth, stub } = following;
    const question = { type: 'clearinghouseState', user: truth.users[5], dex: '' };
    await follower.untilAnswered(question);
    await sleep(2000);
    const { time } = await stub.report();
    const told = await follower.untilAnswered(question, 500);
    assert.ok(accountTimeOf(told) > time - 1000, `${accountTimeOf(told)} at ${time}`);
    await following.check([told]);
  },
);

const SERVERS = [
  ['that pushes marks of all dexes only', { pushTypes: ['allDexsAssetCtxs', 'trades'] }],
  ['without push', { pushTypes: [] }],
  ['of a node', { pushTypes: [], unknownTypes: ['metaAndAssetCtxs', 'allMids', 'allPerpMetas'] }],
] as const;

for (const [name, stub] of SERVERS) {
  test(`a server ${name} is followed`, LONG_ONLY, async (context) => {
    const following = await startFollowing(context, { stub });
    const questions = accountQuestions(following).slice(0, 30);
    await Promise.all(questions.map((question) => following.follower.untilAnswered(question)));
    await following.check(await askRounds(following, questions, ROUNDS));
  });
}

test('no more users are subscribed to than the exchange allows', FULL_ONLY, async (context) => {
  const following = await startFollowing(context, {
    follower: { flags: ['--follow-sweep', '5000'] },
  });
  const questions = accountQuestions(following).slice(0, 60);
  await Promise.all(questions.map((question) => following.follower.untilAnswered(question)));
  await following.check(await askRounds(following, questions, ROUNDS));
  const { push } = await until('subscribed users', async () => {
    const report = await following.stub.report();
    return report.push.usersMax > 0 ? report : undefined;
  });
  assert.ok(push.usersMax <= 10 && push.connectionsMax <= 10, JSON.stringify(push));
  assert.deepEqual(push.refusals, {});
});

test(
  'an account that our rules do not reproduce is answered by the exchange, and not recorded',
  LONG_ONLY,
  async (context) => {
    const following = await startFollowing(context);
    const { follower, stub, truth } = following;
    const user = truth.users.find(holdsStrangeCoin);
    assert.ok(user);
    await stub.setFaults({ strangeCoin: true });
    const question = { type: 'clearinghouseState', user, dex: '' };
    const told = await until("the exchange's own answer", async () => {
      const answer = await follower.ask(question);
      return answer.headers['account-source'] === 'upstream' ? answer : undefined;
    });
    assert.equal(told.headers['ledger-height'], undefined);
    await following.check([told]);
    await stub.setFaults({});
    const again = await until('an answer from the ledger', async () => {
      const answer = await follower.ask(question);
      return answer.headers['account-source'] === undefined && answer.status === 200
        ? answer
        : undefined;
    });
    await following.check([again]);
  },
);

test('/health tells that the exchange is gone, and that it is back', LONG_ONLY, async (context) => {
  const { follower, stub, truth } = await startFollowing(context);
  await follower.untilAnswered({ type: 'clearinghouseState', user: truth.users[0], dex: '' });
  await until('health', async () => (await follower.health()).status === 200);
  await stub.setFaults({ gone: true });
  const { body } = await until('the bad news', async () => {
    const health = await follower.health();
    return health.status === 503 ? health : undefined;
  });
  assert.equal(body['status'], 'upstream_failed');
  assert.match(String(body['message']), /^http:\/\/127\.0\.0\.1:\d+ fails: /);
  await stub.setFaults({});
  await until('health again', async () => (await follower.health()).status === 200);
});

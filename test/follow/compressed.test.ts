/** What takes an hour, on a compressed clock: the budget over 2,000 accounts, an exchange that is gone. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LONG_ONLY, scale } from '../scale.ts';
import { until } from '../service/running.ts';
import { makeTemporaryFolder } from '../temporary-folder.ts';
import { CompressedFollower, type CompressedOptions } from './compressed-follower.ts';
import type { Question } from './dialect-answers.ts';
import { RunningStub, type StubChoice } from './running-stub.ts';
import { checkTold, type Told } from './told-answers.ts';
import { Truth } from './truth.ts';

const HOUR_MS = 3_600_000;
/** Delays of a busy machine are long on a compressed clock. */
const SLACK = { markSlackMs: 120_000 };

interface Context {
  after(clean: () => Promise<void> | void): void;
}

async function startCompressed(
  context: Context,
  choice: Partial<StubChoice> & { readonly speed: number },
  settings: Partial<CompressedOptions> = {},
) {
  const folder = await makeTemporaryFolder({ after: (clean) => context.after(clean) });
  const file = path.join(folder, 'truth.ndjson');
  const startTimeMs = Date.now() - 6 * HOUR_MS;
  const stub = await RunningStub.start(context, { file, startTimeMs, limit: 0, ...choice });
  const follower = await CompressedFollower.start({
    stub,
    seed: 'compressed',
    budget: Number.POSITIVE_INFINITY,
    sweepMs: 60_000,
    waitMs: 5_000,
    usersMax: 10,
    ...settings,
  });
  context.after(() => follower.stop());
  return { stub, follower, truth: new Truth(file) };
}

function accountOf(user: string): Question {
  return { type: 'clearinghouseState', user, dex: '' };
}

const ACCOUNTS = scale(100, 200, 2000);
const BUDGET = 1200;
const BUDGET_MINUTES = scale(4, 8, 60);

test(
  `${ACCOUNTS} accounts for ${BUDGET_MINUTES} minutes stay within ${BUDGET} a minute`,
  LONG_ONLY,
  async (context) => {
    const speed = scale(40, 60);
    const { stub, follower, truth } = await startCompressed(
      context,
      { speed, accounts: ACCOUNTS * 1.25, intervalMs: 500, limit: BUDGET },
      { budget: BUDGET },
    );
    // A fifth of the users arrive later.
    const questions = truth.users.slice(0, ACCOUNTS).map(accountOf);
    const endMs = performance.now() + (BUDGET_MINUTES * 60_000) / speed;
    const told: Told[] = [];
    while (performance.now() < endMs) {
      const answers = await Promise.all(questions.map((question) => follower.ask(question)));
      told.push(
        ...answers.filter(({ status, headers }) => {
          return status === 200 && headers['account-source'] === undefined;
        }),
      );
      if (told.length > 4 * questions.length) told.splice(0, questions.length);
      await sleep(1000);
    }
    // Before the checks, which keep this process busy for minutes of the compressed clock.
    const { ages, followed, budget } = follower.status;
    const { weight } = await stub.report();
    await follower.stop();
    truth.refresh();
    for (const one of told) checkTold(truth, one, SLACK);
    context.diagnostic(
      `${followed} followed, ages ${JSON.stringify(ages)}, budget ${JSON.stringify(budget)}, ` +
        `at most ${weight.windowMax} in 60 s, ${JSON.stringify(weight.countByType)}`,
    );
    assert.ok(weight.windowMax <= BUDGET, `${weight.windowMax} in 60 s`);
    assert.equal(weight.refused, 0);
    assert.ok(told.length > 0 && ages.accountsMax !== null);
  },
);

const GONE_MS = scale(2 * 60_000, 10 * 60_000, HOUR_MS);

test(
  'an exchange that is gone leaves old answers old, and is followed again when it is back',
  LONG_ONLY,
  async (context) => {
    const speed = scale(40, 100);
    const { stub, follower, truth } = await startCompressed(context, { speed });
    const questions = truth.users.slice(0, 10).map(accountOf);
    for (const question of questions) {
      await until('the account', async () => (await follower.ask(question)).status === 200);
    }
    await stub.setFaults({ gone: true });
    const { time: goneAt } = await stub.report();
    await sleep(GONE_MS / speed);
    const during = await Promise.all(questions.map((question) => follower.ask(question)));
    truth.refresh();
    for (const told of during) {
      checkTold(truth, told, SLACK);
      assert.ok(Number(told.headers['account-time']) <= goneAt, 'an old answer as fresh');
    }
    const young = await follower.ask(questions[0], 10_000);
    assert.equal(young.status, 502, young.body);
    const { isWell, reason, ages } = follower.status;
    assert.ok(!isWell && reason !== '', `well: ${reason}`);
    assert.ok((ages.accountsMax ?? 0) >= GONE_MS / 2, JSON.stringify(ages));
    await stub.setFaults({});
    const { time: backAt } = await stub.report();
    for (const question of questions) {
      const told = await until('a new reading', async () => {
        const answer = await follower.ask(question, 30_000);
        return Number(answer.headers['account-time']) > backAt ? answer : undefined;
      });
      truth.refresh();
      checkTold(truth, told, SLACK);
    }
    await until('a follower that is well', () => follower.status.isWell);
    assert.deepEqual(follower.refusals, []);
  },
);

test(
  'marks go on when push falls silent, and come by push again afterwards',
  LONG_ONLY,
  async (context) => {
    const { stub, follower, truth } = await startCompressed(context, { speed: 20 });
    const question = accountOf(truth.users[0]);
    await until('the account', async () => (await follower.ask(question)).status === 200);
    await stub.setFaults({ push: ['silent'] });
    await sleep(120_000 / 20);
    const { ages } = follower.status;
    assert.ok((ages.marks ?? Number.POSITIVE_INFINITY) < 30_000, JSON.stringify(ages));
    assert.ok((ages.stream ?? 0) > 30_000, JSON.stringify(ages));
    await stub.setFaults({});
    await until('push', () => (follower.status.ages.stream ?? HOUR_MS) < 5_000);
    const told = await follower.ask(question);
    truth.refresh();
    checkTold(truth, told, SLACK);
  },
);

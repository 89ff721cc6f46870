/**
 * The follower, a worker and the exchange are killed in turn: the ledger verifies, the follower goes on
 * where it was, and every answer in between is true.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../src/simulator/random.ts';
import { readVerification, run } from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { RunningFollower } from '../../tools/harness/running-follower.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import type { Question } from '../../tools/stub-exchange/dialect-answers.ts';
import { type Following, startFollowing } from '../../tools/stub-exchange/following.ts';
import { LONG_ONLY, scale } from '../scale.ts';

const KILLS = scale(3, 3, 50);

test(
  `${KILLS} kills of follower, worker and exchange in turn lose nothing ${SEED_NOTE}`,
  LONG_ONLY,
  async (context) => {
    const random = new Random(`kill/${SEED}`);
    const following = await startFollowing(context, { follower: { workers: 2 } });
    const { stub, truth, data } = following;
    const flags = ['--follow-users-max', '0'];
    let { follower } = following;
    let height = 0;

    async function askSome(): Promise<void> {
      const questions = Array.from({ length: 5 }, (): Question => {
        return { type: 'clearinghouseState', user: random.pick(truth.users), dex: '' };
      });
      await following.check(await Promise.all(questions.map((one) => follower.untilAnswered(one))));
    }

    async function killFollower(): Promise<void> {
      await follower.service.stop('SIGKILL');
      const outcome = await run(['verify', '--data', data]);
      assert.equal(outcome.code, 0, outcome.stderr);
      const verified = readVerification(outcome).height;
      assert.ok(verified >= height, `${verified} after ${height}`);
      const { secret } = follower;
      follower = await RunningFollower.start(context, { data, stub, workers: 2, flags, secret });
    }

    async function killWorker(): Promise<void> {
      const pids = follower.service.workerPids;
      process.kill(random.pick(pids.slice(-2)), 'SIGKILL');
      await until('another worker', () => follower.service.workerPids.length > pids.length);
    }

    async function killExchange(): Promise<void> {
      await stub.stop('SIGKILL');
      await stub.restart();
    }

    const victims = [killFollower, killWorker, killExchange];
    for (let kill = 0; kill < KILLS; kill++) {
      await askSome();
      height = await heightOf(follower);
      await victims[kill % victims.length]();
      await askSome();
      await until('a new block', async () => (await heightOf(follower)) > height);
    }
  },
);

async function heightOf(follower: Following['follower']): Promise<number> {
  const { headers } = await follower.ask({ type: 'perpDeployAuctionStatus' });
  return Number(headers['ledger-height'] ?? 0);
}

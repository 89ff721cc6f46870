/** The budget, counted by the exchange: it is never exceeded, and clients are told when it is spent. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import { startFollowing } from '../../../tools/stub-exchange/following.ts';
import { LONG_ONLY, scale } from '../../scale.ts';
import { type AgeSample, runBudget } from './budget-run.ts';

const BUDGET = 400;
/** More than a minute in the full run: the window moves. */
const RUN_MS = scale(5_000, 5_000, 150_000);
/** By when a busy machine has spent the budget. */
const PATIENCE_MS = RUN_MS + 60_000;

test(
  `no window of 60 s has more than ${BUDGET}, however much is asked for`,
  LONG_ONLY,
  async (context) => {
    const following = await startFollowing(context, {
      stub: { accounts: 150, limit: 1200 },
      follower: { flags: ['--follow-budget', `${BUDGET}`, '--follow-wait', '3000'] },
    });
    const { follower, truth, stub } = following;
    const statuses = new Map<number, number>();
    const startedMs = performance.now();
    const isOver = () => {
      const tookMs = performance.now() - startedMs;
      return tookMs > PATIENCE_MS || (tookMs > RUN_MS && statuses.has(200) && statuses.has(503));
    };
    for (let index = 0; !isOver(); index++) {
      const user = truth.users[index % truth.users.length];
      const told = await follower.ask({ type: 'clearinghouseState', user, dex: '' });
      statuses.set(told.status, (statuses.get(told.status) ?? 0) + 1);
      if (told.status === 200) await following.check([told]);
      else {
        assert.equal(told.status, 503, told.body);
        assert.equal(JSON.parse(told.body).error, 'not_ready');
        assert.ok(Number(told.headers['retry-after']) > 0);
      }
      await sleep(5);
    }
    const { weight } = await stub.report();
    assert.ok((statuses.get(200) ?? 0) > 0 && (statuses.get(503) ?? 0) > 0, `${[...statuses]}`);
    assert.ok(weight.windowMax <= BUDGET, `${weight.windowMax} in 60 s`);
    assert.ok(weight.windowMax > BUDGET / 2, `only ${weight.windowMax} in 60 s`);
    assert.equal(weight.refused, 0);
  },
);

/** The follower estimates the exchange's time, which advances with each block. */
const TOLD_MS_MAX = 10_000;
/** An hour of the exchange, after all accounts were read once, in the full run. */
const OLD = scale(
  { accounts: 150, budget: 300, minutes: 12, warmUpMinutes: 8 },
  { accounts: 150, budget: 300, minutes: 12, warmUpMinutes: 8 },
  { accounts: 2_000, budget: 1_200, minutes: 80, warmUpMinutes: 20 },
);

function describeAges({ minute, median, p90, max }: AgeSample): string {
  const [half, most, all] = [median, p90, max].map((ageMs) => Math.round(ageMs / 1000));
  return `minute ${minute}: half of the accounts at most ${half} s old, 90 % ${most} s, all ${all} s`;
}

test(
  `${OLD.accounts} accounts on a budget of ${OLD.budget} grow old, and say so`,
  LONG_ONLY,
  async (context) => {
    const folder = await makeTemporaryFolder(context);
    const file = path.join(folder, 'truth.ndjson');
    const run = await runBudget({ ...OLD, file, sweepMs: 60_000, blockMs: 10_000 });
    const steady = run.samples.filter(({ minute }) => minute > OLD.warmUpMinutes);
    for (const sample of run.samples.filter(({ minute }) => minute % 4 === 0)) {
      context.diagnostic(describeAges(sample));
    }
    context.diagnostic(
      `requests ${JSON.stringify(run.countByType)}, most in 60 s ${run.windowMax}`,
    );
    assert.ok(run.windowMax <= OLD.budget, `${run.windowMax} in 60 s`);
    assert.equal(run.refused, 0);
    assert.deepEqual(run.refusals, []);
    // An answer that does not check, such as one with new margin tiers, takes an account back for a while.
    assert.ok(steady.every(({ unknown }) => unknown <= OLD.accounts / 100));
    for (const { median, max, told } of steady) {
      assert.ok(Math.abs((told.median ?? 0) - median) <= TOLD_MS_MAX, `${told.median}, ${median}`);
      assert.ok(Math.abs((told.max ?? 0) - max) <= TOLD_MS_MAX, `${told.max}, ${max}`);
    }
  },
);

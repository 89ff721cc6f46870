/**
 * Seeded runs with every fault of an exchange: no wrong answer, no old one as fresh, the budget kept,
 * nothing wrong in the ledger, and recovery by itself. Time is compressed.
 */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { readVerification, run } from '../../../tools/harness/program.ts';
import { RunningFollower } from '../../../tools/harness/running-follower.ts';
import { RunningStub, type StubChoice } from '../../../tools/harness/running-stub.ts';
import { SEED, SEED_NOTE } from '../../../tools/harness/seed.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import { Truth } from '../../../tools/stub-exchange/truth.ts';
import { ALSO_FULL, LONG_ONLY, scale } from '../../scale.ts';
import { CompressedFollower } from './compressed-follower.ts';
import {
  FaultRun,
  type FaultRunOptions,
  type FaultRunResult,
  type FollowerChoice,
} from './fault-run.ts';

const RUNS = scale(1, 1, 500);
const LANES = scale(1, 4);
/** Runs of whole services, on the machine's own clock. */
const SERVICE_RUNS = scale(1, 1, 20);
const SPEED = 10;

const SERVICE_FLAGS = ['--follow-sweep', '5000', '--follow-wait', '3000'];

interface Context {
  after(clean: () => Promise<void> | void): void;
}

async function startExchange(context: Context, choice: Partial<StubChoice>) {
  const folder = await makeTemporaryFolder({ after: (clean) => context.after(clean) });
  const file = path.join(folder, 'truth.ndjson');
  const exchange = { intervalMs: 200, accounts: 25, limit: 0, ...choice };
  const stub = await RunningStub.start(context, { file, ...exchange });
  return { stub, truth: new Truth(file), folder };
}

/** A run that fails ends the lanes beside it. */
let hasFailed = false;

async function runOnce(options: FaultRunOptions): Promise<FaultRunResult> {
  const run = new FaultRun(options);
  try {
    return await run.run();
  } catch (error) {
    hasFailed = true;
    const { message } = error as Error;
    throw new Error(`run ${options.seed}: ${message}\n${run.describe()}`, { cause: error });
  }
}

/** Runs one after the other on one exchange. */
async function runLane(context: Context, lane: number): Promise<FaultRunResult[]> {
  const startTimeMs = Date.now() - 6 * 3_600_000;
  const exchange = { seed: `${SEED}/${lane}`, speed: SPEED, startTimeMs };
  const { stub, truth } = await startExchange(context, exchange);
  const startFollower = (choice: FollowerChoice) =>
    CompressedFollower.start({ stub, sweepMs: 5_000, waitMs: 3_000, ...choice });
  const results: FaultRunResult[] = [];
  for (let index = lane; index < RUNS && !hasFailed; index += LANES) {
    results.push(await runOnce({ stub, truth, seed: `${SEED}/${index}`, startFollower }));
  }
  return results;
}

test(
  `${RUNS} runs with faults never give a wrong answer ${SEED_NOTE}`,
  ALSO_FULL,
  async (context) => {
    const lanes = Array.from({ length: LANES }, (_, lane) => runLane(context, lane));
    const results = (await Promise.all(lanes)).flat();
    assert.equal(results.length, RUNS);
    const counts: Record<string, number> = {};
    for (const result of results) {
      for (const [kind, count] of Object.entries(result.counts)) {
        counts[kind] = (counts[kind] ?? 0) + count;
      }
    }
    const recoveries = results.map(({ recoveryMs }) => recoveryMs).sort((a, b) => a - b);
    const median = recoveries[Math.floor(recoveries.length / 2)];
    context.diagnostic(
      `answers ${JSON.stringify(counts)}; recovery ${Math.round(median)} ms in the median, ` +
        `${Math.round(recoveries.at(-1) ?? 0)} ms at most, of compressed time`,
    );
    // Two runs may have faults most of the time.
    assert.ok(counts['200'] > scale(0, counts['502']));
  },
);

test(
  `${SERVICE_RUNS} services that follow never give a wrong answer ${SEED_NOTE}`,
  LONG_ONLY,
  async (context) => {
    const { stub, truth, folder } = await startExchange(context, { seed: `${SEED}/service` });
    for (let index = 0; index < SERVICE_RUNS; index++) {
      const data = path.join(folder, `data-${index}`);
      const startFollower = ({ budget, usersMax }: FollowerChoice) => {
        const limit = budget === Number.POSITIVE_INFINITY ? 0 : budget;
        const flags = ['--follow-budget', `${limit}`, '--follow-users-max', `${usersMax}`];
        return RunningFollower.start(context, { data, stub, flags: [...SERVICE_FLAGS, ...flags] });
      };
      await runOnce({ stub, truth, seed: `${SEED}/service/${index}`, startFollower });
      const verified = await run(['verify', '--data', data]);
      assert.equal(verified.code, 0, verified.stderr);
      assert.ok(readVerification(verified).height > 0);
    }
  },
);

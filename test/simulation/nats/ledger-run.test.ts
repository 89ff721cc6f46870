/** Writers and a reader of a ledger on simulated NATS servers that fail. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RunResult, runLedger } from '../../../tools/fault-simulator/nats/ledger-run.ts';
import { planFaults } from '../../../tools/fault-simulator/nats/nats-fault-plan.ts';
import { SEED, SEED_NOTE } from '../../../tools/harness/seed.ts';
import { ALSO_LONG, scale } from '../../scale.ts';

const SEEDS = scale(1, 6, 1_000);
const FAULTY_MS = scale(25_000, 60_000);

function runWithFaults(seed: string, serverCount: 1 | 3): Promise<RunResult> {
  return runLedger({ seed, serverCount, faultyMs: FAULTY_MS, plan: planFaults });
}

test('a second writer takes over from one that is paused for longer than its lease', async () => {
  const result = await runLedger({
    seed: 'takeover',
    serverCount: 3,
    faultyMs: 30_000,
    plan: ({ kernel, writers, acknowledgedCounts }) => {
      const pauseHolder = () => {
        const holder = writers.find(({ name }) => acknowledgedCounts.has(name));
        assert.ok(holder !== undefined);
        kernel.pause(holder);
        kernel.schedule(15_000, () => kernel.resume(holder), kernel.world);
      };
      kernel.schedule(10_000, pauseHolder, kernel.world);
    },
  });
  assert.deepEqual(result.failures, []);
  assert.equal(result.acknowledgedCounts.size, 2);
});

test(`no acknowledged block is lost, and there is one chain ${SEED_NOTE}`, ALSO_LONG, async () => {
  for (let index = 0; index < SEEDS; index++) {
    const seed = `${SEED}-${index}`;
    const result = await runWithFaults(seed, index % 3 === 1 ? 1 : 3);
    assert.deepEqual(result.failures, [], `seed ${seed}`);
  }
});

test('a seed gives the same run', async () => {
  const first = await runWithFaults('same', 3);
  const second = await runWithFaults('same', 3);
  assert.ok(first.height > 0);
  assert.equal(second.traceHash, first.traceHash);
});

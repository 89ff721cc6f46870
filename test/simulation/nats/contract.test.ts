/** The simulated NATS servers answer as real ones do (test/cluster/contract.test.ts). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectNats } from '../../../src/ledger/jetstream/nats.ts';
import { CONTRACT, runContract } from '../../../tools/fault-simulator/nats/contract.ts';
import { SimulatedNats } from '../../../tools/fault-simulator/nats/simulated-nats.ts';
import { DiskFaults } from '../../../tools/fault-simulator/system/disk-faults.ts';
import { Kernel } from '../../../tools/fault-simulator/system/kernel.ts';
import { SimulatedFiles } from '../../../tools/fault-simulator/system/simulated-files.ts';
import { onSystem } from '../../../tools/fault-simulator/system/virtual-system.ts';

const UNTIL_MS = 120_000;

async function runSimulated(count: 1 | 3): Promise<string[] | undefined> {
  const kernel = new Kernel('contract');
  const files = new SimulatedFiles(kernel, new DiskFaults(kernel.random));
  const nats = new SimulatedNats(kernel, count);
  let lines: string[] | undefined;
  const main = async () => {
    const link = await connectNats(nats.options('contract'));
    await link.retryWhileUnavailable(() => link.ask('waiting', () => link.openBucket('ready')));
    lines = await runContract(link);
    await link.close();
  };
  await onSystem({ kernel, files, connect: nats.connect }, async () => {
    kernel.start('client', () => void main());
    await kernel.run(UNTIL_MS, () => lines !== undefined);
  });
  return lines;
}

for (const count of [1, 3] as const) {
  test(`${count} simulated servers keep the contract`, async () => {
    assert.deepEqual(await runSimulated(count), CONTRACT);
  });
}

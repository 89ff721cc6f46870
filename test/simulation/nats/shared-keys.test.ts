/** Keys and charges of processes on several machines, by simulated NATS servers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openJetStreamKeys } from '../../../src/access/jetstream/jetstream-keys.ts';
import { openNatsCharges } from '../../../src/access/jetstream/nats-charges.ts';
import { DiskFaults } from '../system/disk-faults.ts';
import { Kernel } from '../system/kernel.ts';
import { SimulatedFiles } from '../system/simulated-files.ts';
import { onSystem } from '../system/virtual-system.ts';
import { SimulatedNats } from './simulated-nats.ts';

const UNTIL_MS = 60_000;
const CHARGE = { id: 'k1', weight: 20, budget: { weight: 1_200, periodMs: 60_000 } };

/** Runs the work in a simulated process, and returns what it returns. */
async function runInProcess<T>(
  work: (nats: SimulatedNats, kernel: Kernel) => Promise<T>,
): Promise<T> {
  const kernel = new Kernel('keys');
  const nats = new SimulatedNats(kernel, 3);
  const files = new SimulatedFiles(kernel, new DiskFaults(kernel.random));
  let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
  const main = () =>
    void work(nats, kernel).then(
      (value) => {
        outcome = { value };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
  await onSystem({ kernel, files, connect: nats.connect }, async () => {
    kernel.start('process', main);
    await kernel.run(UNTIL_MS, () => outcome !== undefined);
  });
  if (outcome === undefined) throw new Error('it did not end');
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

test('a key that one process revokes is gone from the others within a second', async () => {
  const seen = await runInProcess(async (nats) => {
    const [mine, other] = [
      await openJetStreamKeys(nats.options('ledger')),
      await openJetStreamKeys(nats.options('ledger')),
    ];
    const { name } = await mine.create({
      label: 'bot',
      budget: CHARGE.budget,
      expiresMs: undefined,
    });
    await sleep(1_000);
    const before = other.all().length;
    await mine.revoke(name.split('.')[0]);
    await sleep(1_000);
    return [before, other.all().length];
  });
  assert.deepEqual(seen, [1, 0]);
});

test('charges reach the other processes, and none while the network is cut', async () => {
  const seen = await runInProcess(async (nats, kernel) => {
    const mine = await openNatsCharges(nats.options('ledger'));
    const other = await openNatsCharges(nats.options('ledger'));
    const received: number[] = [];
    other?.onCharges((charges) => received.push(charges.length));
    await sleep(100);
    mine?.send([CHARGE]);
    await sleep(100);
    nats.partition(kernel.current);
    await sleep(10_000);
    mine?.send([CHARGE]);
    await sleep(1_000);
    return received;
  });
  assert.deepEqual(seen, [1]);
});

/** Keys and charges of processes on several machines, by simulated NATS servers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openJetStreamKeys } from '../../../src/access/jetstream/jetstream-keys.ts';
import { openNatsCharges } from '../../../src/access/jetstream/nats-charges.ts';
import { runInProcess } from './run-in-process.ts';

const CHARGE = { id: 'k1', weight: 20, budget: { weight: 1_200, periodMs: 60_000 } };

test('a key that one process revokes is gone from the others within a second', async () => {
  const seen = await runInProcess(3, async (nats) => {
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
  const seen = await runInProcess(3, async (nats, kernel) => {
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

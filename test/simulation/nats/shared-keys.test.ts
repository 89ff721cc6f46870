/** Keys and charges of processes on several machines, by simulated NATS servers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KV, KvEntry } from '@nats-io/kv';
import { openJetStreamKeys } from '../../../src/access/jetstream/jetstream-keys.ts';
import { openNatsCharges } from '../../../src/access/jetstream/nats-charges.ts';
import { connectNats } from '../../../src/ledger/jetstream/nats.ts';
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

const TERMS = { label: 'bot', budget: undefined, expiresMs: undefined };

/** Has every bucket list these entries instead of its own, until the returned function is called. */
function listInstead(bucket: KV, entries: readonly KvEntry[]): () => void {
  const prototype = Object.getPrototypeOf(bucket) as { history: unknown };
  const { history } = prototype;
  prototype.history = async function* list() {
    yield* entries;
  };
  return () => {
    prototype.history = history;
  };
}

test('a list of keys from a server that lags is not taken for the new one', async () => {
  const seen = await runInProcess(3, async (nats) => {
    const [mine, other] = [
      await openJetStreamKeys(nats.options('ledger')),
      await openJetStreamKeys(nats.options('ledger')),
    ];
    const { id } = await mine.create(TERMS);
    await mine.addSecret(id);
    await sleep(1_000);
    const countBefore = other.all()[0].secrets.length;
    const bucket = await (await connectNats(nats.options('ledger'))).openBucket('ledger-keys');
    const old = await bucket.get(id);
    const catchUp = listInstead(bucket, old === null ? [] : [old]);
    await mine.revoke(`${id}.1`);
    await sleep(5_000);
    catchUp();
    await sleep(1_000);
    return [countBefore, other.all()[0].secrets.length];
  });
  assert.deepEqual(seen, [2, 1]);
});

test('keys are read although an operator has purged the last change', async () => {
  const count = await runInProcess(3, async (nats) => {
    const mine = await openJetStreamKeys(nats.options('ledger'));
    await mine.create(TERMS);
    await mine.create(TERMS);
    const { manager } = await connectNats(nats.options('ledger'));
    await manager.streams.deleteMessage('KV_ledger-keys', 2);
    return (await openJetStreamKeys(nats.options('ledger'))).all().length;
  });
  assert.equal(count, 1);
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

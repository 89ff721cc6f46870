/** Keys and charges of processes on several machines, by simulated NATS servers. */

import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KV } from '@nats-io/kv';
import { openJetStreamKeys } from '../../../src/access/jetstream/jetstream-keys.ts';
import { openNatsCharges } from '../../../src/access/jetstream/nats-charges.ts';
import { connectNats } from '../../../src/ledger/jetstream/nats.ts';
import { runInProcess } from '../../../tools/fault-simulator/nats/run-in-process.ts';
import type { SimulatedNats } from '../../../tools/fault-simulator/nats/simulated-nats.ts';

const CHARGE = { id: 'k1', weight: 20, budget: { weight: 1_200, periodMs: 60_000 } };

test('a key that one process revokes is live in no other within a second, and stays in the list', async () => {
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
    const listed = await other.list();
    const states = listed.map(({ secrets, revokedMs = 0 }) => [secrets.length, revokedMs > 0]);
    return [before, other.all().length, states];
  });
  assert.deepEqual(seen, [1, 0, [[0, true]]]);
});

const TERMS = { label: 'bot', budget: undefined, expiresMs: undefined };

/** Replaces how every bucket reads a list, until the returned function is called. */
function onHistory(bucket: KV, replacement: () => Promise<unknown>): () => void {
  const prototype = Object.getPrototypeOf(bucket) as { history: unknown };
  const { history } = prototype;
  prototype.history = replacement;
  return () => {
    prototype.history = history;
  };
}

async function openKeysBucket(nats: SimulatedNats): Promise<KV> {
  return (await connectNats(nats.options('ledger'))).openBucket('ledger-keys');
}

/** Lets no stream find a message, until the returned function is called. */
function hideMessages(streams: object): () => void {
  const prototype = Object.getPrototypeOf(streams) as { getMessage: unknown };
  const { getMessage } = prototype;
  prototype.getMessage = async () => null;
  return () => {
    prototype.getMessage = getMessage;
  };
}

for (const isFound of [true, false]) {
  const rest = isFound ? '' : ', not even if it does not find the change';
  test(`a list of keys from a server that lags is not taken for the new one${rest}`, async () => {
    const seen = await runInProcess(3, async (nats) => {
      const [mine, other] = [
        await openJetStreamKeys(nats.options('ledger')),
        await openJetStreamKeys(nats.options('ledger')),
      ];
      const { id } = await mine.create(TERMS);
      await mine.addSecret(id);
      await sleep(1_000);
      const countBefore = other.all()[0].secrets.length;
      const link = await connectNats(nats.options('ledger'));
      const bucket = await link.openBucket('ledger-keys');
      const old = await bucket.get(id);
      const catchUp = onHistory(bucket, async () => Readable.from([old]));
      await mine.revoke(`${id}.1`);
      const find = isFound ? () => undefined : hideMessages(link.manager.streams);
      await sleep(5_000);
      catchUp();
      find();
      await sleep(1_000);
      return [countBefore, other.all()[0].secrets.length];
    });
    assert.deepEqual(seen, [2, 1]);
  });
}

test('a list of keys whose newest change was purged is the list, and is not read again for ever', async () => {
  const seen = await runInProcess(3, async (nats) => {
    const mine = await openJetStreamKeys(nats.options('ledger'));
    await mine.create(TERMS);
    const { id } = await mine.create(TERMS);
    const link = await connectNats(nats.options('ledger'));
    await mine.revoke(id);
    await link.manager.streams.purge('KV_ledger-keys', { filter: `$KV.ledger-keys.${id}` });
    const other = await openJetStreamKeys(nats.options('ledger'));
    await sleep(20_000);
    const version = other.version();
    await sleep(5_000);
    return [other.all().length, other.version() - version];
  });
  assert.deepEqual(seen, [1, 0]);
});

/** A list of which nothing ever comes. */
class EndlessList extends PassThrough {
  stop(reason: Error): void {
    this.destroy(reason);
  }
}

for (const [about, withinMs, isCut] of [
  ['stops arriving', 2_000, false],
  ['breaks off with the connection', 900, true],
] as const) {
  test(`a list of keys that ${about} is read again within ${withinMs} ms`, async () => {
    const count = await runInProcess(1, async (nats, kernel) => {
      const mine = await openJetStreamKeys(nats.options('ledger'));
      const mend = onHistory(await openKeysBucket(nats), async () => {
        mend();
        if (isCut) kernel.schedule(1, () => nats.cutConnections(kernel.current));
        return new EndlessList();
      });
      await mine.create(TERMS);
      await sleep(withinMs);
      return mine.all().length;
    });
    assert.equal(count, 1);
  });
}

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

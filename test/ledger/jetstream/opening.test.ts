/** Ledgers on JetStream that are opened, held and closed while streams or servers are not as they should be. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KV } from '@nats-io/kv';
import { JetStreamLedger } from '../../../src/ledger/jetstream/jetstream-ledger.ts';
import { Lease, takeLease } from '../../../src/ledger/jetstream/lease.ts';
import type { NatsLink } from '../../../src/ledger/jetstream/nats.ts';
import { StoredHead } from '../../../src/ledger/jetstream/stored-head.ts';
import { chainOfLength, collectBlocks, describeBlocks } from '../chains.ts';
import { type SimulatedWorld, storeBlocks, test } from './simulated-ledger.ts';

const blocks = chainOfLength(5);
const RESTORE =
  'restore it from a copy (docs/guide/troubleshooting.md), or continue without the lost blocks (--accept-loss)';

const GONE: [about: string, message: string, lose: (link: NatsLink) => Promise<unknown>][] = [
  [
    'deleted',
    `the stream ledger ends at block 0, but block 3 was written to it: ${RESTORE}`,
    ({ manager, name }) => manager.streams.delete(name),
  ],
  [
    'emptied',
    `the stream ledger was emptied, but block 3 was written to it: ${RESTORE}`,
    async (link) => {
      await forgetHead(link);
      await link.manager.streams.purge(link.name);
    },
  ],
];

/** As if the last block had been stored by a writer that was killed before it could note it. */
async function forgetHead(link: NatsLink): Promise<void> {
  await new StoredHead(link, await link.openBucket(link.name)).set(blocks[1]);
}

for (const [about, message, lose] of GONE) {
  test(`a writer starts over on a stream that was ${about} only if it accepts the loss`, async (world) => {
    await storeBlocks(world, blocks.slice(0, 3));
    const link = await world.connect();
    await lose(link);
    await assert.rejects(world.openWriter(), { fault: 'missing', message });
    const writer = await world.openWriter({ acceptsLoss: true });
    await writer.append(blocks);
    assert.deepEqual(describeBlocks(await collectBlocks(writer.read(0))), describeBlocks(blocks));
  });
}

test('a writer takes no stale answer for a loss', async (world) => {
  await storeBlocks(world, blocks);
  const link = await world.connect();
  const { info } = link.manager.streams;
  const prototype = Object.getPrototypeOf(link.manager.streams) as { info: typeof info };
  const isStaleUntilMs = world.kernel.nowMs + 3_000;
  prototype.info = async function (this: typeof link.manager.streams, ...terms) {
    const answer = await info.apply(this, terms);
    if (world.kernel.nowMs < isStaleUntilMs) answer.state.last_seq = 3;
    return answer;
  };
  try {
    const writer = await world.openWriter();
    assert.equal((await writer.head()).height, 5);
    await writer.close();
  } finally {
    prototype.info = info;
  }
});

test('an emptied stream whose last block nobody has noted cannot be read', async (world) => {
  await storeBlocks(world, blocks.slice(0, 3));
  const link = await world.connect();
  await forgetHead(link);
  await link.manager.streams.purge(link.name);
  await assert.rejects(world.openReader(), {
    fault: 'missing',
    message:
      'the stream ledger has dropped all its blocks, and the hash of the last one, block 3, is lost: ' +
      'save a snapshot of a replica that still runs (perpinfo snapshot), or restore the ledger from ' +
      'a copy (docs/guide/troubleshooting.md)',
  });
});

test('a stream that has dropped all its blocks is read, and continued, from the noted head', async (world) => {
  await storeBlocks(world, blocks.slice(0, 3));
  const link = await world.connect();
  await link.manager.streams.purge(link.name);
  const reader = await world.openReader();
  assert.deepEqual(await reader.head(), { height: 3, hash: blocks[2].hash });
  assert.deepEqual(await reader.base(), { height: 3, hash: blocks[2].hash });
  // Whoever accepts a loss loses nothing here: none has happened.
  await storeAfter(world, blocks.slice(3, 4), true);
  await link.manager.streams.purge(link.name);
  await storeAfter(world, blocks.slice(4), false);
  assert.deepEqual(
    describeBlocks(await collectBlocks(reader.read(4))),
    describeBlocks([blocks[4]]),
  );
});

async function storeAfter(world: SimulatedWorld, added: typeof blocks, acceptsLoss: boolean) {
  const writer = await world.openWriter({ acceptsLoss });
  await writer.append(added);
  await writer.close();
}

test('a writer goes on while its stream drops every block behind it', async (world) => {
  const writer = await world.openWriter();
  const link = await world.connect();
  for (const block of blocks) {
    await writer.append([block]);
    await sleep(3_000);
    await link.manager.streams.purge(link.name);
    assert.deepEqual(await writer.head(), { height: block.height, hash: block.hash });
  }
});

test('the head is noted soon after the last append, also by a writer that is never closed', async (world) => {
  const writer = await world.openWriter();
  const link = await world.connect();
  const note = new StoredHead(link, await link.openBucket(link.name));
  for (const count of [1, 2, 3]) await writer.append(blocks.slice(count - 1, count));
  await sleep(3_000);
  assert.equal((await note.read())?.height, 3);
  await writer.append(blocks.slice(3, 4));
  // The first attempt fails.
  world.nats.servers[0].kill();
  await sleep(2_500);
  world.nats.servers[0].start();
  await sleep(10_000);
  assert.equal((await note.read())?.height, 4);
  await note.raise(blocks[1]);
  assert.deepEqual(await note.read(), { height: 4, hash: blocks[3].hash });
});

test('a writer that accepts loss keeps what is there, and continues after it', async (world) => {
  await storeBlocks(world, blocks.slice(0, 2));
  const link = await world.connect();
  // Written up to block 4, of which the last two are gone.
  const written = JSON.stringify({ height: 4, hash: blocks[3].hash.toString('hex') });
  await (await link.openBucket(link.name)).put('written', written);
  await assert.rejects(world.openWriter(), {
    fault: 'missing',
    message: `the stream ledger ends at block 2, but block 4 was written to it: ${RESTORE}`,
  });
  const writer = await world.openWriter({ acceptsLoss: true });
  await writer.append(blocks.slice(2));
  assert.equal((await writer.head()).height, 5);
});

test('a base that is dropped again and again before it can be read is not made up', async (world) => {
  await storeBlocks(world, blocks);
  const link = await world.connect();
  link.readMessage = async () => undefined;
  await assert.rejects(new JetStreamLedger(link).base(), {
    fault: 'unavailable',
    message: 'retention drops blocks faster than the first one can be read',
  });
});

test('a writer opens its ledger although the server is away for a while, at whatever moment', async (world) => {
  const { kernel, nats, openWriter } = world;
  const [server] = nats.servers;
  await storeBlocks(world, blocks.slice(0, 1));
  for (let afterMs = 3; afterMs < 20; afterMs += 0.5) {
    kernel.schedule(afterMs, () => server.kill(), kernel.world);
    kernel.schedule(1_000, () => server.start(), kernel.world);
    const writer = await openWriter({ retryMs: 20_000 });
    await sleep(3_000);
    assert.equal((await writer.head()).height, 1);
    await writer.close();
  }
});

test('a writer gives up on a server that stays away', async (world) => {
  const { kernel, nats, openWriter } = world;
  await storeBlocks(world, blocks.slice(0, 1));
  kernel.schedule(4, () => nats.servers[0].kill(), kernel.world);
  await assert.rejects(openWriter({ retryMs: 5_000 }), {
    fault: 'unavailable',
    message: /NATS request failed/,
  });
});

test('a ledger whose connection is down says so at once, and answers again after it', async (world) => {
  const [server] = world.nats.servers;
  await storeBlocks(world, blocks);
  const ledger = await world.openReader();
  server.kill();
  await sleep(100);
  const down = {
    fault: 'unavailable',
    message: 'the connection to NATS at 10.0.0.1:4222 is down',
  };
  await assert.rejects(ledger.head(), down);
  await assert.rejects(ledger.height(), down);
  server.start();
  await sleep(3_000);
  assert.equal(await ledger.height(), 5);
});

test('a writer that is closed while its network is cut ends, and its process can open the ledger again', async (world) => {
  const { kernel, nats } = world;
  const writer = await world.openWriter();
  await writer.append(blocks.slice(0, 1));
  nats.partition(kernel.current);
  await writer.close();
  nats.rejoin(kernel.current);
  const next = await world.openWriter();
  assert.equal((await next.head()).height, 1);
});

async function openLeasePlace(link: NatsLink, change: (bucket: KV) => Partial<KV>) {
  const bucket = await link.openBucket(link.name);
  const changed: KV = Object.assign(Object.create(bucket), change(bucket));
  return { bucket, place: { link, bucket: changed, key: 'test' } };
}

test('a lease whose renewals are stored but not acknowledged is kept', async (world) => {
  const link = await world.connect();
  let renewals = 0;
  let readings = 0;
  const { bucket, place } = await openLeasePlace(link, (kv) => ({
    update: async (...change) => {
      renewals++;
      const revision = await kv.update(...change);
      if (renewals % 2 === 1) throw new Error('timeout');
      return revision;
    },
    get: async (...key) => {
      // After the lease is taken, the first look at it fails too: nothing is known then.
      if (++readings === 2) throw new Error('timeout');
      return kv.get(...key);
    },
  }));
  const lease = await takeLease(place);
  assert.ok(lease instanceof Lease);
  await sleep(4_500);
  assert.ok(renewals >= 4 && readings >= 3, `${renewals} renewals, ${readings} readings`);
  assert.equal(lease.isLost, false);
  await lease.release();
  assert.equal((await bucket.get('test'))?.operation, 'DEL');
});

test('of a lease that was lost nothing is left: its process can take it again where its entry comes back', async (world) => {
  const link = await world.connect();
  const { bucket, place } = await openLeasePlace(link, () => ({}));
  const lost = await takeLease(place);
  assert.ok(lost instanceof Lease);
  const entry = (await bucket.get('test'))?.string() ?? '';
  await bucket.put('test', JSON.stringify({ ...JSON.parse(entry), token: 'x' }));
  await sleep(1_500);
  assert.equal(lost.isLost, true);
  await bucket.put('test', entry);
  const taken = await takeLease(place);
  assert.ok(taken instanceof Lease);
  await taken.release();
});

test('a lease that another process takes first is not taken, and one that cannot be written is an error', async (world) => {
  const link = await world.connect();
  const holder = {
    pid: 7,
    startedAt: '1',
    boot: '',
    namespace: '',
    host: 'elsewhere',
    token: 'x',
  };
  const taken = await openLeasePlace(link, (kv) => ({
    create: async (key, value) => {
      await kv.create(key, JSON.stringify(holder));
      // Renewed, so that it is held.
      setTimeout(() => void kv.put(key, JSON.stringify(holder)), 400);
      return kv.create(key, value);
    },
  }));
  assert.deepEqual(await takeLease(taken.place), holder);
  await taken.bucket.delete('test');
  const failing = await openLeasePlace(link, () => ({
    update: () => Promise.reject(new Error('no space')),
  }));
  await assert.rejects(takeLease(failing.place), {
    fault: 'unavailable',
    message: 'taking the lease: NATS request failed: no space (10.0.0.1:4222)',
  });
});

/** Snapshots on NATS whose messages are lost: a restore goes on without them. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamConfig } from '@nats-io/jetstream';
import type { ObjectInfo, ObjectResult, ObjectStore } from '@nats-io/obj';
import type { Presence } from '../../src/ledger/embedded/presence.ts';
import type { NatsLink } from '../../src/ledger/jetstream/nats.ts';
import { StoredHead } from '../../src/ledger/jetstream/stored-head.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { Replica } from '../../src/replica/replica.ts';
import { SharedSnapshots } from '../../src/replica/shared-snapshots.ts';
import type { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { SnapshotKeeper } from '../../src/replica/snapshot-keeper.ts';
import { createState } from '../../src/state/state.ts';
import { chainOfLength } from '../ledger/chains.ts';
import { type SimulatedWorld, storeBlocks, test } from '../ledger/jetstream/simulated-ledger.ts';

function nameOf(height: number): string {
  return `${String(height).padStart(16, '0')}.snapshot`;
}

const LISTED = [{ name: nameOf(2_000), deleted: false }];
const FOREVER = new Promise<never>(() => undefined);

/** An object of which one chunk comes, and then no more; it may fail later. */
function startObject(then?: (controller: ReadableStreamDefaultController) => void) {
  let isCancelled = false;
  const data = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(Buffer.from('a chunk'));
      then?.(controller);
    },
    cancel() {
      isCancelled = true;
    },
  });
  return { data, isCancelled: () => isCancelled };
}

/** Fetches a snapshot from an object store; returns the warnings. */
async function fetchFrom(world: SimulatedWorld, objects: object): Promise<string[]> {
  const link = await world.connect();
  const bucket = await link.openBucket('any');
  const shared = new SharedSnapshots(link, objects as ObjectStore, bucket);
  const snapshots = {
    heights: () => [],
    remove: async () => undefined,
    async receive(_: number, chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) assert.ok(chunk.length > 0);
    },
  } as Partial<SnapshotFolder> as SnapshotFolder;
  const ledger = { base: async () => ({ height: 0 }) } as Partial<Ledger> as Ledger;
  const warnings: string[] = [];
  const warn = (message: string) => warnings.push(message);
  await shared.fetch({ ledger, snapshots, height: 3_000, warn });
  await shared.close();
  return warnings;
}

test('a list of snapshots that never arrives is given up after five seconds', async (world) => {
  const startedMs = world.kernel.nowMs;
  const warnings = await fetchFrom(world, { list: () => FOREVER });
  assert.deepEqual(warnings, [
    'cannot list the snapshots on NATS: listing snapshots: NATS request failed: ' +
      'no list arrived in time (10.0.0.1:4222)',
  ]);
  assert.ok(world.kernel.nowMs - startedMs < 6_000);
});

const LOST: [about: string, reason: string, seconds: number, cut: boolean][] = [
  ['stops arriving', 'nothing arrived for 10000 ms', 10, false],
  ['breaks off with the connection', 'the connection was lost', 1, true],
];

for (const [about, reason, seconds, isCut] of LOST) {
  test(`a snapshot that ${about} is given up, and its consumer stopped`, async (world) => {
    const { kernel, nats } = world;
    const startedMs = kernel.nowMs;
    const object = startObject();
    const get = async (): Promise<Partial<ObjectResult>> => {
      if (isCut) kernel.schedule(100, () => nats.cutConnections(kernel.current));
      return { data: object.data, error: FOREVER };
    };
    const warnings = await fetchFrom(world, { list: async () => LISTED, get });
    assert.deepEqual(warnings, [`the snapshot of height 2000 on NATS is ignored: ${reason}`]);
    assert.ok(kernel.nowMs - startedMs < seconds * 1_000 + 1_000);
    assert.ok(object.isCancelled());
  });
}

test('a snapshot that cannot be read does not end the process', async (world) => {
  const failure = new Error('no such consumer');
  const { data } = startObject((controller) => {
    setTimeout(() => controller.error(failure), 2_000);
  });
  const get = async () => {
    const error = sleep(1_000).then(() => Promise.reject(failure));
    return { data, error } as Partial<ObjectResult>;
  };
  const warnings = await fetchFrom(world, { list: async () => LISTED, get });
  assert.deepEqual(warnings, ['the snapshot of height 2000 on NATS is ignored: no such consumer']);
});

test('snapshots of a ledger that was longer are deleted, and the next one is published', async (world) => {
  await storeBlocks(world, chainOfLength(5));
  const link = await world.connect();
  await link.openObjects('ledger-snapshots');
  const { stored, objects } = createNames([nameOf(4), nameOf(2_000)]);
  const bucket = await link.openBucket('any');
  const shared = new SharedSnapshots(link, objects, bucket);
  const snapshots = { pathOf: () => import.meta.filename } as Partial<SnapshotFolder>;
  assert.equal(await shared.publish(snapshots as SnapshotFolder, 5), true);
  assert.deepEqual([...stored], [nameOf(4), nameOf(5)]);
  await shared.close();
});

/** An object store of names only. */
function createNames(names: Iterable<string> = []) {
  const stored = new Set(names);
  const objects: Partial<ObjectStore> = {
    list: async () => [...stored].map((name) => ({ name, deleted: false }) as ObjectInfo),
    info: async () => null,
    put: async ({ name }) => {
      stored.add(name);
      return {} as ObjectInfo;
    },
    delete: async (name) => ({ success: stored.delete(name), purged: 0 }),
  };
  return { stored, objects: objects as ObjectStore };
}

/** The stream of the ledger, with limits. */
async function createStream(link: NatsLink, limits: Partial<StreamConfig>): Promise<void> {
  // Retried until the server is ready.
  await link.openBucket('ledger');
  await link.manager.streams.add({
    name: 'ledger',
    subjects: ['perpinfo.ledger.blocks'],
    ...limits,
  });
}

test('a replica publishes a snapshot before max_age drops the blocks since the last one, and then no more', async (world) => {
  const chain = chainOfLength(5);
  const link = await world.connect();
  await createStream(link, { max_age: link.modules.transport.nanos(120_000) });
  await storeBlocks(world, chain.slice(0, 3));
  await link.openObjects('ledger-snapshots');
  const { stored, objects } = createNames();
  const shared = new SharedSnapshots(link, objects, await link.openBucket('ledger'));
  const saved: number[] = [];
  const snapshots: Partial<SnapshotFolder> = {
    heights: () => saved,
    pathOf: () => import.meta.filename,
    save: async ({ height }) => void saved.push(height),
    keepNewest: async () => undefined,
    enter: async () => ({ isAnnounced: false, leave: () => undefined }) as unknown as Presence,
  };
  const options = { snapshots: snapshots as SnapshotFolder, shared, every: 10_000, keep: 10 };
  const keeper = new SnapshotKeeper({ ...options, warn: assert.fail });
  await keeper.ready();
  const state = createState();
  const offer = (height: number) => {
    state.height = height;
    keeper.keep(new Replica(state, chain[height - 1]));
  };
  offer(3);
  await sleep(50_000);
  assert.deepEqual(saved, []);
  await sleep(20_000);
  assert.deepEqual([saved, [...stored]], [[3], [nameOf(3)]]);
  await sleep(120_000);
  assert.deepEqual(saved, [3]);
  await storeBlocks(world, chain.slice(3));
  offer(5);
  await sleep(50_000);
  assert.deepEqual(saved, [3]);
  await sleep(20_000);
  assert.deepEqual(
    [saved, [...stored]],
    [
      [3, 5],
      [nameOf(3), nameOf(5)],
    ],
  );
  await keeper.close();
  await shared.close();
});

test('blocks that were dropped before they were in a snapshot are published at once, by the publisher alone', async (world) => {
  const chain = chainOfLength(5);
  const link = await world.connect();
  await createStream(link, { max_msgs: 1_000 });
  await storeBlocks(world, chain);
  const open = async (...heights: number[]) => {
    const own = await world.connect();
    const { objects } = createNames(heights.map(nameOf));
    return new SharedSnapshots(own, objects, await own.openBucket('ledger'));
  };
  const publisher = await open(2);
  assert.equal(await publisher.isDue(5), false);
  await link.manager.streams.purge('ledger', { seq: 4 });
  assert.equal(await publisher.isDue(5), true);
  assert.equal(await publisher.isDue(2), false, 'a state that is as old as the snapshot');
  const other = await open(2);
  assert.equal(await other.isDue(5), false);
  await publisher.close();
  assert.equal(await other.isDue(5), true);
  await other.close();
});

test('a stream whose last block is lost is continued from a snapshot on request', async (world) => {
  const chain = chainOfLength(5);
  await storeBlocks(world, chain.slice(0, 3));
  const link = await world.connect();
  await link.openObjects('ledger-snapshots');
  const bucket = await link.openBucket('ledger');
  await new StoredHead(link, bucket).set(chain[0]);
  await link.manager.streams.purge('ledger');
  await assert.rejects(world.openReader(), { fault: 'missing' });
  const { stored, objects } = createNames();
  const shared = new SharedSnapshots(link, objects, bucket);
  const snapshots = { pathOf: () => import.meta.filename } as Partial<SnapshotFolder>;
  const object = await shared.publishNow(snapshots as SnapshotFolder, chain[2]);
  assert.equal(object, `ledger-snapshots/${nameOf(3)}`);
  assert.deepEqual([...stored], [nameOf(3)]);
  await storeBlocks(world, chain.slice(3));
  await shared.close();
});

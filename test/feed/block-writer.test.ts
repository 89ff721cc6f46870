/** The block writer with feeds of every kind: what it tells them, and what it stores of them. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BlockError } from '../../src/events/refusal.ts';
import { BlockWriter, type BlockWriterOptions } from '../../src/feed/block-writer.ts';
import type { Feed, FeedBlock, FeedStart } from '../../src/feed/feed.ts';
import { createSetUpFeed, SimulatedState } from '../../src/feed/live-simulator.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import type { LedgerWriter } from '../../src/ledger/ledger.ts';
import { restoreReplica } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';

const NEVER = new AbortController().signal;
const TIME = 1_758_556_800_000;

function emptyBlock(height: number): FeedBlock {
  return { line: Buffer.from(JSON.stringify({ height, time: TIME + height, events: [] })) };
}

function feedOf(...batches: (readonly FeedBlock[])[]): Feed {
  return {
    name: 'list',
    async *blocks() {
      yield* batches;
    },
  };
}

interface Fixture {
  readonly ledger: LedgerWriter;
  readonly snapshots: SnapshotFolder;
  readonly durable: number[];
  createWriter(changed?: Partial<BlockWriterOptions>): Promise<BlockWriter>;
}

async function openFixture(t: TestContext): Promise<Fixture> {
  const folder = await makeTemporaryFolder(t);
  const ledger = await openEmbeddedLedgerWriter(folder);
  t.after(() => ledger.close());
  const snapshots = new SnapshotFolder(folder);
  const durable: number[] = [];
  return {
    ledger,
    snapshots,
    durable,
    async createWriter(changed = {}) {
      const replica = await restoreReplica({ ledger, snapshots, warn: assert.fail });
      return new BlockWriter({
        ledger,
        replica,
        snapshots,
        snapshotEvery: Number.MAX_SAFE_INTEGER,
        snapshotKeep: 10,
        aheadMsMax: 0,
        warn: assert.fail,
        durable: (height) => durable.push(height),
        ...changed,
      });
    },
  };
}

test('blocks that come together are acknowledged together', async (t) => {
  const { ledger, durable, createWriter } = await openFixture(t);
  const writer = await createWriter();
  await writer.run(feedOf([1, 2, 3].map(emptyBlock)), NEVER);
  assert.deepEqual(durable, [3]);
  assert.equal((await ledger.head()).height, 3);
});

test('a feed is told the height and time of the ledger when it starts', async (t) => {
  const { createWriter } = await openFixture(t);
  const writer = await createWriter();
  const starts: Pick<FeedStart, 'height' | 'time'>[] = [];
  const feed = (height: number): Feed => ({
    name: 'curious',
    async *blocks({ height: head, time }) {
      starts.push({ height: head, time });
      yield [emptyBlock(height)];
    },
  });
  await writer.run(feed(1), NEVER);
  await writer.run(feed(2), NEVER);
  assert.deepEqual(starts, [
    { height: 0, time: 0 },
    { height: 1, time: TIME + 1 },
  ]);
});

for (const [how, end] of [
  ['ends', () => undefined],
  ["throws the signal's reason", (signal: AbortSignal) => signal.throwIfAborted()],
] as const) {
  test(`a feed that waits is stopped by the signal, and ${how}: what it gave is durable`, async (t) => {
    const { durable, createWriter } = await openFixture(t);
    const writer = await createWriter();
    const stop = new AbortController();
    const feed: Feed = {
      name: 'waiting',
      async *blocks(_start, signal) {
        yield [emptyBlock(1)];
        queueMicrotask(() => stop.abort());
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        end(signal);
      },
    };
    await writer.run(feed, stop.signal);
    assert.deepEqual(durable, [1]);
  });
}

test('a feed that fails is told to stop, and its blocks before that are durable', async (t) => {
  const { durable, createWriter } = await openFixture(t);
  const writer = await createWriter();
  const failing: Feed = {
    name: 'failing',
    async *blocks() {
      yield [emptyBlock(1)];
      throw new Error('the exchange is gone');
    },
  };
  await assert.rejects(writer.run(failing, NEVER), { message: 'the exchange is gone' });
  assert.deepEqual(durable, [1]);
});

test('a refused block ends the run with its position; the feed is told, and cleans up', async (t) => {
  const { durable, createWriter } = await openFixture(t);
  const writer = await createWriter();
  const seen: string[] = [];
  const feed: Feed = {
    name: 'gap',
    async *blocks(_start, signal) {
      signal.addEventListener('abort', () => seen.push('stopped'));
      try {
        yield [emptyBlock(1), { ...emptyBlock(3), position: 'message 7' }, emptyBlock(2)];
      } finally {
        seen.push('closed');
      }
    },
  };
  await assert.rejects(writer.run(feed, NEVER), {
    name: 'FeedError',
    message: /^message 7: block 3/,
  });
  await nextTurn();
  assert.deepEqual(durable, [1]);
  assert.deepEqual(seen, ['stopped', 'closed']);
});

test("a feed sees the writer's state advance with its blocks", async (t) => {
  const { createWriter } = await openFixture(t);
  const writer = await createWriter();
  const heights: number[] = [];
  const feed: Feed = {
    name: 'watching',
    async *blocks({ state }) {
      heights.push(state.height);
      yield [emptyBlock(1), emptyBlock(2)];
      heights.push(state.height);
      yield [emptyBlock(3)];
      heights.push(state.height);
    },
  };
  await writer.run(feed, NEVER);
  assert.deepEqual(heights, [0, 2, 3]);
});

test('a refused block whose feed wants to hear of it is skipped, and the feed goes on', async (t) => {
  const { ledger, durable, createWriter } = await openFixture(t);
  const writer = await createWriter();
  const reports: string[] = [];
  const refused = (error: BlockError) => reports.push(error.message);
  const wrong = { line: Buffer.from('{"height":2,"time":0,"events":[]}'), refused };
  const gap = { ...emptyBlock(4), refused };
  await writer.run(
    feedOf([emptyBlock(1), wrong, { ...emptyBlock(2), refused }], [gap], [emptyBlock(3)]),
    NEVER,
  );
  assert.deepEqual(reports, [
    `block 2: time: got 0, expected ${TIME + 1} or later, the time of the block before`,
    'block 4: height: got 4, expected 3, the next height',
  ]);
  assert.deepEqual(durable, [2, 3]);
  assert.equal((await ledger.head()).height, 3);
});

test('a block ahead of the clock is reported to its feed too', async (t) => {
  const { ledger, createWriter } = await openFixture(t);
  const writer = await createWriter({ aheadMsMax: 1000 });
  const reports: BlockError[] = [];
  const line = JSON.stringify({ height: 1, time: Date.now() + 60_000, events: [] });
  const refused = (error: BlockError) => reports.push(error);
  await writer.run(feedOf([{ line: Buffer.from(line), refused }]), NEVER);
  assert.match(reports[0]?.message ?? '', /time: got \d+, expected at most 1000 ms ahead/);
  assert.equal((await ledger.head()).height, 0);
});

test('a block too far ahead of the clock is refused', async (t) => {
  const { createWriter } = await openFixture(t);
  const writer = await createWriter({ aheadMsMax: 1000 });
  const line = JSON.stringify({ height: 1, time: Date.now() + 60_000, events: [] });
  const run = writer.run(feedOf([{ line: Buffer.from(line) }]), NEVER);
  await assert.rejects(run, { message: /time: got \d+, expected at most 1000 ms ahead/ });
});

for (const savesInBackground of [false, true]) {
  test(`snapshots are of the multiples, and never ahead of the ledger: background ${savesInBackground}`, async (t) => {
    const { ledger, snapshots, durable, createWriter } = await openFixture(t);
    const save = snapshots.save.bind(snapshots);
    const savedAt: [height: number, durableHeight: number | undefined][] = [];
    snapshots.save = (state, hash) => {
      savedAt.push([state.height, durable.at(-1)]);
      return save(state, hash);
    };
    await (await createWriter({ snapshotEvery: 2, savesInBackground })).run(
      feedOf([1, 2, 3].map(emptyBlock)),
      NEVER,
    );
    await (await createWriter({ snapshotEvery: 2, savesInBackground })).run(
      feedOf([4, 5].map(emptyBlock)),
      NEVER,
    );
    assert.deepEqual(savedAt, [
      [2, 2],
      [4, 4],
    ]);
    assert.deepEqual(snapshots.heights(), [2, 4]);
    assert.equal((await ledger.head()).height, 5);
  });
}

test('blocks are stored while a snapshot is saved in the background, and the run waits for it', async (t) => {
  const { snapshots, durable, createWriter } = await openFixture(t);
  const save = snapshots.save.bind(snapshots);
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  snapshots.save = async (state, hash) => {
    await save(state, hash);
    await finished;
  };
  const writer = await createWriter({ snapshotEvery: 2, savesInBackground: true });
  let isOver = false;
  const running = writer.run(feedOf([1, 2].map(emptyBlock), [emptyBlock(3)]), NEVER);
  const over = running.then(() => {
    isOver = true;
  });
  while (durable.at(-1) !== 3) await nextTurn();
  await nextTurn();
  assert.equal(isOver, false);
  finish();
  await over;
  assert.deepEqual(snapshots.heights(), [2]);
});

test("the simulator's own state is what its blocks give, and its start is stored in few batches", async (t) => {
  const { ledger, snapshots, durable, createWriter } = await openFixture(t);
  const simulator = createSimulator({ seed: 'writer', accounts: 2000 });
  const replica = new SimulatedState(simulator, CHAIN_START);
  const writer = await createWriter({ replica, snapshotEvery: 3 });
  await writer.run(createSetUpFeed(simulator), NEVER);
  const { height } = simulator.state;
  assert.ok(simulator.isSetUp && height > 3);
  assert.equal(durable.at(-1), height);
  // Restores from a snapshot that the simulator's state gave, and replays the rest.
  const restored = await restoreReplica({ ledger, snapshots, warn: assert.fail });
  assert.equal(restored.point.height, height);
  assert.ok(restored.point.hash.equals(replica.point.hash));
});

/** The feed of a service whose ledger fails: which blocks count as its own, and what /health says. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { readSettings } from '../../../src/config/read-settings.ts';
import { FEED_SETTINGS } from '../../../src/feed/settings.ts';
import { openEmbeddedLedger } from '../../../src/ledger/embedded/embedded-ledger.ts';
import { EmbeddedLedgerWriter } from '../../../src/ledger/embedded/embedded-writer.ts';
import { LedgerError, type LedgerFault, type StoredBlock } from '../../../src/ledger/ledger.ts';
import { type FeedFailure, LiveState } from '../../../src/replica/live-state.ts';
import { SnapshotFolder } from '../../../src/replica/snapshot-folder.ts';
import { ServiceFeed } from '../../../src/service/service-feed.ts';
import { simulateLines } from '../../../tools/harness/simulated-lines.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';

const lines = simulateLines(5).map((line) => Buffer.from(line));
/** Each batch is an append. */
const BATCHES = [lines.slice(0, 2), lines.slice(2)];

/** Yields the second batch when the first one is durable, then nothing more. */
function createFeed(firstDurable: Promise<void>) {
  return {
    name: 'batches',
    async *blocks() {
      for (const batch of BATCHES) {
        yield batch.map((line) => ({ line }));
        await firstDurable;
      }
      await new Promise(() => undefined);
    },
  };
}

type Append = (blocks: readonly StoredBlock[]) => Promise<void>;

/** Feeds a ledger whose second append is replaced; returns how the feed failed. */
async function failSecondAppend(
  context: TestContext,
  data: string,
  second: (append: Append, blocks: readonly StoredBlock[]) => Promise<void>,
): Promise<FeedFailure> {
  const { append } = EmbeddedLedgerWriter.prototype;
  context.mock.method(EmbeddedLedgerWriter.prototype, 'append', function (
    this: EmbeddedLedgerWriter,
    blocks: readonly StoredBlock[],
  ) {
    const store: Append = (each) => append.call(this, each);
    return blocks[0].height === 1 ? store(blocks) : second(store, blocks);
  } as Append);
  const { promise, resolve } = deferred();
  const feed = await ServiceFeed.open({
    settings: readSettings(FEED_SETTINGS, new Map([['data', data]]), {}),
    feed: createFeed(promise),
    log: pino({ level: 'silent' }),
    durable: resolve,
    closed: () => undefined,
  });
  await feed.run();
  return feed.failure;
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function failWith(fault: LedgerFault): never {
  throw new LedgerError(fault, 'cannot store the blocks');
}

/** The health of a worker that has read the whole ledger. */
async function readHealth(context: TestContext, data: string, failure: FeedFailure) {
  const ledger = await openEmbeddedLedger(data);
  context.after(() => ledger.close());
  const live = new LiveState({
    ...{ ledger, snapshots: new SnapshotFolder(data), maxAgeMs: 0 },
    warn: (message) => assert.fail(message),
    advanced: () => undefined,
    failed: (error) => assert.fail(error),
  });
  const stop = new AbortController();
  const running = live.run(stop.signal);
  await live.restored;
  live.noteFeedFailure(failure);
  const { status, height } = await live.health(Date.now());
  stop.abort();
  await running;
  return { status, height };
}

test('a feed whose blocks are visible although their flush failed is not called well', async (t) => {
  const data = await makeTemporaryFolder(t);
  const failure = await failSecondAppend(t, data, async (append, blocks) => {
    await append(blocks);
    failWith('unwritable');
  });
  assert.equal(failure.height, 5);
  assert.deepEqual(await readHealth(t, data, failure), { status: 'feed_failed', height: 5 });
});

test('a feed whose failed append stored nothing has failed at its last durable block', async (t) => {
  const data = await makeTemporaryFolder(t);
  const failure = await failSecondAppend(t, data, async () => failWith('unwritable'));
  assert.equal(failure.height, 2);
});

test('blocks that another writer has written are not the blocks of a feed that failed', async (t) => {
  const data = await makeTemporaryFolder(t);
  const failure = await failSecondAppend(t, data, async (append, blocks) => {
    await append(blocks);
    failWith('conflict');
  });
  assert.equal(failure.height, 2);
  assert.deepEqual(await readHealth(t, data, failure), { status: 'ok', height: 5 });
});

test('a feed whose ledger cannot be read may have stored all that it has applied', async (t) => {
  const failure = await failSecondAppend(t, await makeTemporaryFolder(t), async () => {
    t.mock.method(EmbeddedLedgerWriter.prototype, 'head', async () => failWith('unavailable'));
    failWith('unavailable');
  });
  assert.equal(failure.height, 5);
});

/** The feed of a service whose ledger fails: which blocks count as its own, and what /health says. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { readSettings } from '../../../src/config/read-settings.ts';
import type { FeedStart } from '../../../src/feed/feed.ts';
import { FEED_SETTINGS } from '../../../src/feed/settings.ts';
import { openEmbeddedLedger } from '../../../src/ledger/embedded/embedded-ledger.ts';
import { EmbeddedLedgerWriter } from '../../../src/ledger/embedded/embedded-writer.ts';
import { LedgerError, type LedgerFault, type StoredBlock } from '../../../src/ledger/ledger.ts';
import { type FeedFailure, LiveState } from '../../../src/replica/live-state.ts';
import { SnapshotFolder } from '../../../src/replica/snapshot-folder.ts';
import { ServiceFeed, type ServiceFeedOptions } from '../../../src/service/service-feed.ts';
import { simulateLines } from '../../../tools/harness/simulated-lines.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';

const lines = simulateLines(5).map((line) => Buffer.from(line));
/** Each batch is an append. */
const BATCHES = [lines.slice(0, 2), lines.slice(2)];

/** Yields the second batch when the first one is durable, then nothing more until it is stopped. */
function createFeed(firstDurable: Promise<void>) {
  return {
    name: 'batches',
    async *blocks(_start: FeedStart, signal: AbortSignal) {
      for (const batch of BATCHES) {
        yield batch.map((line) => ({ line }));
        await firstDurable;
      }
      if (!signal.aborted) await once(signal, 'abort');
    },
  };
}

type Append = (blocks: readonly StoredBlock[]) => Promise<void>;

type Second = (append: Append, blocks: readonly StoredBlock[]) => Promise<void>;

/** Opens a feed of a ledger whose second append is replaced. */
async function openFeed(
  context: TestContext,
  data: string,
  second: Second,
  terms: Pick<ServiceFeedOptions, 'isRepeatable' | 'retry'> & {
    durable?(height: number): void;
  } = {},
): Promise<ServiceFeed> {
  const { append } = EmbeddedLedgerWriter.prototype;
  context.mock.method(EmbeddedLedgerWriter.prototype, 'append', function (
    this: EmbeddedLedgerWriter,
    blocks: readonly StoredBlock[],
  ) {
    const store: Append = (each) => append.call(this, each);
    return blocks[0].height === 1 ? store(blocks) : second(store, blocks);
  } as Append);
  const { promise, resolve } = deferred();
  return ServiceFeed.open({
    ...terms,
    settings: readSettings(FEED_SETTINGS, new Map([['data', data]]), {}),
    feed: createFeed(promise),
    log: pino({ level: 'silent' }),
    durable: (height) => {
      resolve();
      terms.durable?.(height);
    },
    closed: () => undefined,
  });
}

/** Feeds a ledger whose second append is replaced; returns how the feed failed. */
async function failSecondAppend(
  context: TestContext,
  data: string,
  second: Second,
): Promise<FeedFailure> {
  const feed = await openFeed(context, data, second);
  await feed.run();
  const { last } = feed.failures;
  assert.ok(last !== undefined);
  return last;
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

/** A full disk, as the writer finds it before it writes. */
function refuseForSpace(): never {
  throw new LedgerError('unwritable', 'no space left', { isRepeatable: true });
}

const REPEATED = { isRepeatable: true, retry: { firstMs: 1, maxMs: 1 } };

test('a feed that can be read again waits while the disk is full, and then stores its blocks', async (t) => {
  const data = await makeTemporaryFolder(t);
  const { promise: stored, resolve } = deferred();
  let attempts = 0;
  const second: Second = async (append, blocks) => {
    attempts++;
    if (attempts < 4) refuseForSpace();
    await append(blocks);
  };
  const durable = (height: number) => (height === 5 ? resolve() : undefined);
  const feed = await openFeed(t, data, second, { ...REPEATED, durable });
  const failures: FeedFailure[] = [];
  feed.failures.listen((failure) => failures.push(failure));
  const running = feed.run();
  await stored;
  feed.stop();
  await running;
  const failure = { height: 2, reason: 'no space left', isRetried: true };
  assert.deepEqual(failures, [failure, failure, failure]);
  assert.deepEqual([feed.error, feed.endsService], [undefined, false]);
  assert.deepEqual(await readHealth(t, data, failure), { status: 'ok', height: 5 });
});

test('blocks that gathered while the disk was full are stored in parts that fit', async (t) => {
  const data = await makeTemporaryFolder(t);
  const { promise: stored, resolve } = deferred();
  const second: Second = (append, blocks) =>
    blocks.length > 1 ? refuseForSpace() : append(blocks);
  const durable = (height: number) => (height === 5 ? resolve() : undefined);
  const feed = await openFeed(t, data, second, { ...REPEATED, durable });
  const heights: number[] = [];
  feed.failures.listen(({ height }) => heights.push(height));
  const running = feed.run();
  await stored;
  feed.stop();
  await running;
  assert.deepEqual([feed.error, heights], [undefined, [2, 2]]);
});

test('a feed that waits for room can be stopped, and says what is not stored', async (t) => {
  const data = await makeTemporaryFolder(t);
  const retry = { firstMs: 60_000, maxMs: 60_000 };
  const feed = await openFeed(t, data, refuseForSpace, { ...REPEATED, retry });
  feed.failures.listen(() => feed.stop());
  await feed.run();
  assert.equal(feed.failed?.message, 'no space left');
});

test('only a feed that can be read again ends the service, and only if a restart may help', async (t) => {
  const endsService = async (fault: LedgerFault, isRepeatable: boolean) => {
    const data = await makeTemporaryFolder(t);
    const feed = await openFeed(t, data, () => failWith(fault), { ...REPEATED, isRepeatable });
    await feed.run();
    t.mock.restoreAll();
    return feed.endsService;
  };
  assert.equal(await endsService('unwritable', true), true);
  assert.equal(await endsService('unavailable', true), true);
  assert.equal(await endsService('conflict', true), false);
  assert.equal(await endsService('corrupt', true), false);
  assert.equal(await endsService('unwritable', false), false);
});

/** Blocks that are read from servers that lag, lose, replace or damage them. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHAIN_START } from '../../../src/ledger/hash-chain.ts';
import { BlockReader } from '../../../src/ledger/jetstream/block-reader.ts';
import type { NatsLink } from '../../../src/ledger/jetstream/nats.ts';
import { LedgerError, type StoredBlock } from '../../../src/ledger/ledger.ts';
import { chainLines, chainOfLength, collectBlocks, heightsOf } from '../chains.ts';
import { publishBlock, type SimulatedWorld, storeBlocks, test } from './simulated-ledger.ts';

const blocks = chainOfLength(8);
const FOREVER = Number.POSITIVE_INFINITY;

interface Reading {
  /** The last height to read; without it, what comes is followed. */
  to?: number;
  after?: number;
  retryMs?: number;
  /** Called after each batch. */
  read?: (heights: readonly number[], stop: () => void) => unknown;
}

interface Outcome {
  readonly heights: readonly number[];
  readonly error: string | undefined;
}

/** Reads until the end, or until `read` stops it, or until it fails. */
async function readAll(
  link: NatsLink,
  { to = FOREVER, after = 0, retryMs = FOREVER, read = () => undefined }: Reading,
): Promise<Outcome> {
  const stopping = new AbortController();
  const heights: number[] = [];
  try {
    const terms = { to, signal: stopping.signal, retryMs };
    for await (const batch of new BlockReader(link, after, terms).read()) {
      heights.push(...heightsOf(batch));
      await read(heights, () => stopping.abort());
    }
    return { heights, error: undefined };
  } catch (error) {
    assert.ok(error instanceof LedgerError, `${(error as Error).stack}`);
    return { heights, error: `${error.fault}: ${error.message}` };
  }
}

function stopAt(height: number) {
  return (heights: readonly number[], stop: () => void) => {
    if (heights.at(-1) === height) stop();
  };
}

async function storeAndConnect(world: SimulatedWorld, count: number): Promise<NatsLink> {
  await storeBlocks(world, blocks.slice(0, count));
  return world.connect();
}

async function replaceStream(link: NatsLink, others: readonly StoredBlock[]): Promise<void> {
  const { config } = await link.manager.streams.info(link.name);
  await link.manager.streams.delete(link.name);
  await link.manager.streams.add(config);
  for (const [index, block] of others.entries()) {
    await publishBlock(link, others[index - 1] ?? CHAIN_START, block);
  }
}

function refuseConsumers(link: NatsLink): void {
  link.manager.consumers.add = () => Promise.reject(new Error('no metadata leader'));
}

test('blocks are read one by one where no consumer can be created, and in order where reads fail', async (world) => {
  const link = await storeAndConnect(world, 8);
  refuseConsumers(link);
  const readMessage = link.readMessage.bind(link);
  const failuresLeft = new Map([
    [3, 1],
    [6, 2],
  ]);
  link.readMessage = async (seq) => {
    const left = failuresLeft.get(seq) ?? 0;
    failuresLeft.set(seq, left - 1);
    if (left <= 0) return readMessage(seq);
    if (seq === 3) throw new Error('timeout');
    return undefined; // The server lags.
  };
  const batches: number[] = [];
  const read = (heights: readonly number[]) => batches.push(heights.length);
  const { heights, error } = await readAll(link, { to: 8, read });
  assert.deepEqual(heights, [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(error, undefined);
  assert.deepEqual(batches, [2, 5, 8]);
});

test('blocks are read one by one from the first that was not dropped', async (world) => {
  const link = await storeAndConnect(world, 8);
  refuseConsumers(link);
  await link.manager.streams.purge(link.name, { seq: 5 });
  assert.deepEqual(await readAll(link, { to: 8 }), { heights: [5, 6, 7, 8], error: undefined });
  const dropped = await readAll(link, { to: 2, retryMs: 2_000 });
  assert.deepEqual(dropped.heights, []);
  assert.match(`${dropped.error}`, /^unavailable: .* no metadata leader/);
});

test('a server that stays behind the stream is left', async (world) => {
  const link = await storeAndConnect(world, 4);
  refuseConsumers(link);
  const readMessage = link.readMessage.bind(link);
  const leaveServer = link.leaveServer.bind(link);
  let hasLeft = false;
  link.leaveServer = () => {
    hasLeft = true;
    leaveServer();
  };
  link.readMessage = async (seq) => (hasLeft ? readMessage(seq) : undefined);
  assert.deepEqual(await readAll(link, { to: 4 }), { heights: [1, 2, 3, 4], error: undefined });
  assert.ok(hasLeft);
});

test('a follower that is stopped while its server is away ends without an error', async (world) => {
  const { kernel, nats } = world;
  const link = await storeAndConnect(world, 2);
  const read = (_: readonly number[], stop: () => void) => {
    nats.servers[0].kill();
    kernel.schedule(4_000, stop);
  };
  assert.deepEqual(await readAll(link, { read }), { heights: [1, 2], error: undefined });
});

test('a follower that is stopped while it waits for a block ends without an error', async (world) => {
  const { kernel } = world;
  const link = await storeAndConnect(world, 2);
  const read = (_: readonly number[], stop: () => void) => void kernel.schedule(500, stop);
  assert.deepEqual(await readAll(link, { read }), { heights: [1, 2], error: undefined });
});

test('a read whose server stays away fails after the time for retries', async (world) => {
  const link = await storeAndConnect(world, 2);
  world.nats.servers[0].kill();
  const { heights, error } = await readAll(link, { to: 2, retryMs: 3_000 });
  assert.deepEqual(heights, []);
  assert.match(`${error}`, /^unavailable: reading blocks: NATS request failed: /);
});

test('a stream that is deleted while it is followed is waited for, and then missing', async (world) => {
  const link = await storeAndConnect(world, 2);
  const startedMs = world.kernel.nowMs;
  const read = () => link.manager.streams.delete(link.name);
  const { heights, error } = await readAll(link, { read });
  assert.deepEqual(heights, [1, 2]);
  assert.equal(error, 'missing: there is no ledger ledger at 10.0.0.1:4222');
  assert.ok(world.kernel.nowMs - startedMs > 15_000, 'it may be moving to another server');
});

for (const [when, leadMs] of [
  ['after', 0],
  ['before and after', 10_000],
] as const) {
  test(`a stream that servers do not find for a moment ${when} a long outage is waited for`, async (world) => {
    const { kernel, nats } = world;
    const link = await storeAndConnect(world, 2);
    const { streams } = link.manager;
    const info = streams.info.bind(streams);
    let notFoundUntilMs = 0;
    streams.info = (...terms) => {
      const name = kernel.nowMs < notFoundUntilMs ? 'none' : terms[0];
      return info(name);
    };
    const read = async (heights: readonly number[], stop: () => void) => {
      if (heights.length > 2) return stop();
      notFoundUntilMs = kernel.nowMs + leadMs + 25_000;
      kernel.schedule(leadMs, () => nats.servers[0].kill());
      kernel.schedule(leadMs + 20_000, () => nats.servers[0].start(), kernel.world);
      kernel.schedule(leadMs + 30_000, () => publishBlock(link, blocks[1], blocks[2]));
    };
    assert.deepEqual(await readAll(link, { read }), { heights: [1, 2, 3], error: undefined });
  });
}

test('a stream that was replaced by a shorter one has lost blocks', async (world) => {
  const link = await storeAndConnect(world, 4);
  const read = () => replaceStream(link, blocks.slice(0, 2));
  const { heights, error } = await readAll(link, { read });
  assert.deepEqual(heights, [1, 2, 3, 4]);
  assert.equal(error, 'corrupt: the ledger ends at block 2, but block 4 was read from it');
});

test('a stream that is replaced while a consumer is created is noticed by its first common block', async (world) => {
  const link = await storeAndConnect(world, 4);
  const { consumers } = link.manager;
  const add = consumers.add.bind(consumers);
  const others = chainLines(['other 1', 'other 2', 'other 3', 'other 4', 'other 5']);
  let created = 0;
  consumers.add = async (stream, config) => {
    if (++created === 1) return add(stream, config);
    // It starts at the end of an empty stream, although a later start was asked for.
    await replaceStream(link, []);
    const info = await add(stream, config);
    for (const [index, block] of others.entries()) {
      await publishBlock(link, others[index - 1] ?? CHAIN_START, block);
    }
    return info;
  };
  const read = () => world.nats.cutConnections(world.kernel.current);
  const { heights, error } = await readAll(link, { read });
  assert.deepEqual(heights, [1, 2, 3, 4]);
  assert.equal(error, 'corrupt: block 4 has changed since it was read');
});

test('blocks that are delivered twice are read once', async (world) => {
  const link = await storeAndConnect(world, 6);
  world.nats.faults.duplicateChance = 1;
  assert.deepEqual(await readAll(link, { read: stopAt(6) }), {
    heights: [1, 2, 3, 4, 5, 6],
    error: undefined,
  });
});

test('a block that was deleted from the end of a stream is missed by a read and by a follower', async (world) => {
  const link = await storeAndConnect(world, 5);
  await link.manager.streams.deleteMessage(link.name, 5);
  const error =
    'corrupt: block 5 is not in the ledger, which ends at 5: it was deleted. ' +
    'See docs/guide/troubleshooting.md for how to repair the ledger';
  const expected = { heights: [1, 2, 3, 4], error };
  assert.deepEqual(await readAll(link, { to: 5 }), expected);
  assert.deepEqual(await readAll(link, {}), expected);
  const reader = await world.openReader();
  await assert.rejects(reader.head(), { fault: 'corrupt', message: /^block 5 is not in/ });
});

/**
 * For so long, a server that led the stream before answers that it does not have the blocks after a
 * height, and consumers begin so many blocks later than they are asked to.
 */
function lag(
  world: SimulatedWorld,
  link: NatsLink,
  terms: { after: number; ms: number; skipped: number },
) {
  const { after, ms, skipped } = terms;
  const { kernel } = world;
  const { consumers } = link.manager;
  const untilMs = kernel.nowMs + ms;
  const readMessage = link.readMessage.bind(link);
  const add = consumers.add.bind(consumers);
  link.readMessage = async (seq) =>
    seq > after && kernel.nowMs < untilMs ? undefined : readMessage(seq);
  consumers.add = (stream, config) => {
    const start = (config.opt_start_seq ?? 1) + (kernel.nowMs < untilMs ? skipped : 0);
    return add(stream, { ...config, opt_start_seq: start });
  };
}

for (const [about, skipped] of [
  ['some', 2],
  ['none', 100],
] as const) {
  test(`a block that a former leader does not have is waited for, where ${about} after it are delivered`, async (world) => {
    const link = await storeAndConnect(world, 8);
    lag(world, link, { after: 3, ms: 8_000, skipped });
    const { heights, error } = await readAll(link, { after: 3, read: stopAt(8) });
    assert.deepEqual([heights, error], [[4, 5, 6, 7, 8], undefined]);
  });

  test(`a block that nobody returns is missing in the end, where ${about} after it are delivered`, async (world) => {
    const link = await storeAndConnect(world, 8);
    lag(world, link, { after: 3, ms: 100_000, skipped });
    const startedMs = world.kernel.nowMs;
    const { heights, error } = await readAll(link, { after: 3 });
    assert.deepEqual(heights, []);
    assert.match(`${error}`, /^corrupt: block 4 is not in the ledger, which ends at 8/);
    assert.ok(world.kernel.nowMs - startedMs > 15_000, 'a paused server may take that long');
  });
}

test('the last block is asked for again where a former leader does not have it', async (world) => {
  await storeBlocks(world, blocks);
  const reader = await world.openReader();
  const { link } = reader as unknown as { link: NatsLink };
  lag(world, link, { after: 7, ms: 5_000, skipped: 0 });
  assert.equal((await reader.head()).height, 8);
  lag(world, link, { after: 7, ms: 100_000, skipped: 0 });
  await assert.rejects(reader.head(), { fault: 'corrupt', message: /^block 8 is not in/ });
});

test('a ledger that was read is not gone because a server does not know it for a while', async (world) => {
  await storeBlocks(world, blocks);
  const reader = await world.openReader();
  const { link } = reader as unknown as { link: NatsLink };
  const { streams } = link.manager;
  const info = streams.info.bind(streams);
  const forget = (ms: number) => {
    const untilMs = world.kernel.nowMs + ms;
    streams.info = (name) => info(world.kernel.nowMs < untilMs ? 'another' : name);
  };
  forget(5_000);
  assert.equal((await reader.head()).height, 8);
  forget(100_000);
  await assert.rejects(reader.base(), {
    fault: 'missing',
    message: /^there is no ledger ledger/,
  });
});

/** For so long, the server that answers has the stream only up to a height. */
function lagWhole(world: SimulatedWorld, link: NatsLink, after: number, ms: number): void {
  lag(world, link, { after, ms, skipped: 0 });
  const { streams } = link.manager;
  const info = streams.info.bind(streams);
  const untilMs = world.kernel.nowMs + ms;
  streams.info = async (...terms) => {
    const answer = await info(...terms);
    if (world.kernel.nowMs > untilMs) return answer;
    return { ...answer, state: { ...answer.state, last_seq: after, messages: after } };
  };
}

test('a ledger that was read up to a block does not end before it, whichever server answers', async (world) => {
  await storeBlocks(world, blocks);
  const reader = await world.openReader();
  const { link } = reader as unknown as { link: NatsLink };
  lagWhole(world, link, 3, 5_000);
  assert.deepEqual(heightsOf(await collectBlocks(reader.read(0, 8))), [1, 2, 3, 4, 5, 6, 7, 8]);
  lagWhole(world, link, 3, 5_000);
  assert.deepEqual((await reader.point(7))?.hash, blocks[6].hash);
  lag(world, link, { after: 3, ms: 5_000, skipped: 0 });
  assert.deepEqual((await reader.point(7))?.hash, blocks[6].hash);
  assert.equal(await reader.point(9), undefined);
  lagWhole(world, link, 3, 100_000);
  const startedMs = world.kernel.nowMs;
  assert.deepEqual(heightsOf(await collectBlocks(reader.read(0, 8))), [1, 2, 3]);
  assert.ok(world.kernel.nowMs - startedMs > 15_000, 'a paused server may take that long');
  assert.equal(await reader.point(7), undefined);
});

test('a follower whose next blocks were dropped goes on after them', async (world) => {
  const link = await storeAndConnect(world, 8);
  await link.manager.streams.purge(link.name, { seq: 7 });
  const { heights, error } = await readAll(link, { after: 4, read: stopAt(8) });
  assert.deepEqual([heights, error], [[7, 8], undefined]);
});

test('a read up to a block that was dropped meanwhile ends without blocks', async (world) => {
  const link = await storeAndConnect(world, 6);
  await link.manager.streams.purge(link.name, { seq: 5 });
  assert.deepEqual(await readAll(link, { to: 2 }), { heights: [], error: undefined });
  assert.deepEqual(await readAll(link, { to: 6 }), { heights: [5, 6], error: undefined });
});

test('the blocks before one that is not a block are read', async (world) => {
  const link = await storeAndConnect(world, 2);
  await link.streams.publish(`perpinfo.${link.name}.blocks`, 'stray');
  const { heights, error } = await readAll(link, { to: 3 });
  assert.deepEqual(heights, [1, 2]);
  assert.equal(
    error,
    "corrupt: block 3 was not written by a ledger's writer: it has no Perpinfo-Hash header",
  );
});

test('a message that is lost on its way is read again', async (world) => {
  const link = await storeAndConnect(world, 8);
  world.nats.faults.lossChance = 0.2;
  const { heights, error } = await readAll(link, { to: 8 });
  assert.deepEqual([heights, error], [[1, 2, 3, 4, 5, 6, 7, 8], undefined]);
  world.nats.faults.mend();
  await sleep(1_000);
});

/** Appends whose acknowledgements are lost, refused or wrong. */

import assert from 'node:assert/strict';
import { CHAIN_START } from '../../../src/ledger/hash-chain.ts';
import { BlockPublisher } from '../../../src/ledger/jetstream/block-publisher.ts';
import { JetStreamLedger } from '../../../src/ledger/jetstream/jetstream-ledger.ts';
import type { NatsLink } from '../../../src/ledger/jetstream/nats.ts';
import { chainLines, chainOfLength, collectBlocks, describeBlocks } from '../chains.ts';
import { publishBlock, type SimulatedWorld, storeBlocks, test } from './simulated-ledger.ts';

const RETRY_MS = 3_000;
const blocks = chainOfLength(6);
type Publish = NatsLink['streams']['publish'];

async function startPublisher({ connect }: SimulatedWorld) {
  const link = await connect();
  const ledger = new JetStreamLedger(link);
  const publisher = new BlockPublisher(link, ledger, RETRY_MS);
  await publisher.start();
  const append = (part: typeof blocks) => publisher.append(part, () => undefined);
  return { link, ledger, publisher, append };
}

/** Replaces the connection's publish by one that is given the real one. */
function onPublish(link: NatsLink, replace: (publish: Publish) => Publish): void {
  link.streams.publish = replace(link.streams.publish.bind(link.streams));
}

test('blocks whose acknowledgements are all lost are stored once, and acknowledged', async (world) => {
  await storeBlocks(world, blocks.slice(0, 1));
  const { link, ledger, publisher, append } = await startPublisher(world);
  onPublish(link, (publish) => async (...message) => {
    await publish(...message);
    throw new Error('timeout');
  });
  await append(blocks.slice(1));
  assert.equal(publisher.head.height, 6);
  assert.deepEqual(describeBlocks(await collectBlocks(ledger.read(0))), describeBlocks(blocks));
});

test('an append to a stream that has lost blocks fails for that reason', async (world) => {
  await storeBlocks(world, blocks.slice(0, 3));
  const { link, append } = await startPublisher(world);
  const { config } = await link.manager.streams.info(link.name);
  await link.manager.streams.delete(link.name);
  await link.manager.streams.add(config);
  await assert.rejects(append(blocks.slice(3)), {
    fault: 'corrupt',
    message: 'the ledger has lost blocks: it ends before block 3, which was stored',
  });
});

test('an append goes on after a short outage, and fails in a long one', async (world) => {
  const { kernel, nats } = world;
  const [server] = nats.servers;
  await storeBlocks(world, blocks.slice(0, 1));
  const { append } = await startPublisher(world);
  server.kill();
  kernel.schedule(RETRY_MS / 2, () => server.start(), kernel.world);
  await append(blocks.slice(1, 2));
  server.kill();
  await assert.rejects(append(blocks.slice(2)), {
    fault: 'unavailable',
    message: /^appending: NATS request failed: .* \(10\.0\.0\.1:4222\)$/,
  });
});

test('a block that the stream holds at another height is not acknowledged', async (world) => {
  await storeBlocks(world, []);
  const link = await world.connect();
  const id = `2:${blocks[1].hash.toString('hex')}`;
  assert.equal(await publishBlock(link, CHAIN_START, blocks[0], id), 1);
  const { append } = await startPublisher(world);
  await assert.rejects(append(blocks.slice(1, 2)), {
    fault: 'corrupt',
    message: 'block 2 was stored at sequence 1',
  });
});

test('a server that refuses a sequence that is right is asked in its other way, in turns', async (world) => {
  await storeBlocks(world, blocks.slice(0, 1));
  const { link, publisher, append } = await startPublisher(world);
  const expected: string[] = [];
  onPublish(link, (publish) => async (subject, payload, options) => {
    expected.push(...Object.keys(options?.expect ?? {}).filter((name) => /Sequence$/.test(name)));
    // Refused as the real one would: with an expectation that is wrong.
    return publish(subject, payload, { ...options, expect: { lastSequence: 77 } });
  });
  await assert.rejects(append(blocks.slice(1, 2)), {
    fault: 'unavailable',
    message: /^appending: NATS request failed: wrong last sequence: 1 /,
  });
  assert.deepEqual(expected.slice(0, 4), [
    'lastSequence',
    'lastSubjectSequence',
    'lastSequence',
    'lastSubjectSequence',
  ]);
  assert.equal(publisher.head.height, 1);
});

test('of long blocks, only 4 MiB are in flight at a time', async (world) => {
  await storeBlocks(world, []);
  const { link, ledger, append } = await startPublisher(world);
  const long = chainLines(Array.from({ length: 7 }, () => 'x'.repeat(900_000)));
  let inFlight = 0;
  let most = 0;
  onPublish(link, (publish) => async (...message) => {
    most = Math.max(most, ++inFlight);
    return publish(...message).finally(() => inFlight--);
  });
  await append(long);
  assert.equal(most, 4);
  assert.equal((await ledger.head()).height, 7);
});

test('a writer whose blocks do not continue the ledger is refused, and stores nothing', async (world) => {
  const writer = await world.openWriter();
  await assert.rejects(writer.append(blocks.slice(1)), {
    fault: 'conflict',
    message: 'got block 2, expected block 1',
  });
  assert.equal((await writer.head()).height, 0);
});

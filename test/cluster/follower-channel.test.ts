/** The port on a real NATS server. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ChannelClient } from '../../src/upstream/channel/channel-client.ts';
import { LazyChannel } from '../../src/upstream/channel/lazy-channel.ts';
import { listenOnNats, openNatsChannel } from '../../src/upstream/channel/nats/nats-channel.ts';
import { ALICE, describePort, KEY, StubHandler, until } from '../upstream/channel/conformance.ts';
import { natsOptions, startNats } from './nats-servers.ts';

const ACCOUNT = { kind: 'account', user: ALICE, dex: '' } as const;

const nats = await startNats();
after(() => nats.stop());
let count = 0;

function newOptions() {
  count++;
  return natsOptions(nats.address(`wanted-${count}`));
}

describePort('on NATS', async (handler, work) => {
  const options = newOptions();
  const server = await listenOnNats(options, handler);
  const client = new ChannelClient(new LazyChannel(() => openNatsChannel(options)));
  try {
    await work(client);
  } finally {
    await client.close();
    await server.close();
  }
});

test('without a follower on NATS a want is refused, and one that comes is found', async () => {
  const options = newOptions();
  const client = new ChannelClient(await openNatsChannel(options));
  const outcome = await client.readItem(ACCOUNT, 0, KEY);
  assert.equal(outcome.outcome, 'busy');
  const wanted = client.readItem(ACCOUNT, 1, KEY);
  const server = await listenOnNats(options, new StubHandler());
  assert.deepEqual(await wanted, { outcome: 'recorded', height: 7 });
  await until(() => client.status() !== undefined);
  await client.close();
  await server.close();
});

test('followers of other ledgers on the same servers are not asked', async () => {
  const other = new StubHandler();
  const otherServer = await listenOnNats(newOptions(), other);
  const client = new ChannelClient(await openNatsChannel(newOptions()));
  assert.equal((await client.readItem(ACCOUNT, 0, KEY)).outcome, 'busy');
  assert.deepEqual(other.wants, []);
  await client.close();
  await otherServer.close();
});

test('an answer that is too long for NATS is a failed want', async () => {
  const options = newOptions();
  const handler = new StubHandler();
  handler.outcome = async () => ({
    outcome: 'upstream',
    answer: JSON.stringify('x'.repeat(2 << 20)),
    time: 1,
  });
  const server = await listenOnNats(options, handler);
  const client = new ChannelClient(await openNatsChannel(options));
  const outcome = await client.readItem(ACCOUNT, 0, KEY);
  assert.ok(outcome.outcome === 'failed');
  assert.match(outcome.reason, /^the answer is longer than 1048576 bytes/);
  await client.close();
  await server.close();
});

test('a server that cannot be reached is a busy want, not an error', async () => {
  const options = natsOptions('nats://127.0.0.1:1/nowhere');
  const client = new ChannelClient(new LazyChannel(() => openNatsChannel(options)));
  const outcome = await client.readItem(ACCOUNT, 0, KEY);
  assert.ok(outcome.outcome === 'busy');
  assert.match(outcome.reason, /^the follower cannot be reached: /);
  assert.equal(client.status(), undefined);
  await client.close();
});

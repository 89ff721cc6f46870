/** The port in the folder of a ledger. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer, Socket } from 'node:net';
import path from 'node:path';
import { mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ChannelClient } from '../../../src/upstream/channel/channel-client.ts';
import type { FollowedItem } from '../../../src/upstream/channel/follower-client.ts';
import { SocketChannel } from '../../../src/upstream/channel/socket/socket-channel.ts';
import { listenOnFollowerSocket } from '../../../src/upstream/channel/socket/socket-server.ts';
import { inTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import { ALICE, describePort, KEY, StubHandler, until } from './conformance.ts';

const ACCOUNT: FollowedItem = { kind: 'account', user: ALICE, dex: '' };
const NAME = 'wanted.sock';

describePort('over a socket', (handler, work) =>
  inTemporaryFolder(async (folder) => {
    const server = await listenOnFollowerSocket(folder, handler);
    const client = new ChannelClient(new SocketChannel(folder));
    try {
      await work(client);
    } finally {
      await client.close();
      await server.close();
    }
  }),
);

test('the socket is for its user only, replaces what an earlier follower left, and goes with its follower', () =>
  inTemporaryFolder(async (folder) => {
    const file = path.join(folder, NAME);
    writeFileSync(file, 'left');
    const server = await listenOnFollowerSocket(folder, new StubHandler());
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.ok(statSync(file).isSocket());
    await server.close();
    assert.equal(existsSync(file), false);
  }));

test('the path of the folder may be longer than that of a socket', () =>
  inTemporaryFolder(async (folder) => {
    const deep = path.join(folder, 'x'.repeat(120));
    mkdirSync(deep);
    const server = await listenOnFollowerSocket(deep, new StubHandler());
    const client = new ChannelClient(new SocketChannel(deep));
    assert.equal((await client.readItem(ACCOUNT, 0, KEY)).outcome, 'recorded');
    await client.close();
    await server.close();
  }));

test('a want is sent again when the follower is replaced, and reaches the new one', () =>
  inTemporaryFolder(async (folder) => {
    const first = new StubHandler();
    first.outcome = () => new Promise(() => undefined);
    const firstServer = await listenOnFollowerSocket(folder, first);
    const client = new ChannelClient(new SocketChannel(folder));
    const wanted = client.readItem(ACCOUNT, 1000, KEY);
    await until(() => first.wants.length === 1);
    const second = new StubHandler();
    const secondServer = await listenOnFollowerSocket(folder, second);
    await firstServer.close();
    assert.deepEqual(await wanted, { outcome: 'recorded', height: 7 });
    assert.equal(second.wants.length, 1);
    // The second one's socket has outlived the first one's end.
    assert.ok(existsSync(path.join(folder, NAME)));
    await client.close();
    await secondServer.close();
  }));

test('without a follower a want is refused after two seconds, the next ones at once', () =>
  inTemporaryFolder(async (folder) => {
    const client = new ChannelClient(new SocketChannel(folder));
    const startedMs = performance.now();
    const outcome = await client.readItem(ACCOUNT, 0, KEY);
    assert.ok(performance.now() - startedMs >= 2_000);
    assert.equal(outcome.outcome, 'busy');
    const againMs = performance.now();
    assert.deepEqual(await client.readItem(ACCOUNT, 0, KEY), outcome);
    assert.ok(performance.now() - againMs < 2_000);
    assert.equal(client.status(), undefined);
    // It is found when it comes.
    const server = await listenOnFollowerSocket(folder, new StubHandler());
    await until(() => client.status() !== undefined);
    assert.equal((await client.readItem(ACCOUNT, 0, KEY)).outcome, 'recorded');
    await client.close();
    await server.close();
  }));

test('a client that sends something else is ignored, one that sends too long a line is cut off', () =>
  inTemporaryFolder(async (folder) => {
    const handler = new StubHandler();
    const server = await listenOnFollowerSocket(folder, handler);
    const socket = connect(path.join(folder, NAME));
    await once(socket, 'connect');
    const upper = { kind: 'account', user: ALICE.toUpperCase(), dex: '' };
    for (const line of ['nonsense', '{"want":{}}', JSON.stringify({ id: 1, want: upper }), '[]']) {
      socket.write(`${line}\n`);
    }
    socket.write(`${JSON.stringify({ id: 2, want: ACCOUNT })}\n`);
    await until(() => handler.wants.length === 1);
    assert.deepEqual(handler.interests, []);
    // A reset is as good an end as any.
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.resume();
    socket.write('x'.repeat(2 << 20));
    await closed;
    await server.close();
  }));

test('a follower that reads nothing is not sent interest for ever', () =>
  inTemporaryFolder(async (folder) => {
    const sockets: Socket[] = [];
    const deaf = createServer((socket) => sockets.push(socket.pause()));
    deaf.listen(path.join(folder, NAME));
    const channel = new SocketChannel(folder);
    channel.status();
    await until(() => sockets.length === 1);
    const written = mock.method(Socket.prototype, 'write');
    const interests = Array.from({ length: 20_000 }, () => ({
      item: ACCOUNT,
      count: 1,
      keyId: KEY,
    }));
    for (let second = 0; second < 10; second++) {
      channel.sendInterest(interests);
      await nextTurn();
    }
    const bytes = written.mock.calls.reduce((sum, { arguments: [text] }) => sum + text.length, 0);
    written.mock.restore();
    assert.ok(bytes > 1 << 20 && bytes < 4 << 20, `${bytes} bytes`);
    await channel.close();
    for (const socket of sockets) socket.destroy();
    deaf.close();
  }));

test('closing the client settles what is in flight', () =>
  inTemporaryFolder(async (folder) => {
    const handler = new StubHandler();
    handler.outcome = () => new Promise(() => undefined);
    const server = await listenOnFollowerSocket(folder, handler);
    const client = new ChannelClient(new SocketChannel(folder));
    const wanted = client.readItem(ACCOUNT, 0, KEY);
    await until(() => handler.wants.length === 1);
    await client.close();
    assert.equal((await wanted).outcome, 'busy');
    await server.close();
  }));

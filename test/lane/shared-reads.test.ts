/** That a server's connections are read into one buffer on this version of Node, and go on after it. */

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { readConnection } from '../../src/http/transport/connections/shared-reads.ts';

interface Taken {
  readonly buffer: Buffer;
  readonly text: string;
}

async function openPair(t: { after(act: () => void): void }) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [socket] = await accepted;
  t.after(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  return { client, socket };
}

/** Reads a connection; what it brings first, and how to stop. */
function takeNext(socket: Socket) {
  const taken: Taken[] = [];
  const first = new EventEmitter();
  const release = readConnection(socket, (buffer, length) => {
    taken.push({ buffer, text: buffer.toString('latin1', 0, length) });
    first.emit('taken');
  });
  const next = once(first, 'taken').then(() => taken[0]);
  return { next, release };
}

test('two connections are read into the same buffer', async (t) => {
  const pairs = [await openPair(t), await openPair(t)];
  const taken: Taken[] = [];
  for (const [index, { client, socket }] of pairs.entries()) {
    const { next } = takeNext(socket);
    client.write(`from ${index}`);
    taken.push(await next);
  }
  assert.deepEqual(
    taken.map(({ text }) => text),
    ['from 0', 'from 1'],
  );
  assert.equal(taken[0].buffer, taken[1].buffer);
});

test('once released, a connection reads as ever, copies and all', async (t) => {
  const { client, socket } = await openPair(t);
  const { next, release } = takeNext(socket);
  client.write('first');
  assert.equal((await next).text, 'first');
  release();
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  for (const text of ['second', 'third!']) {
    const came = once(socket, 'data');
    client.write(text);
    await came;
  }
  client.end();
  await once(socket, 'end');
  assert.deepEqual(chunks.map(String), ['second', 'third!']);
});

test('what is no socket of its own is read by its events', () => {
  const stream = new PassThrough();
  const texts: string[] = [];
  const release = readConnection(stream, (buffer, length) => {
    texts.push(buffer.toString('latin1', 0, length));
  });
  stream.write('one');
  release();
  stream.write('two');
  assert.deepEqual(texts, ['one']);
});

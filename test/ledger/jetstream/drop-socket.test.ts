/** That the socket of a NATS connection is found where this version of the client keeps it. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { dropSocket } from '../../../src/ledger/jetstream/drop-socket.ts';

/** A server that speaks as much of NATS as a connection needs to open. */
async function openServer(t: { after(act: () => void): void }) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => socket.destroy());
    socket.write('INFO {"server_id":"S","version":"2.10.0","proto":1,"max_payload":1048576}\r\n');
    socket.on('data', (bytes) => {
      if (bytes.includes('PING')) socket.write('PONG\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

test('the socket of a connection is destroyed at once', async (t) => {
  const { port, sockets } = await openServer(t);
  const connection = await connect({ port, reconnect: false });
  const closed = once(sockets[0], 'close');
  assert.equal(
    dropSocket(connection),
    true,
    'this version of the client keeps its socket elsewhere',
  );
  await closed;
  await connection.closed();
});

test('a client that keeps its socket elsewhere is left alone', () => {
  for (const other of [{}, { protocol: {} }, { protocol: { transport: { socket: {} } } }]) {
    assert.equal(dropSocket(other as unknown as NatsConnection), false);
  }
});

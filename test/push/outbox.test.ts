/** What waits to be sent, measured at a client that reads nothing. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { Outbox } from '../../src/http/push/outbox.ts';

const BYTES_MAX = 1 << 20;
/** More than buffers on the way hold of them. */
const FRAMES_MAX = 2_000_000;

test('a queue of short frames ends before their memory is many times its limit', async (context) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  context.after(() => server.close());
  await once(server, 'listening');
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  context.after(() => client.terminate());
  const [socket, { socket: stream }] = (await once(server, 'connection')) as [
    WebSocket,
    { socket: Socket },
  ];
  await once(client, 'open');
  client.pause();
  let bytes: number | undefined;
  const outbox = new Outbox({
    ...{ socket, stream, bytesMax: BYTES_MAX, pingMs: 1000 },
    drained: () => undefined,
    overflowed: () => {
      bytes ??= socket.bufferedAmount;
    },
  });
  for (let sent = 0; bytes === undefined && sent < FRAMES_MAX; sent++) {
    outbox.send('{"channel":"pong"}');
    if (sent % 100 === 0) await new Promise(setImmediate);
  }
  assert.ok(bytes !== undefined && bytes < BYTES_MAX / 4, `${bytes} bytes were queued`);
});

/** That this version of Node checks the time limits of an HTTP server that does not listen. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTimeLimits } from '../../src/http/transport/node/time-limits.ts';
import { until } from '../../tools/harness/running.ts';
import { MemorySocket } from '../lane/memory-socket.ts';

const LIMITS = { connectionsCheckingInterval: 10, headersTimeout: 30, requestTimeout: 30 };
/** Long enough for many looks at requests that are too slow. */
const LATE_MS = 10 * LIMITS.headersTimeout;

function openServer(context: TestContext) {
  const server = createServer(LIMITS, (_request, response) => response.end('answered'));
  context.after(() => server.close());
  return server;
}

/** Hands the server a connection that has sent half of its headers. */
function sendHalf(server: ReturnType<typeof createServer>): MemorySocket {
  const socket = new MemorySocket();
  server.emit('connection', socket);
  socket.deliver(Buffer.from('GET / HTTP/1.1\r\n'));
  return socket;
}

test('slow headers are refused once the time limits have been started', async (t) => {
  const server = openServer(t);
  startTimeLimits(server);
  const socket = sendHalf(server);
  await until('the refusal', () => socket.destroyed);
  assert.match(socket.text, /^HTTP\/1\.1 408 /);
});

test('without the start nothing is refused: Node still needs it', async (t) => {
  const socket = sendHalf(openServer(t));
  await sleep(LATE_MS);
  assert.deepEqual([socket.text, socket.standing], ['', 'open']);
  socket.destroy();
});

test('a server that starts nothing at that event answers all the same', async (t) => {
  const server = openServer(t);
  server.removeAllListeners('listening');
  startTimeLimits(server);
  const socket = sendHalf(server);
  socket.deliver(Buffer.from('Host: a\r\nConnection: close\r\n\r\n'));
  await until('the response', () => socket.destroyed);
  assert.match(socket.text, /^HTTP\/1\.1 200 OK\r\n/);
});

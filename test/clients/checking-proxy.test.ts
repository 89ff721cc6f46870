/** The proxy that stands between clients and the demo finds answers that do not fit their schemas. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { startCheckingProxy } from '../../tools/harness/checking-proxy.ts';

const STATUS = '{"time":5,"specialStatuses":null}';
const WRONG = '{"time":"soon","specialStatuses":null}';

/** Asks a server that gives this answer, over HTTP and push; returns what the proxy says at the end. */
async function askThroughProxy(answer: string): Promise<unknown> {
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'application/json').end(answer);
  });
  new WebSocketServer({ server }).on('connection', (socket) => {
    const payload = `{"type":"exchangeStatus","data":${answer}}`;
    socket.send(`{"channel":"post","data":{"response":{"type":"info","payload":${payload}}}}`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const cleanups: (() => unknown)[] = [];
  const context = { after: (clean: () => unknown) => cleanups.push(clean) };
  const port = await startCheckingProxy(context, (server.address() as AddressInfo).port);
  const body = JSON.stringify({ type: 'exchangeStatus' });
  const response = await fetch(`http://127.0.0.1:${port}/key/info`, { method: 'POST', body });
  assert.equal(await response.text(), answer);
  const socket = new WebSocket(`ws://127.0.0.1:${port}/key/ws`);
  await once(socket, 'message');
  socket.terminate();
  server.closeAllConnections();
  server.close();
  try {
    for (const clean of cleanups) clean();
    return undefined;
  } catch (error) {
    return error;
  }
}

test('answers that fit pass unchanged', async () => {
  assert.equal(await askThroughProxy(STATUS), undefined);
});

test('an answer that does not fit fails the test, over HTTP and over push', async () => {
  const { actual } = (await askThroughProxy(WRONG)) as { actual: readonly Error[] };
  assert.equal(actual.length, 2);
  for (const { message } of actual) assert.match(message, /exchangeStatus does not fit.*integer/);
});

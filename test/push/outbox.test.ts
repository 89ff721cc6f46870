/** What waits to be sent, measured at a client that reads nothing. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { FrameWriter } from '../../src/http/transport/websocket/frame-writer.ts';
import { Outbox } from '../../src/http/transport/websocket/outbox.ts';

const BYTES_MAX = 1 << 20;
/** More than buffers on the way hold of them. */
const FRAMES_MAX = 2_000_000;
const FRAME_LENGTH = 60_000;

/** A connection with a client that reads nothing, and its end at the server. */
async function connect(context: TestContext): Promise<{
  client: WebSocket;
  socket: WebSocket;
  stream: Socket;
}> {
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
  return { client, socket, stream };
}

test('a queue of short frames ends before their memory is many times its limit', async (context) => {
  const { socket, stream } = await connect(context);
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

test('states that the system takes at once need no callback, and the first that it does not take is waited for', async (context) => {
  const { client, socket, stream } = await connect(context);
  let resume: () => void = () => undefined;
  const resumed = new Promise<void>((resolve) => {
    resume = resolve;
  });
  const outbox = new Outbox({
    ...{ socket, stream, bytesMax: Number.MAX_SAFE_INTEGER, pingMs: Number.MAX_SAFE_INTEGER },
    drained: () => resume(),
    overflowed: () => assert.fail('there is no limit'),
  });
  const write = context.mock.method(stream, 'write');
  const frames = new FrameWriter();
  let sent = 0;
  for (; !outbox.hasUnread; sent++) {
    frames.clear();
    frames.begin();
    frames.out.long(`${sent}`.padEnd(FRAME_LENGTH));
    frames.end();
    outbox.sendFrames(frames, 0, frames.length);
  }
  const waitedFor = write.mock.calls.filter(({ arguments: given }) => given.length > 1);
  assert.ok(sent > 1);
  assert.deepEqual([write.mock.callCount(), waitedFor.length], [sent + 1, 1]);
  const texts: number[] = [];
  client.on('message', (data: Buffer) => texts.push(Number(data.toString())));
  client.resume();
  await resumed;
  assert.equal(outbox.hasUnread, false);
  while (texts.length < sent) await once(client, 'message');
  assert.deepEqual(texts, [...texts.keys()]);
});

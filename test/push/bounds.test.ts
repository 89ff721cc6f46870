/** What a client may send beside questions: control frames, fragments, and how long they may take. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { createPlaces } from '../../tools/harness/program.ts';
import { connectPush, PushClient } from '../../tools/harness/push-client.ts';
import {
  type Cleanup,
  createKey,
  makeLedger,
  readSamples,
  startService,
  until,
} from '../../tools/harness/running.ts';
import { readRssMib } from '../../tools/harness/service.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';
import { connectRaw, formatFrame, OPCODES } from './raw-frames.ts';

const place = createPlaces();
const lines = simulateLines(20, 'push bounds');
const data = await makeLedger(place('ledger'), lines);
const { secret: key } = await createKey(data);
const MESSAGE_MS_MAX = 1000;
const service = await startService(
  { after },
  {
    data,
    flags: ['--max-age', '0', '--idle-timeout', '3600000'],
    limits: { pushStallTimeout: 3000, requestTimeout: MESSAGE_MS_MAX },
  },
);
await service.untilCaughtUp(lines.length);
const { port } = service;

/** A client that leaves our pings to the test. */
async function connectSilent(context: Cleanup): Promise<PushClient> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/${key}/ws`, { autoPong: false });
  const client = new PushClient(socket);
  context.after(() => client.close());
  await once(socket, 'open');
  return client;
}

/** How many connections were ended for what their clients did. */
async function countCutOff(): Promise<number> {
  return readSamples(await service.metrics()).get('perpinfo_push_cut_off_total') ?? 0;
}

test('pings without end of a client that reads nothing cost no memory, and end it', async (context) => {
  const before = { cutOff: await countCutOff(), mib: readRssMib(service.program) };
  const socket = await connectRaw(context, { port, key });
  socket.pause();
  const ping = formatFrame(OPCODES.ping, Buffer.alloc(125));
  const pings = Buffer.concat(Array.from({ length: 500 }, () => ping));
  let mibMax = before.mib;
  await until('the connection to be cut off', async () => {
    while (socket.writableLength < 1 << 20 && socket.writable) socket.write(pings);
    mibMax = Math.max(mibMax, readRssMib(service.program));
    return (await countCutOff()) > before.cutOff;
  });
  assert.ok(mibMax - before.mib < 40, `${mibMax - before.mib} MiB more`);
});

test('pings at an ordinary pace are each answered with their payload', async (context) => {
  const client = await connectPush(context, { port, key });
  for (let count = 0; count < 30; count++) {
    client.socket.ping(`ping ${count}`);
    const [payload] = await once(client.socket, 'pong');
    assert.equal(String(payload), `ping ${count}`);
  }
});

for (const kind of ['ping', 'pong'] as const) {
  test(`a flood of ${kind}s is told that it is one`, async (context) => {
    const client = await connectPush(context, { port, key });
    for (let count = 0; count < 1000; count++) client.socket[kind]('x');
    assert.deepEqual(await client.untilClosed(), { code: 1008, reason: 'too many control frames' });
  });
}

const BULKY = {
  method: 'post',
  id: 1,
  request: { type: 'info', payload: { type: 'metaAndAssetCtxs' } },
};

test('while a client does not read on, only its newest ping waits for an answer', async (context) => {
  const client = await connectSilent(context);
  const pinged = once(client.socket, 'ping');
  const pongs: string[] = [];
  client.socket.on('pong', (payload) => pongs.push(String(payload)));
  for (let bytes = 0; bytes < 200_000; ) {
    client.send(BULKY);
    bytes += JSON.stringify(await client.next('post')).length;
  }
  for (const name of ['first', 'second', 'last']) client.socket.ping(name);
  // A pong for a ping that there was not says nothing.
  client.socket.pong('');
  await client.isQuiet();
  assert.deepEqual(pongs, []);
  client.socket.pong((await pinged)[0]);
  await until('the pong', () => pongs.length > 0);
  await client.isQuiet();
  assert.deepEqual(pongs, ['last']);
});

test('pongs that answer no ping of ours are no sign of reading', LONG_ONLY, async (context) => {
  const client = await connectSilent(context);
  await client.isQuiet();
  const pongs = setInterval(() => client.socket.pong(''), 200);
  context.after(() => clearInterval(pongs));
  const before = await countCutOff();
  await client.untilClosed();
  assert.equal(await countCutOff(), before + 1);
});

/** Sends a JSON ping in this number of fragments. */
function sendFragments({ socket }: PushClient, count: number): void {
  const text = '{"method":"ping"}'.padEnd(count, ' ');
  for (let index = 0; index < count; index++) {
    const isLast = index === count - 1;
    socket.send(isLast ? text.slice(index) : text[index], { fin: isLast });
  }
}

test('a message may come in fragments, but not in too many', async (context) => {
  const client = await connectPush(context, { port, key });
  sendFragments(client, 64);
  await client.next('pong');
  sendFragments(client, 65);
  assert.equal((await client.untilClosed()).code, 1008);
});

test('a message that does not come to its end is not waited for', async (context) => {
  const other = await connectPush(context, { port, key });
  const client = await connectPush(context, { port, key });
  client.socket.send('{"method"', { fin: false });
  const pings = setInterval(() => client.socket.ping(), 200);
  context.after(() => clearInterval(pings));
  const reason = `a message was not complete after ${MESSAGE_MS_MAX} ms`;
  assert.deepEqual(await client.untilClosed(), { code: 1008, reason });
  await other.isQuiet();
});

test('a frame of which only the head comes is not waited for', LONG_ONLY, async (context) => {
  const before = await countCutOff();
  const socket = await connectRaw(context, { port, key });
  socket.write(formatFrame(OPCODES.text, Buffer.from('{}')).subarray(0, 1));
  await until('the connection to be closed', () => socket.readableEnded);
  assert.equal(await countCutOff(), before + 1);
});

test('what comes behind a malformed frame harms nobody', async (context) => {
  const ping = formatFrame(OPCODES.text, Buffer.from('{"method":"ping"}'));
  const malformed = formatFrame(OPCODES.text, Buffer.alloc(20, 0xff));
  // Frames are taken one at a time: what comes while some wait is read in pieces of its own.
  for (let count = 0; count < 10; count++) {
    const socket = await connectRaw(context, { port, key });
    socket.setNoDelay();
    socket.write(Buffer.concat(Array.from({ length: 300 }, () => ping)));
    for (const piece of [malformed, ping, ping, ping]) {
      await sleep(1);
      if (socket.writable) socket.write(piece);
    }
    await sleep(50);
    socket.destroy();
  }
  const client = await connectPush(context, { port, key });
  client.send({ method: 'ping' });
  assert.equal((await client.nextFrame()).channel, 'pong');
});

/** Whether a message is under way is known from the bytes alone, however they are cut; few are handed on at a time. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { IncomingFrames } from '../../src/http/transport/websocket/incoming-frames.ts';
import { Random } from '../../src/simulator/random.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { formatFrame, OPCODES } from './raw-frames.ts';

const MESSAGES = 400;
/** Lengths on both sides of those where the header changes its form. */
const LENGTHS = [0, 0, 1, 20, 125, 126, 127, 300, 65_535, 65_536];
const UNPAUSED = { pause: () => undefined, resume: () => undefined };
const FAR_MS = Number.MAX_SAFE_INTEGER;

/** The frames of a message, with control frames between its fragments. */
function formatMessage(random: Random): Buffer {
  const count = random.below(3) === 0 ? 2 + random.below(5) : 1;
  const frames: Buffer[] = [];
  for (let index = 0; index < count; index++) {
    const opcode = index === 0 ? OPCODES.text : OPCODES.continuation;
    const isFinal = index === count - 1;
    frames.push(formatFrame(opcode, Buffer.alloc(random.pick(LENGTHS)), isFinal));
    if (!isFinal && random.below(2) === 0) {
      frames.push(formatFrame(random.pick([OPCODES.ping, OPCODES.pong]), Buffer.alloc(9)));
    }
  }
  return Buffer.concat(frames);
}

test(`a message is under way between its first and its last byte ${SEED_NOTE}`, () => {
  const random = new Random(`incoming ${SEED}`);
  const stream = new PassThrough();
  const incoming = new IncomingFrames(stream, UNPAUSED);
  for (let count = 0; count < MESSAGES; count++) {
    const bytes = formatMessage(random);
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + random.below(random.pick([1, 3, 100, 70_000]));
      stream.emit('data', bytes.subarray(at, end));
      at = end;
      assert.equal(incoming.partialMs(FAR_MS) > 0, at < bytes.length, `${count}: ${at}`);
    }
    incoming.noteMessage();
  }
});

test('a message that begins in the read that ends another has its own time', async () => {
  const stream = new PassThrough();
  const incoming = new IncomingFrames(stream, UNPAUSED);
  const message = formatFrame(OPCODES.text, Buffer.from('{"method":"ping"}'));
  stream.emit('data', message.subarray(0, 5));
  const firstMs = performance.now();
  while (performance.now() < firstMs + 20) await new Promise(setImmediate);
  stream.emit('data', Buffer.concat([message.subarray(5), message.subarray(0, 5)]));
  assert.ok(incoming.partialMs(performance.now()) < performance.now() - firstMs - 10);
});

const PING = formatFrame(OPCODES.text, Buffer.from('{"method":"ping"}'));
const AHEAD_MAX = 16;

/** A stream of frames, and how many bytes of it were handed on. */
function openFrames() {
  const stream = new PassThrough();
  const events: string[] = [];
  let handedOn = 0;
  stream.on('data', (bytes: Buffer) => {
    handedOn += bytes.length;
  });
  const incoming = new IncomingFrames(stream, {
    pause: () => events.push('pause'),
    resume: () => events.push('resume'),
  });
  const send = (...frames: Buffer[]) => stream.emit('data', Buffer.concat(frames));
  return { stream, incoming, events, send, count: () => handedOn / PING.length };
}

test('of many messages in a read, a few are handed on before the first one is handled', () => {
  const { incoming, events, send, count } = openFrames();
  const pings = new Array<Buffer>(AHEAD_MAX).fill(PING);
  send(...pings);
  assert.deepEqual([count(), events], [AHEAD_MAX, []]);
  send(...pings, ...pings, PING.subarray(0, 1));
  assert.deepEqual([count(), events], [AHEAD_MAX, ['pause']]);
  for (let handled = 1; handled <= 2 * AHEAD_MAX; handled++) {
    assert.equal(events.length, 1);
    incoming.noteMessage();
    if (handled < 2 * AHEAD_MAX) assert.equal(count(), AHEAD_MAX + handled);
  }
  assert.deepEqual(events, ['pause']);
  incoming.noteMessage();
  assert.deepEqual(events, ['pause', 'resume']);
  send(PING.subarray(1));
  assert.equal(count(), 3 * AHEAD_MAX + 1);
});

test('while a client has to wait, nothing is handed on', () => {
  const { incoming, events, send, count } = openFrames();
  incoming.hold();
  send(PING, PING);
  assert.deepEqual([count(), events], [0, ['pause']]);
  incoming.release();
  assert.deepEqual([count(), events], [2, ['pause', 'resume']]);
});

test('what is unread when the connection is closed is dropped', async () => {
  const { stream, incoming, send, count } = openFrames();
  incoming.hold();
  send(PING);
  stream.write(PING);
  stream.pause();
  stream.destroy();
  await once(stream, 'close');
  incoming.release();
  assert.deepEqual([count(), stream.readableLength], [0, 0]);
});

test('messages that are cut anywhere are handed on once, whatever their frames', () => {
  const random = new Random(`handed on ${SEED}`);
  const { incoming, send, count } = openFrames();
  let sent = 0;
  for (let message = 0; message < MESSAGES; message++) {
    const bytes = formatMessage(random);
    const cut = random.below(bytes.length);
    send(bytes.subarray(0, cut));
    send(bytes.subarray(cut));
    sent += bytes.length;
    assert.equal(count(), sent / PING.length);
    incoming.noteMessage();
  }
});

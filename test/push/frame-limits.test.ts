/** Whether a message is under way is known from the bytes alone, however they are cut. */

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { IncomingFrames } from '../../src/http/transport/websocket/incoming-frames.ts';
import { Random } from '../../src/simulator/random.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { formatFrame, OPCODES } from './raw-frames.ts';

const MESSAGES = 400;
/** Lengths on both sides of those where the header changes its form. */
const LENGTHS = [0, 0, 1, 20, 125, 126, 127, 300, 65_535, 65_536];
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
  const incoming = new IncomingFrames(stream);
  for (let count = 0; count < MESSAGES; count++) {
    const bytes = formatMessage(random);
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + random.below(random.pick([1, 3, 100, 70_000]));
      stream.emit('data', bytes.subarray(at, end));
      at = end;
      assert.equal(incoming.partialMs(FAR_MS) > 0, at < bytes.length, `${count}: ${at}`);
    }
  }
});

test('a message that begins in the read that ends another has its own time', async () => {
  const stream = new PassThrough();
  const incoming = new IncomingFrames(stream);
  const message = formatFrame(OPCODES.text, Buffer.from('{"method":"ping"}'));
  stream.emit('data', message.subarray(0, 5));
  const firstMs = performance.now();
  while (performance.now() < firstMs + 20) await new Promise(setImmediate);
  stream.emit('data', Buffer.concat([message.subarray(5), message.subarray(0, 5)]));
  assert.ok(incoming.partialMs(performance.now()) < performance.now() - firstMs - 10);
});

/** Answers about as long as the bytes that a client may leave unread, to one that takes nothing. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { WebSocket } from 'ws';
import type { Key } from '../../src/access/keys.ts';
import { Reply } from '../../src/http/message/reply.ts';
import { PushConnection, type PushContext } from '../../src/http/push/connection.ts';

const BYTES_MAX = 65_536;
/** More than a frame has beside its answer. */
const MARGIN = 2_000;
const POST = '{"method":"post","id":1,"request":{"type":"info","payload":{"type":"meta"}}}';

interface Outcome {
  /** Type of the response that the client would read, if it read. */
  readonly type: string;
  readonly message: string;
  readonly isCutOff: boolean;
}

/** What becomes of a post whose answer is this one, on a socket that never takes anything. */
async function post(body: string, isCsv = false): Promise<Outcome> {
  const frames: string[] = [];
  const socket = {
    ...{ extensions: '', readyState: 1, OPEN: 1, bufferedAmount: 0 },
    send(frame: string) {
      frames.push(frame);
      socket.bufferedAmount += Buffer.byteLength(frame) + (frame.length < 65_536 ? 4 : 10);
    },
    ping(payload: Buffer) {
      socket.bufferedAmount += 2 + payload.length;
    },
  };
  let isCutOff = false;
  const context = {
    backlogBytesMax: BYTES_MAX,
    pingMs: 5_000,
    admission: { findKey: () => ({ id: 'a' }), charge: () => undefined },
    answers: {
      lengthWeights: { findSpentBudget: () => undefined },
      answer: () => Object.assign(new Reply(200, 'meta'), { body, isCsv }),
    },
    counters: { countRequests: () => undefined },
    cutOff: () => {
      isCutOff = true;
    },
  };
  const client = {
    socket: socket as unknown as WebSocket,
    stream: Object.assign(new PassThrough(), { cork() {}, uncork() {} }) as unknown as Socket,
    ...{ intervalMs: 0, key: { id: 'a' } as Key, secretHash: '' },
  };
  new PushConnection(client, context as unknown as PushContext).receive(Buffer.from(POST));
  await new Promise(setImmediate);
  const { type, payload } = JSON.parse(frames[0]).data.response;
  return { type, message: String(payload), isCutOff };
}

test('an answer of any length is sent, or refused with the bytes of its frame', async () => {
  const types = new Set<string>();
  for (let length = BYTES_MAX - MARGIN; length <= BYTES_MAX + 1; length++) {
    const { type, message, isCutOff } = await post(`"${'a'.repeat(length - 2)}"`);
    assert.ok(!isCutOff, `an answer of ${length} bytes ends the connection`);
    types.add(type);
    if (type === 'info') continue;
    const [, bytes] = /the answer takes (\d+) bytes/.exec(message) ?? [];
    assert.ok(Number(bytes) > BYTES_MAX, message);
  }
  assert.deepEqual([...types], ['info', 'error']);
});

test('CSV counts with the characters that JSON adds to it', async () => {
  const { type, isCutOff } = await post('a\n'.repeat(BYTES_MAX / 2 - MARGIN), true);
  assert.deepEqual([type, isCutOff], ['error', false]);
});

test('an answer counts by its bytes, not by its characters', async () => {
  const { type, isCutOff } = await post(`"${'€'.repeat(BYTES_MAX / 2)}"`);
  assert.deepEqual([type, isCutOff], ['error', false]);
});

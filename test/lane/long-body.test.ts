/** A long body is sent in pieces, one a turn: who else is read meanwhile is answered in between. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Turns } from '../../src/http/answering/limits/turns.ts';
import { sendInPieces } from '../../src/http/transport/lane/long-body.ts';
import { MemorySocket } from './memory-socket.ts';

const PIECE_BYTES = 128 << 10;
const body = Buffer.from(Array.from({ length: 3 * PIECE_BYTES + 100 }, (_, place) => place % 251));

/** Sends the body; `ended` tells whether it was sent. */
function send(socket: MemorySocket, turns = new Turns()): Promise<boolean> {
  return new Promise((resolve) => {
    sendInPieces(socket as unknown as Socket, body, turns, resolve);
  });
}

test('each piece is short, has a turn, and together they are the body', async (context) => {
  const socket = new MemorySocket();
  const writes = context.mock.method(socket, 'write');
  const turns = new Turns();
  const writtenBefore: number[] = [];
  turns.answerFirst(() => writtenBefore.push(writes.mock.callCount()));
  assert.equal(await send(socket, turns), true);
  const lengths = writes.mock.calls.map((call) => (call.arguments as unknown[])[0] as Buffer);
  assert.deepEqual(
    lengths.map(({ length }) => length),
    [PIECE_BYTES, PIECE_BYTES, PIECE_BYTES, 100],
  );
  assert.deepEqual(writtenBefore, [1, 2, 3]);
  assert.ok(Buffer.from(socket.text, 'latin1').equals(body));
});

test('it pauses after a piece during which others have asked', async (context) => {
  const turns = new Turns();
  const pauses = context.mock.method(turns, 'doAfterPause');
  const inNextTurn = context.mock.method(turns, 'doLater');
  turns.answerFirst(() => {
    if (inNextTurn.mock.callCount() === 1) turns.answeredCount++;
  });
  assert.equal(await send(new MemorySocket(), turns), true);
  assert.equal(pauses.mock.callCount(), 1);
  // The piece after the pause has a turn as well.
  assert.equal(inNextTurn.mock.callCount(), 3);
});

test('a client that goes away is sent no more, and that is told once', async (context) => {
  const socket = new MemorySocket({ isSlow: true });
  socket.on('error', () => undefined);
  const writes = context.mock.method(socket, 'write');
  const sent = send(socket);
  await nextTurn();
  socket.destroy();
  assert.equal(await sent, false);
  assert.ok(writes.mock.callCount() < 4);
});

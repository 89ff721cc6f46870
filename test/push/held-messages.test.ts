/** Messages that were read while a connection has to wait are handled later, in their order, one in a turn. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HeldMessages } from '../../src/http/push/held-messages.ts';

const HELD_BYTES_MAX = 262_144;
const LENGTH_BYTES = 4;

/** Messages, what has become of them, and the turns that they wait for. */
function openMessages(waitFor: (message: string) => boolean = () => false) {
  const events: string[] = [];
  const turns: (() => void)[] = [];
  const socket = {
    OPEN: 1,
    readyState: 1,
  };
  const messages: HeldMessages = new HeldMessages({
    socket: socket as { OPEN: 1; readyState: 1 },
    incoming: { hold: () => events.push('pause'), release: () => events.push('resume') },
    handle(message) {
      const text = String(message);
      events.push(text);
      if (text === 'fails') throw new Error('a bug');
      if (waitFor(text)) hold();
    },
    overflowed: () => events.push('overflowed'),
    failed: (error) => events.push(`failed: ${(error as Error).message}`),
  });
  const hold = () => messages.holdUntil(new Promise((resolve) => turns.push(resolve)));
  const receive = (...texts: string[]) => {
    for (const text of texts) messages.receive(Buffer.from(text));
  };
  const come = async () => {
    turns.shift()?.();
    await nextTurn();
  };
  return { events, receive, hold, come, socket };
}

test('messages are handled at once, unless one has to wait', async () => {
  const { events, receive, come } = openMessages((text) => text.startsWith('wait'));
  receive('a', 'wait 1', 'b', 'wait 2', 'c');
  assert.deepEqual(events, ['a', 'wait 1', 'pause']);
  await come();
  await nextTurn();
  assert.deepEqual(events.splice(0), ['a', 'wait 1', 'pause', 'b', 'wait 2', 'pause']);
  receive('d');
  await come();
  while (events.at(-1) !== 'resume') await nextTurn();
  assert.deepEqual(events, ['c', 'd', 'resume']);
  receive('e');
  assert.equal(events.at(-1), 'e');
});

test('held messages are handled one in a turn', async () => {
  const { events, receive, hold, come } = openMessages();
  hold();
  receive('a', '', 'c');
  await come();
  assert.ok(events.length < 4, events.join());
  while (events.at(-1) !== 'resume') await nextTurn();
  assert.deepEqual(events, ['pause', 'a', '', 'c', 'resume']);
});

test('of two reasons to wait, the longer one counts', async () => {
  const { events, receive, hold, come } = openMessages();
  hold();
  hold();
  receive('a');
  await come();
  await nextTurn();
  assert.deepEqual(events, ['pause', 'pause']);
  await come();
  while (events.at(-1) !== 'resume') await nextTurn();
  assert.deepEqual(events, ['pause', 'pause', 'a', 'resume']);
});

test('messages of a connection that is closed meanwhile are dropped', async () => {
  const { events, receive, hold, come, socket } = openMessages();
  hold();
  receive('a');
  socket.readyState = 2;
  await come();
  assert.deepEqual(events, ['pause', 'resume']);
});

test('a message that fails is reported, and the next ones are handled', async () => {
  const { events, receive, hold, come } = openMessages();
  hold();
  receive('fails', 'b');
  await come();
  while (events.at(-1) !== 'resume') await nextTurn();
  assert.deepEqual(events, ['pause', 'fails', 'failed: a bug', 'b', 'resume']);
});

test('no more than 256 KiB are held at a time, however many come one after the other', async () => {
  const { events, receive, hold, come } = openMessages(() => true);
  const text = 'x'.repeat(HELD_BYTES_MAX / 4 - LENGTH_BYTES);
  hold();
  for (let round = 0; round < 20; round++) {
    receive(...Array.from({ length: round === 0 ? 4 : 1 }, () => text));
    assert.ok(!events.includes('overflowed'), `round ${round}`);
    await come();
  }
  receive(text, 'x');
  assert.equal(events.at(-1), 'overflowed');
});

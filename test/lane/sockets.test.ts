/** The same over real sockets, where the system decides how reads are cut. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { test } from 'node:test';
import { Random } from '../../src/simulator/random.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { listenLocally } from '../http/in-process.ts';
import { ALSO_FULL, scale } from '../scale.ts';
import { StandingClock } from '../standing-clock.ts';
import {
  type Conversation,
  describeConversation,
  openBothLanes,
  PLACES,
  withoutDates,
} from './both-lanes.ts';
import { metricsOf } from './metrics.ts';
import { cutRequests, fewRequests } from './random-conversations.ts';

const CONVERSATION_COUNT = scale(80, 80, 2000);
const CLOSED_MS_MAX = 20_000;

// Health says how old the ledger is.
new StandingClock();

/** Sends the pieces, each in a turn of its own, ends its side, and returns all that was said. */
async function converse(port: number, { reads }: Conversation): Promise<string> {
  const socket = connectSocket({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  const received: Buffer[] = [];
  socket.on('data', (bytes: Buffer) => received.push(bytes));
  // A reset is one of the ways in which a server ends a connection.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const late = setTimeout(() => received.push(Buffer.from('and never ended')), CLOSED_MS_MAX);
  const cutOff = setTimeout(() => socket.destroy(), CLOSED_MS_MAX);
  await Promise.race([once(socket, 'connect'), closed]);
  for (const { bytes } of reads) {
    if (socket.writable) socket.write(bytes);
    // Long enough, mostly, for it to be read before the next one comes.
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  }
  socket.end();
  await closed;
  clearTimeout(late);
  clearTimeout(cutOff);
  return withoutDates(Buffer.concat(received).toString('latin1'));
}

test(
  `conversations over sockets, cut by the system, are the same ${SEED_NOTE}`,
  ALSO_FULL,
  async (t) => {
    const lanes = await openBothLanes(t);
    // What does not come is not waited for: the client's end would come first, or not.
    lanes.waits.holdNothing();
    const ports = [await listenLocally(lanes.fast.server), await listenLocally(lanes.plain.server)];
    // Which of two requests is charged first depends on whether one read brings them both.
    const { free, expired } = lanes.keySets[0];
    const keys = { free, expired, budgeted: free, small: free };
    const random = new Random(`sockets ${SEED}`);
    let count = 0;
    const work = async () => {
      while (count++ < CONVERSATION_COUNT) {
        const requests = fewRequests({ random, keys, subjects: lanes });
        // What is said to a client that asks before it sends depends on how much it has sent by then, a
        // WebSocket is not opened where the client's end has come already, and nothing is waited for then.
        const reads = cutRequests(
          random,
          requests.filter(
            (request) => !/Expect|websocket|Ledger-Min-Height/i.test(request.toString('latin1')),
          ),
        );
        const conversation: Conversation = { reads, ending: 'hangs up', isSlow: false };
        const [fast, plain] = await Promise.all(ports.map((port) => converse(port, conversation)));
        assert.equal(fast, plain, describeConversation(conversation));
      }
    };
    await Promise.all(Array.from({ length: PLACES }, work));
    assert.deepEqual(await metricsOf(lanes.fast), await metricsOf(lanes.plain));
  },
);

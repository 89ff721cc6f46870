/** Random requests, in memory: nobody can tell which of the two lanes answers, and refusals are in our own words. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REQUEST_ERRORS } from '../../src/info/request-error.ts';
import { Random } from '../../src/simulator/random.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { ALSO_LONG, scale } from '../scale.ts';
import { StandingClock } from '../standing-clock.ts';
import { compare, type KeySet, openBothLanes, PLACES } from './both-lanes.ts';
import { metricsOf } from './metrics.ts';
import { randomConversation } from './random-conversations.ts';

const REQUEST_COUNT = scale(250, 500, 250_000);
/** Every run must meet these: otherwise it may compare nothing but refusals. */
const STATUSES = [
  ...['100', '101', '200', '204', '304', '400', '401', '404', '405', '413', '415', '422', '429'],
  ...['431', '503'],
];
const ANSWERED_MIN = 0.4;
/** How many times its length it goes on at most, for a status that has not been seen. */
const LENGTHS_MAX = 40;

const MESSAGE_LENGTH_MAX = 500;

const clock = new StandingClock();

/** How often each status was given. */
const tally = new Map<string, number>();

function noteResponses(text: string, keys: KeySet): void {
  for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z]/g)) {
    tally.set(status, (tally.get(status) ?? 0) + 1);
  }
  for (const [, error, message] of text.matchAll(/\{"error":"(\w*)","message":"(.*?)",/g)) {
    assert.ok(Object.hasOwn(REQUEST_ERRORS, error), error);
    assert.ok(message.length < MESSAGE_LENGTH_MAX, message);
  }
  for (const key of Object.values(keys)) assert.ok(!text.includes(key), 'a key is told again');
}

test(`both lanes say the same to random requests ${SEED_NOTE}`, ALSO_LONG, async (t) => {
  const lanes = await openBothLanes(t);
  const random = new Random(`lane ${SEED}`);
  let count = 0;
  // Some statuses are rare: it goes on until each was seen.
  const isSeen = () => STATUSES.every((status) => tally.has(status));
  while (count < REQUEST_COUNT || (count < LENGTHS_MAX * REQUEST_COUNT && !isSeen())) {
    const conversations = lanes.keySets.map((keys) =>
      randomConversation({ random, keys, subjects: lanes }),
    );
    const sights = await Promise.all(conversations.map((one) => compare(lanes, one)));
    for (const [index, { text }] of sights.entries()) noteResponses(text, lanes.keySets[index]);
    count += conversations.reduce((sum, one) => sum + one.count, 0);
    clock.advance(random.below(20_000));
  }
  const told = [...tally].sort().map(([status, times]) => `${status}: ${times}`);
  t.diagnostic(`${count} requests in ${PLACES} places; ${told.join(', ')}`);
  for (const status of STATUSES)
    assert.ok(tally.has(status), `nothing was answered with ${status}`);
  assert.ok((tally.get('200') ?? 0) > ANSWERED_MIN * count, 'too few were answered');
  assert.deepEqual(await metricsOf(lanes.fast), await metricsOf(lanes.plain));
});

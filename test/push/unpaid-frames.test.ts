/** Frames that a key does not pay for come at the pace of refusals, whatever their kind, and hold up no other key. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createPlaces } from '../../tools/harness/program.ts';
import { connectPush, type PushClient } from '../../tools/harness/push-client.ts';
import { type Cleanup, createKey, makeLedger, startService } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';

const place = createPlaces();
const lines = simulateLines(5, 'unpaid frames');
const data = await makeLedger(place('ledger'), lines);
const USER = '0x00000000000000000000000000000000000000bb';
const SUBSCRIPTION = { type: 'clearinghouseState', user: USER };
const META = { method: 'post', id: 1, request: { type: 'info', payload: { type: 'meta' } } };
/** Of an answer to `META`. */
const META_WEIGHT = 20;
const INTERVAL_MS = 20;
const AT_ONCE = 10;
const FLOOD = 300;
/** The least time in which so many refusals come, whose first interval may have begun before them. */
const FLOOD_MS = (FLOOD / AT_ONCE - 2) * INTERVAL_MS;

/** Created before the service starts, so that the service knows them. */
const spentKeys: string[] = [];
for (let count = 0; count < 9; count++) {
  spentKeys.push((await createKey(data, { budget: `${META_WEIGHT}/h` })).secret);
}
const { secret: payingKey } = await createKey(data, { budget: `${FLOOD + 1}/h` });
const { secret: freeKey } = await createKey(data);
const service = await startService({ after }, { data, flags: ['--max-age', '0'] });
await service.untilCaughtUp(lines.length);

/** A connection of another key each time, which has nothing left for an hour. */
async function connectSpent(context: Cleanup): Promise<PushClient> {
  const client = await connectPush(context, { port: service.port, key: spentKeys.pop() ?? '' });
  client.send(META);
  await client.next('post');
  return client;
}

const FLOODS: Readonly<Record<string, unknown>> = {
  pings: { method: 'ping' },
  'refused subscriptions': { method: 'subscribe', subscription: SUBSCRIPTION },
  'invalid subscriptions': { method: 'subscribe', subscription: { type: 'nope' } },
  unsubscribes: { method: 'unsubscribe', subscription: SUBSCRIPTION },
  'malformed frames': 'nonsense',
  'long messages': { ...META, padding: 'x'.repeat(2000) },
  posts: META,
};

for (const [kind, frame] of Object.entries(FLOODS)) {
  test(`${kind} of a key with nothing left come at the pace of refusals`, async (context) => {
    const client = await connectSpent(context);
    const startedMs = performance.now();
    for (let count = 0; count < FLOOD; count++) client.send(frame);
    const first = await client.nextFrame();
    for (let count = 1; count < FLOOD; count++) {
      const { channel } = await client.nextFrame();
      assert.equal(channel, first.channel);
    }
    const tookMs = performance.now() - startedMs;
    assert.ok(tookMs > FLOOD_MS, `${FLOOD} in ${tookMs} ms, expected at least ${FLOOD_MS} ms`);
    await client.isQuiet();
  });
}

test('a key does not wait for the unpaid frames of another key', async (context) => {
  const loud = await connectSpent(context);
  const quiet = await connectPush(context, { port: service.port, key: freeKey });
  for (let count = 0; count < FLOOD; count++) loud.send({ method: 'ping' });
  await loud.next('pong');
  await quiet.isQuiet();
  assert.ok(loud.frames.length < FLOOD / 2, `${loud.frames.length} answered before the other key`);
});

test('frames that are paid do not wait', async (context) => {
  const client = await connectPush(context, { port: service.port, key: payingKey });
  const spent = await connectSpent(context);
  for (let count = 0; count < FLOOD; count++) {
    client.send({ method: 'ping' });
    spent.send({ method: 'ping' });
  }
  for (let count = 0; count < FLOOD; count++) await client.next('pong');
  assert.ok(spent.frames.length < FLOOD / 2, `${spent.frames.length} unpaid ones answered`);
});

/** The errors of push: what clients read that know error codes. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createPlaces } from '../../tools/harness/program.ts';
import { connectPush, type PushClient, type PushedError } from '../../tools/harness/push-client.ts';
import { createKey, makeLedger, startService } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';

const HEIGHT = 5;
const USER = '0x00000000000000000000000000000000000000aa';
const AUCTION = { type: 'perpDeployAuctionStatus' };

const data = await makeLedger(createPlaces()('ledger'), simulateLines(HEIGHT, 'push errors'));
const { secret: key } = await createKey(data);
const { secret: smallKey } = await createKey(data, { budget: '40/h' });
const service = await startService({ after }, { data, flags: ['--max-age', '0'] });
await service.untilCaughtUp(HEIGHT);

function connect(context: { after(clean: () => void): void }, secret = key): Promise<PushClient> {
  return connectPush(context, { port: service.port, key: secret });
}

type Members = Omit<PushedError, 'message'>;

function subscribe(subscription: unknown): object {
  return { method: 'subscribe', subscription };
}

const WRONG_USER = { type: 'delegations', user: '0x{}' };
const WRONG_DEX = { type: 'clearinghouseState', user: USER, dex: 'no' };
const LONG = { type: 'x', long: 'y'.repeat(1000) };

/** What is sent, and the members of the error that comes back, apart from the message. */
const CASES: readonly (readonly [unknown, Members])[] = [
  ['nonsense', { code: 'malformed_json', field: 'frame' }],
  ['['.repeat(1025), { code: 'invalid_field', field: 'frame' }],
  ['[]', { code: 'invalid_field', field: 'frame' }],
  [{}, { code: 'missing_field', field: 'method' }],
  [{ method: 'order' }, { code: 'invalid_field', field: 'method' }],
  [{ method: 'post' }, { code: 'missing_field', field: 'id' }],
  [
    { method: 'post', id: '7' },
    { code: 'invalid_field', field: 'id' },
  ],
  [
    { method: 'post', id: 7 },
    { code: 'missing_field', field: 'request', method: 'post', id: 7 },
  ],
  [
    { method: 'post', id: 7, request: { type: 'action' } },
    { code: 'invalid_field', field: 'request.type', method: 'post', id: 7 },
  ],
  [
    { method: 'post', id: 7, request: { type: 'info', payload: { type: 'x' } } },
    { code: 'unknown_type', field: 'type', method: 'post', id: 7 },
  ],
  [{ method: 'subscribe' }, { code: 'invalid_field', field: 'subscription', method: 'subscribe' }],
  [subscribe({}), { code: 'missing_field', field: 'type', method: 'subscribe', subscription: {} }],
  [
    subscribe(WRONG_USER),
    { code: 'invalid_address', field: 'user', method: 'subscribe', subscription: WRONG_USER },
  ],
  [
    subscribe(WRONG_DEX),
    { code: 'unknown_dex', field: 'dex', method: 'subscribe', subscription: WRONG_DEX },
  ],
  [subscribe(LONG), { code: 'unknown_type', field: 'type', method: 'subscribe' }],
  [
    { method: 'unsubscribe', subscription: AUCTION },
    { code: 'invalid_field', field: 'method', method: 'unsubscribe', subscription: AUCTION },
  ],
];

for (const [frame, expected] of CASES) {
  const name = (typeof frame === 'string' ? frame : JSON.stringify(frame)).slice(0, 120);
  test(`the error of ${name} has a code, the field and the request`, async (context) => {
    const client = await connect(context);
    client.send(frame);
    const { message, ...members } = await client.nextError();
    assert.deepEqual(members, expected, message);
    await client.isQuiet();
  });
}

test('a second subscription to the same state is an error of the method', async (context) => {
  const client = await connect(context);
  client.subscribe(AUCTION);
  await client.next('subscriptionResponse');
  await client.next(AUCTION.type);
  client.subscribe({ ...AUCTION, more: 1 });
  assert.deepEqual(await client.nextError(), {
    code: 'invalid_field',
    message: 'method: got "subscribe", expected "unsubscribe": the subscription is open',
    field: 'method',
    method: 'subscribe',
    subscription: AUCTION,
  });
});

test('without a budget, an error says when to try again', async (context) => {
  const client = await connect(context, smallKey);
  const payload = { type: 'meta' };
  for (const id of [1, 2]) {
    client.send({ method: 'post', id, request: { type: 'info', payload } });
    await client.next('post');
  }
  client.send({ method: 'post', id: 3, request: { type: 'info', payload } });
  client.subscribe(AUCTION);
  client.send(' '.repeat(2000));
  const errors = [await client.nextError(), await client.nextError(), await client.nextError()];
  const found = errors.map(({ code, method, id, subscription, retryAfterSeconds, message }) => {
    const isSame = message.endsWith(`try again in ${retryAfterSeconds} s`);
    return { code, method, id, subscription, isSame };
  });
  const error = { code: 'rate_limited', isSame: true };
  assert.deepEqual(found, [
    { ...error, method: 'post', id: 3, subscription: undefined },
    { ...error, method: 'subscribe', id: undefined, subscription: AUCTION },
    { ...error, method: undefined, id: undefined, subscription: undefined },
  ]);
});

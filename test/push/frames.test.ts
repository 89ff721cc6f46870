/** The frames of push: what is sent, what comes back, and what is said to frames that are wrong. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Reply } from '../../src/http/message/reply.ts';
import { formatAnswer } from '../../src/http/push/frames.ts';
import { appendAll, NO_SNAPSHOTS } from '../../tools/harness/data-directory.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { connectPush, type PushClient, type PushedState } from '../../tools/harness/push-client.ts';
import { type Answer, createKey, makeLedger, startService } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { SUBSCRIPTIONS } from '../info/types.ts';

const HEIGHT = 40;
const lines = simulateLines(HEIGHT, 'push frames');
const DELEGATOR = '0x00000000000000000000000000000000000000aa';
/** Has a position from the first of these blocks on, and a stake. */
const TRADER = '0x00000000000000000000000000000000000000bb';

const place = createPlaces();
const data = await makeLedger(place('ledger'), lines);
const { secret: key } = await createKey(data);
const service = await startService(
  { after },
  { data, flags: ['--max-age', '0', '--push-interval', '0'] },
);
await service.untilCaughtUp(HEIGHT);
let head = HEIGHT;

/** The line of a block that follows the simulated ones. */
function nextLine(events: readonly unknown[]): string {
  head += 1;
  const { time } = JSON.parse(lines[HEIGHT - 1]);
  return JSON.stringify({ height: head, time: time + head, events });
}

async function appendBlock(events: readonly unknown[]): Promise<number> {
  await appendAll(data, [nextLine(events)], NO_SNAPSHOTS);
  return head;
}

function transfer(user: string, amount: string, dex = ''): object {
  return { type: 'transfer', user, dex, amount };
}

function connect(context: { after(clean: () => void): void }): Promise<PushClient> {
  return connectPush(context, { port: service.port, key });
}

async function ask(question: unknown): Promise<Answer> {
  const client = service.connect();
  return client.ask(key, question, { 'Ledger-Min-Height': head });
}

async function answerTo(question: unknown): Promise<unknown> {
  return JSON.parse((await ask(question)).body);
}

/** Subscribes, and takes the acknowledgement and the first state. */
async function subscribe(client: PushClient, subscription: { type: string }): Promise<PushedState> {
  client.subscribe(subscription);
  await client.next('subscriptionResponse');
  return client.nextState(subscription.type);
}

test('a subscription is acknowledged, and followed by the whole state at once', async (context) => {
  const client = await connect(context);
  client.subscribe({ type: 'clearinghouseState', user: TRADER.toUpperCase().replace('X', 'x') });
  assert.deepEqual(await client.next('subscriptionResponse'), {
    method: 'subscribe',
    subscription: { type: 'clearinghouseState', user: TRADER, dex: '' },
  });
  const { height, time, ...data } = await client.nextState();
  const state = await answerTo({ type: 'clearinghouseState', user: TRADER });
  assert.deepEqual(data, { user: TRADER, dex: '', clearinghouseState: state });
  assert.equal(height, head);
  assert.equal(time, (state as { time: number }).time);
  await client.isQuiet();
});

/** These have a test of their own below. */
const OTHER_SUBSCRIPTIONS = ['allMids', 'webData2'];

test('each type that can be subscribed to has its frame', async (context) => {
  const client = await connect(context);
  const user = DELEGATOR;
  await appendBlock([
    transfer(user, '10.0', 'abc'),
    { type: 'delegation', user, validator: TRADER, amount: '5.0', lockedUntilTimestamp: 0 },
    {
      type: 'deployAuction',
      startTimeSeconds: 1,
      durationSeconds: 1,
      startGas: '2.0',
      floorGas: '1.0',
    },
  ]);
  const expected = [
    [{ type: 'clearinghouseState', user, dex: 'abc' }, 'clearinghouseState'],
    [{ type: 'allDexsClearinghouseState', user }, 'clearinghouseStates'],
    [{ type: 'delegations', user }, 'delegations'],
    [{ type: 'perpDeployAuctionStatus' }, 'perpDeployAuctionStatus'],
  ] as const;
  const types = expected.map(([{ type }]) => type);
  assert.deepEqual([...types, ...OTHER_SUBSCRIPTIONS].sort(), SUBSCRIPTIONS.split(', ').sort());
  await answerTo({ type: 'exchangeStatus' });
  for (const [subscription, name] of expected) {
    const { type, ...fields } = subscription;
    const { height, time, ...data } = await subscribe(client, subscription);
    assert.deepEqual(data, { ...fields, [name]: await answerTo(subscription) });
    assert.equal(height, head);
    assert.ok(time > 0);
  }
});

test('prices are pushed as mids, with the dex unless it is the first', async (context) => {
  const client = await connect(context);
  for (const [asked, told] of [
    [{}, {}],
    [{ dex: 'abc' }, { dex: 'abc' }],
    [{ dex: 'idx' }, { dex: 'idx' }],
  ]) {
    client.subscribe({ type: 'allMids', ...asked });
    assert.deepEqual(await client.next('subscriptionResponse'), {
      method: 'subscribe',
      subscription: { type: 'allMids', ...told },
    });
    const { height, time, ...data } = await client.nextState('allMids');
    const mids = await answerTo({ type: 'allMids', ...asked });
    assert.deepEqual(data, { ...told, mids });
    assert.ok(height === head && time > 0);
  }
  client.subscribe({ type: 'allMids', dex: '' });
  assert.equal(await client.next('error'), 'Already subscribed: {"type":"allMids"}');
  await appendBlock([{ type: 'marks', prices: { BTC: '123456.0' } }]);
  const { mids } = await client.nextState('allMids');
  assert.deepEqual(mids, await answerTo({ type: 'allMids' }));
  assert.equal((mids as Record<string, string>)['BTC'], '123456.0');
  await client.isQuiet();
});

test('webData2 is pushed as it is, and not when only time went by', async (context) => {
  const client = await connect(context);
  const question = { type: 'webData2', user: TRADER };
  const { height, time, ...data } = await subscribe(client, question);
  assert.deepEqual(data, await answerTo(question));
  assert.deepEqual([height, time], [head, data['serverTime']]);
  await appendBlock([]);
  await appendBlock([transfer(TRADER, '1.5')]);
  const next = await client.nextState('webData2');
  assert.equal(next.height, head);
  assert.deepEqual(
    next.clearinghouseState,
    await answerTo({ type: 'clearinghouseState', user: TRADER }),
  );
  await client.isQuiet();
});

test('a state is sent again when it has changed, and not when only time went by', async (context) => {
  const client = await connect(context);
  await subscribe(client, { type: 'clearinghouseState', user: TRADER } as { type: string });
  const quietHeight = await appendBlock([]);
  const height = await appendBlock([transfer(TRADER, '1.5')]);
  const state = await client.nextState();
  assert.ok(state.height === height && height === quietHeight + 1);
  assert.deepEqual(
    state.clearinghouseState,
    await answerTo({ type: 'clearinghouseState', user: TRADER }),
  );
  await appendBlock([{ type: 'orderMargin', user: TRADER, dex: '', amount: '0.0' }]);
  await ask({ type: 'exchangeStatus' });
  await client.isQuiet();
});

test('after it is taken back, nothing more comes', async (context) => {
  const client = await connect(context);
  const subscription = { type: 'clearinghouseState', user: TRADER, dex: '' };
  await subscribe(client, subscription);
  client.send({ method: 'unsubscribe', subscription });
  assert.deepEqual(await client.next('subscriptionResponse'), {
    method: 'unsubscribe',
    subscription,
  });
  await appendBlock([transfer(TRADER, '2.0')]);
  await ask({ type: 'exchangeStatus' });
  await client.isQuiet();
  client.send({ method: 'unsubscribe', subscription });
  const echo = JSON.stringify(subscription);
  assert.equal(await client.next('error'), `Already unsubscribed: ${echo}`);
});

test('two connections on the same account are both told, also the one that came later', async (context) => {
  const [first, second] = [await connect(context), await connect(context)];
  const subscription = { type: 'clearinghouseState', user: TRADER } as { type: string };
  await subscribe(first, subscription);
  await appendBlock([transfer(TRADER, '3.0')]);
  const seen = await first.nextState();
  assert.deepEqual(await subscribe(second, subscription), seen);
  await appendBlock([transfer(TRADER, '4.0')]);
  assert.deepEqual(await first.nextState(), await second.nextState());
  await first.isQuiet();
  await second.isQuiet();
});

test('ping gets pong', async (context) => {
  const client = await connect(context);
  client.send({ method: 'ping' });
  assert.equal(await client.next('pong'), undefined);
});

test('post asks any question', async (context) => {
  const client = await connect(context);
  for (const type of ['meta', 'perpDeployAuctionStatus', 'perpDexs']) {
    client.send({ method: 'post', id: 7, request: { type: 'info', payload: { type } } });
    const { id, response } = (await client.next('post')) as {
      id: number;
      response: { type: string; payload: { height: number; time: number } };
    };
    const { height, time, ...payload } = response.payload;
    assert.deepEqual([id, response.type], [7, 'info']);
    assert.deepEqual(payload, { type, data: await answerTo({ type }) });
    assert.ok(height === head && time > 0);
  }
});

/** What is sent, and the text of the error that comes back. */
const WRONG_FRAMES: readonly (readonly [string, string])[] = [
  ['nonsense', 'frame: got "nonsense", expected a JSON object'],
  ['{"a":', 'frame: got "\\u007b\\"a\\":", expected a JSON object'],
  ['\ufeff7', 'frame: got "\\ufeff7", expected a JSON object'],
  ['', 'frame: got "", expected a JSON object'],
  ['['.repeat(1025), 'frame: got more than 256 of "[", expected one message'],
  ['[]', 'frame: got an array of 0, expected an object with a method'],
  ['null', 'frame: got null, expected an object with a method'],
  ['7', 'frame: got 7, expected an object with a method'],
  ['{}', 'method: got nothing, expected one of subscribe, unsubscribe, post, ping'],
  [
    '{"method":"order{}"}',
    'method: got "order\\u007b\\u007d", expected one of subscribe, unsubscribe, post, ping',
  ],
  ['{"method":"post"}', 'id: got nothing, expected a whole number from 0 to 9007199254740991'],
  ['{"method":"post","id":"7"}', 'id: got "7", expected a whole number from 0 to 9007199254740991'],
  [
    '{"method":"post","id":10000000000000000}',
    'id: got 10000000000000000, expected a whole number from 0 to 9007199254740991',
  ],
  ['{"method":"post","id":-1}', 'id: got -1, expected a whole number from 0 to 9007199254740991'],
  [
    '{"method":"subscribe"}',
    'Invalid subscription: invalid_field: subscription: got nothing, expected an object with a type',
  ],
  [
    '{"method":"subscribe","subscription":{}}',
    `Invalid subscription: missing_field: type: got nothing, expected one of ${SUBSCRIPTIONS} {}`,
  ],
  [
    '{"method":"subscribe","subscription":{"type":"meta"}}',
    `Invalid subscription: unknown_type: type: got "meta", expected one of ${SUBSCRIPTIONS} {"type":"meta"}`,
  ],
  [
    '{"method":"subscribe","subscription":{"type":"delegations","user":"0x{}"}}',
    'Invalid subscription: invalid_address: user: got "0x\\u007b\\u007d", expected 0x and 40 hexadecimal digits ' +
      '{"type":"delegations","user":"0x{}"}',
  ],
  [
    `{"method":"subscribe","subscription":{"type":"clearinghouseState","user":"${TRADER}","dex":"no"}}`,
    'Invalid subscription: unknown_dex: dex: got "no", expected one of "", "abc", "idx" ' +
      `{"type":"clearinghouseState","user":"${TRADER}","dex":"no"}`,
  ],
  [
    '{"method":"unsubscribe","subscription":{"type":"delegations"}}',
    'Invalid subscription: missing_field: user: got nothing, expected an address: ' +
      '0x and 40 hexadecimal digits, either case {"type":"delegations"}',
  ],
];

for (const [frame, message] of WRONG_FRAMES) {
  test(`${frame === '' ? 'an empty frame' : frame.slice(0, 200)} is told what is wrong with it`, async (context) => {
    const client = await connect(context);
    client.send(frame);
    assert.equal(await client.next('error'), message);
    await client.isQuiet();
  });
}

/** The rest of a post, and the text of its error. */
const WRONG_POSTS: readonly (readonly [unknown, string])[] = [
  [undefined, 'request: got nothing, expected an object with type and payload'],
  [
    { type: 'action', payload: {} },
    'request.type: got "action", expected "info": the service is read-only',
  ],
  [{ type: 'info' }, 'invalid_field: request.payload: got nothing, expected an object with a type'],
  [
    { type: 'info', payload: { type: 'delegations', user: '0x' } },
    'invalid_address: user: got "0x", expected 0x and 40 hexadecimal digits',
  ],
];

for (const [request, message] of WRONG_POSTS) {
  test(`a post of ${JSON.stringify(request)} is refused under its id`, async (context) => {
    const client = await connect(context);
    client.send({ method: 'post', id: 3, request });
    const response = { type: 'error', payload: message };
    assert.deepEqual(await client.next('post'), { id: 3, response });
  });
}

test('a second subscription to the same is refused, however it is spelled', async (context) => {
  const client = await connect(context);
  await subscribe(client, { type: 'delegations', user: TRADER } as { type: string });
  client.subscribe({ user: TRADER.replace('bb', 'BB'), type: 'delegations', more: 1 });
  const echo = JSON.stringify({ type: 'delegations', user: TRADER });
  assert.equal(await client.next('error'), `Already subscribed: ${echo}`);
});

test('an echo that would be long is left out', async (context) => {
  const client = await connect(context);
  const expected = `Invalid subscription: unknown_type: type: got "x", expected one of ${SUBSCRIPTIONS}`;
  client.subscribe({ type: 'x', long: 'y'.repeat(1000) });
  assert.equal(await client.next('error'), expected);
});

test('a frame longer than a body may be ends the connection, with the code for it', async (context) => {
  const client = await connect(context);
  client.send(' '.repeat(65_537));
  assert.equal((await client.closed).code, 1009);
});

test('bytes are taken as text', async (context) => {
  const client = await connect(context);
  client.socket.send(Buffer.from('{"method":"ping"}'));
  await client.next('pong');
});

test('CSV is a text in a frame, also if it is so long that it comes as bytes', () => {
  const csv = 'height,time\r\n1,2\r\n';
  for (const body of [csv, Buffer.from(csv)]) {
    const reply = new Reply(200, 'accountHistory');
    Object.assign(reply, { body, isCsv: true });
    assert.equal(JSON.parse(formatAnswer(7, reply)).data.response.payload.data, csv);
  }
});

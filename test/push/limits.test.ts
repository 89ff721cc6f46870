/** Who may connect, how much a key may have open, and what becomes of clients that do not read. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import {
  connectPush,
  connectRefused,
  openSocket,
  PushClient,
  type PushedState,
} from '../../tools/harness/push-client.ts';
import {
  type Cleanup,
  type Client,
  createKey,
  type KeyTerms,
  makeLedger,
  type RunningService,
  readSamples,
  startService,
  until,
} from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { startInProcess } from '../http/in-process.ts';
import { ALSO_LONG, LONG_ONLY, shareOut } from '../scale.ts';
import { connectRaw } from './raw-frames.ts';
import { openSteppedLedger } from './stepped-ledger.ts';

const place = createPlaces();
const lines = simulateLines(20, 'push limits');
const data = await makeLedger(place('ledger'), lines);
const USER = '0x00000000000000000000000000000000000000bb';

async function start(
  context: Cleanup,
  flags: readonly string[] = [],
  limits?: Partial<HttpLimits>,
): Promise<RunningService> {
  const service = await startService(context, {
    data,
    flags: ['--max-age', '0', ...flags],
    limits,
  });
  await service.untilCaughtUp(lines.length);
  return service;
}

const service = await start({ after }, ['--push-connections-max', '2'], {
  pushSubscriptionsPerConnection: 1.5,
});

/** A key that the service has heard of. */
async function createLiveKey(
  at: RunningService = service,
  { folder = data, ...terms }: KeyTerms & { folder?: string } = {},
): Promise<{ id: string; secret: string }> {
  const key = await createKey(folder, terms);
  await untilKnown(at, key.secret);
  return key;
}

async function untilKnown(at: RunningService, secret: string): Promise<void> {
  await until('the key to be known', async () => {
    const { status } = await at.once({ path: `/${secret}/ws` });
    return status !== 401;
  });
}

/** Weighs 20. */
const ASK_META = { method: 'post', id: 1, request: { type: 'info', payload: { type: 'meta' } } };

function addressOf(secret: string, { port } = service): string {
  return `ws://127.0.0.1:${port}/${secret}/ws`;
}

test('without a live key there is no connection', async () => {
  const unknown = await connectRefused(addressOf('nonsense'));
  assert.deepEqual([unknown.status, unknown.error], [401, 'unknown_key']);
  const none = await connectRefused(`ws://127.0.0.1:${service.port}/ws`);
  assert.deepEqual([none.status, none.error], [401, 'unknown_key']);
});

test('connections per key are limited, and closing one makes room for another', async (context) => {
  const { secret: key } = await createLiveKey();
  const at = { port: service.port, key };
  const first = await connectPush(context, at);
  await connectPush(context, at);
  assert.deepEqual(await connectRefused(addressOf(key)), {
    status: 429,
    retryAfter: '1',
    error: 'rate_limited',
    message: 'connections: this key has 2 open, the limit',
  });
  await connectPush(context, { port: service.port, key: (await createLiveKey()).secret });
  first.close();
  await until('a connection to be free', async () => {
    const socket = openSocket(at);
    socket.on('error', () => undefined);
    const isOpen = await Promise.race([
      once(socket, 'open').then(() => true),
      once(socket, 'unexpected-response').then(() => false),
    ]);
    socket.terminate();
    return isOpen;
  });
});

test('subscriptions per key are limited, over all its connections', async (context) => {
  const { secret: key } = await createLiveKey();
  const [first, second] = [
    await connectPush(context, { port: service.port, key }),
    await connectPush(context, { port: service.port, key }),
  ];
  for (const dex of ['', 'abc']) {
    first.subscribe({ type: 'clearinghouseState', user: USER, dex });
    await first.next('subscriptionResponse');
    await first.nextState();
  }
  second.subscribe({ type: 'perpDeployAuctionStatus' });
  await second.next('subscriptionResponse');
  await second.next('perpDeployAuctionStatus');
  const subscription = { type: 'delegations', user: USER };
  second.subscribe(subscription);
  const message = 'subscriptions: this key has 3, the limit';
  assert.deepEqual(await second.nextFrame(), {
    channel: 'error',
    data:
      `Subscription refused: rate_limited: ${message} ` +
      JSON.stringify({ method: 'subscribe', subscription }),
    error: { code: 'rate_limited', message, method: 'subscribe', subscription },
  });
  first.close();
  await until('the subscriptions to be free', async () => {
    second.subscribe(subscription);
    while (second.frames.length === 0) await sleep(5);
    return second.frames.shift()?.channel === 'subscriptionResponse';
  });
});

test("every frame is taken from the key's budget, also one that asks nothing", async (context) => {
  const { secret: key } = await createLiveKey(service, { budget: '40/h' });
  const client = await connectPush(context, { port: service.port, key });
  const subscription = { type: 'clearinghouseState', user: USER };
  client.subscribe(subscription);
  await client.next('subscriptionResponse');
  await client.nextState();
  client.subscribe(subscription);
  await client.next('error');
  client.send({ method: 'unsubscribe', subscription });
  await client.next('subscriptionResponse');
  client.send({ method: 'unsubscribe', subscription });
  await client.next('error');
  client.send('nonsense');
  await client.next('error');
  await client.isQuiet();
  client.send(ASK_META);
  await client.next('post');
  client.send(ASK_META);
  const { response } = (await client.next('post')) as { response: { payload: string } };
  assert.match(
    response.payload,
    /^rate_limited: budget: this question weighs 20, 12 of 40 are left/,
  );
});

test('with a budget that is spent, pings are answered and subscriptions ended', async (context) => {
  const { secret: key } = await createLiveKey(service, { budget: '22/h' });
  const client = await connectPush(context, { port: service.port, key });
  const subscription = { type: 'clearinghouseState', user: USER };
  client.subscribe(subscription);
  await client.next('subscriptionResponse');
  await client.nextState();
  client.send(ASK_META);
  await client.next('post');
  await client.isQuiet();
  client.send({ method: 'unsubscribe', subscription });
  await client.next('subscriptionResponse');
});

test('with a budget that is spent, long messages are refused unread', async (context) => {
  const { secret: key } = await createLiveKey(service, { budget: '22/h' });
  const client = await connectPush(context, { port: service.port, key });
  client.send(ASK_META);
  await client.next('post');
  const padding = 'x'.repeat(1025);
  const refusal = /^rate_limited: budget: a question weighs 2 or more, 1 of 22 are left/;
  const post = { method: 'post', id: 7, request: { type: 'info', payload: { type: padding } } };
  client.send(post);
  const { id, response } = (await client.next('post')) as {
    id: number;
    response: { payload: string };
  };
  assert.equal(id, 7);
  assert.match(response.payload, refusal);
  for (const message of [padding, { padding, ...post }, { method: 'ping', padding }]) {
    client.send(message);
    assert.match(String(await client.next('error')), refusal);
  }
  client.send({ method: 'ping' });
  await client.isQuiet();
});

test('a message is charged for its length, unless it is a post that weighs more', async (context) => {
  const { secret: key } = await createLiveKey(service, { budget: '80/h' });
  const client = await connectPush(context, { port: service.port, key });
  const padding = 'x'.repeat(60_000);
  client.send({ method: 'ping', padding });
  await client.next('pong');
  client.send(padding);
  await client.next('error');
  client.send({
    method: 'unsubscribe',
    subscription: { type: 'clearinghouseState', user: USER },
    padding,
  });
  await client.next('error');
  client.send({
    method: 'post',
    id: 1,
    request: { type: 'info', payload: { type: 'a' } },
    padding,
  });
  await client.next('post');
  client.send({ ...ASK_META, padding });
  await client.next('post');
  // Of 80: four messages of 8, an answer, and two requests that are refused.
  const { headers } = await service.once({ path: `/${key}/info`, body: '{}' });
  assert.equal(headers['ratelimit-remaining'], '26');
});

test('revoking a key, or one of its secrets, closes the connections made with it', async (context) => {
  const { id, secret } = await createLiveKey();
  const store = await openEmbeddedKeys(data);
  try {
    const { secret: second } = store.addSecret(id);
    await untilKnown(service, second);
    const gone = await connectPush(context, { port: service.port, key: secret });
    const kept = await connectPush(context, { port: service.port, key: second });
    store.revoke(`${id}.1`);
    const closed = { code: 1008, reason: 'the key was revoked, or has expired' };
    assert.deepEqual(await gone.closed, closed);
    await kept.isQuiet();
    store.revoke(id);
    assert.deepEqual(await kept.closed, closed);
  } finally {
    await store.close();
  }
});

test('a key that expires takes its connections with it', async (context) => {
  const { secret: key } = await createLiveKey(service, { expiresMs: Date.now() + 1500 });
  const client = await connectPush(context, { port: service.port, key });
  assert.equal((await client.closed).code, 1008);
});

test('stopping the service says goodbye', async (context) => {
  const stopping = await start(context);
  const { secret: key } = await createLiveKey(stopping);
  const client = await connectPush(context, { port: stopping.port, key });
  const { code } = await stopping.stop();
  assert.equal(code, 0);
  assert.deepEqual(await client.closed, { code: 1001, reason: 'the service is stopping' });
});

test('a service that is stopping takes no further connections', async (context) => {
  const { port, key, push } = await startInProcess(context);
  push.close();
  const refused = await connectRefused(`ws://127.0.0.1:${port}/${key}/ws`);
  assert.deepEqual(refused, {
    status: 503,
    retryAfter: '1',
    error: 'not_ready',
    message: 'the service is stopping',
  });
});

test('a client that shows no sign of life is taken for gone', LONG_ONLY, async (context) => {
  // Long enough for the client here not to seem gone on a busy machine.
  const impatient = await start(context, ['--idle-timeout', '3000']);
  const { secret: key } = await createLiveKey(impatient);
  const alive = await connectPush(context, { port: impatient.port, key });
  const dead = await connectRaw(context, { port: impatient.port, key });
  await once(dead, 'close');
  await alive.isQuiet();
});

const MARKETS = 200;
const coins = Array.from({ length: MARKETS }, (_, index) => `COIN${index}`);

/** The first block: many markets, and one account with a position in each. */
function firstEvents(): object[] {
  const tiers = [{ lowerBound: '0.0', maxLeverage: 10 }];
  const markets = coins.map((coin) => ({
    ...{ type: 'market', dex: '', coin, szDecimals: 2, marginTiers: tiers },
    ...{ onlyIsolated: false, markPx: '100.0' },
  }));
  const fills = coins.map((coin) => ({
    ...{ type: 'fill', user: USER, coin, side: 'B', sz: '1.0', px: '100.0', fee: '0.0' },
  }));
  return [...markets, { type: 'transfer', user: USER, dex: '', amount: '5000.0' }, ...fills];
}

function marksEvents(step: number): object[] {
  const prices = Object.fromEntries(coins.map((coin) => [coin, `${100 + step / 1000}`]));
  return [{ type: 'marks', prices }];
}

function lineOf(height: number): string {
  const events = height === 1 ? firstEvents() : marksEvents(height);
  return JSON.stringify({ height, time: 1_758_556_800_000 + height * 1000, events });
}

/** Blocks that each change a state of some 90 KB: more of them than buffers on the way can hold. */
const BLOCKS = 300;

test(
  'a client that reads slowly gets the newest state, not all of them',
  LONG_ONLY,
  async (context) => {
    const folder = place('slow');
    const ledger = await openSteppedLedger(context, folder);
    await ledger.append(lineOf(1));
    const flags = ['--max-age', '0', '--push-interval', '0'];
    const limits = { pushStallTimeout: 60_000 };
    const slowed = await startService(context, { data: folder, flags, limits });
    await slowed.untilCaughtUp(1);
    const { secret: key } = await createLiveKey(slowed, { folder });
    const client = new PushClient(openSocket({ port: slowed.port, key }));
    context.after(() => client.close());
    await once(client.socket, 'open');
    client.subscribe({ type: 'clearinghouseState', user: USER });
    await client.next('subscriptionResponse');
    const first = await client.nextState();
    client.socket.pause();
    const asking = slowed.connect();
    for (let height = 2; height <= BLOCKS; height++) {
      await ledger.append(lineOf(height));
      await asking.ask(key, { type: 'exchangeStatus' }, { 'Ledger-Min-Height': height });
    }
    client.socket.resume();
    const states: PushedState[] = [first];
    while (states.at(-1)?.height !== BLOCKS) states.push(await client.nextState());
    assert.ok(states.length < BLOCKS / 2, `${states.length} states were sent`);
    assert.ok(
      states.every(({ height }, index) => index === 0 || height > states[index - 1].height),
    );
    await client.isQuiet();
  },
);

test('a client that does not read at all is cut off, by time or by bytes', async (context) => {
  const folder = place('stalled');
  const ledger = await openSteppedLedger(context, folder);
  await ledger.append(lineOf(1));
  const limits = { pushStallTimeout: 500, pushBacklogMax: 1_000_000 };
  const flags = ['--max-age', '0', '--push-interval', '0'];
  const impatient = await startService(context, { data: folder, flags, limits });
  await impatient.untilCaughtUp(1);
  const { secret: key } = await createLiveKey(impatient, { folder });
  const stalled = await connectStalled(context, impatient, key);
  stalled.subscribe({ type: 'clearinghouseState', user: USER });
  for (let height = 2; stalled.socket.readyState === 1 && height <= BLOCKS; height++) {
    await ledger.append(lineOf(height));
    if (await wasCutOff(impatient, 1)) break;
  }
  await until('the one that reads nothing to be cut off', () => wasCutOff(impatient, 1));
  const greedy = await connectStalled(context, impatient, key);
  const payload = { type: 'clearinghouseState', user: USER };
  for (let id = 0; id < 300; id++) {
    greedy.send({ method: 'post', id, request: { type: 'info', payload } });
  }
  await until('the one that asks and reads nothing to be cut off', () => wasCutOff(impatient, 2));
});

/** Without an account, so that the answer about it is short. */
const NOBODY = `0x${'0'.repeat(40)}`;

test('an answer longer than a client may leave unread is refused, and the connection stays', async (context) => {
  const folder = place('long');
  const ledger = await openSteppedLedger(context, folder);
  await ledger.append(lineOf(1));
  const flags = ['--max-age', '0'];
  const limits = { pushBacklogMax: 65_536 };
  const small = await startService(context, { data: folder, flags, limits });
  await small.untilCaughtUp(1);
  const { secret: key } = await createLiveKey(small, { folder });
  const client = await connectPush(context, { port: small.port, key });
  const ask = async (id: number, count: number) => {
    const users = Array.from({ length: count }, () => NOBODY);
    const payload = { type: 'batchClearinghouseStates', users };
    client.send({ method: 'post', id, request: { type: 'info', payload } });
    return (await client.next('post')) as {
      id: number;
      response: { type: string; payload: unknown };
    };
  };
  const { response } = await ask(1, 1000);
  assert.equal(response.type, 'error');
  assert.match(
    String(response.payload),
    /^invalid_field: type: the answer takes \d+ bytes, expected at most 65536 on a push connection/,
  );
  assert.equal((await ask(2, 10)).response.type, 'info');
});

/** States small enough that buffers on the way would hold all of them. */
test(
  'a client that has stopped reading finds few old states when it goes on',
  LONG_ONLY,
  async (context) => {
    const folder = place('paused');
    const ledger = await openSteppedLedger(context, folder);
    for (const line of lines) await ledger.append(line);
    const flags = ['--max-age', '0', '--push-interval', '0'];
    const limits = { pushStallTimeout: 60_000 };
    const paused = await startService(context, { data: folder, flags, limits });
    await paused.untilCaughtUp(lines.length);
    const { secret: key } = await createLiveKey(paused, { folder });
    const client = await connectPush(context, { port: paused.port, key });
    client.subscribe({ type: 'clearinghouseState', user: USER });
    await client.next('subscriptionResponse');
    await client.nextState();
    client.socket.pause();
    const asking = paused.connect();
    const { time } = JSON.parse(lines.at(-1) ?? '{}');
    const head = lines.length + 400;
    for (let height = lines.length + 1; height <= head; height++) {
      const events = [{ type: 'transfer', user: USER, dex: '', amount: '1.0' }];
      await ledger.append(JSON.stringify({ height, time, events }));
      await asking.ask(key, { type: 'exchangeStatus' }, { 'Ledger-Min-Height': height });
    }
    client.socket.resume();
    let count = 1;
    while ((await client.nextState()).height < head) count += 1;
    assert.ok(count < 300, `${count} of 400 states were sent`);
  },
);

const ASKED = 100;
const ATTEMPTS_MAX = 3;

/** Frames that cost their sender nothing, as many as it can send. */
const FLOODS = ['{"method":"ping"}', '{"method":"nonsense"}', '{"method":"post","id":1}'];

for (const frame of shareOut(FLOODS, 0)) {
  test(
    `whoever sends ${frame} without end does not keep others waiting`,
    ALSO_LONG,
    async (context) => {
      const calm = await start(context, ['--overload-delay', '100']);
      const [flooding, other] = [await createLiveKey(calm), await createLiveKey(calm)];
      const client = await connectPush(context, { port: calm.port, key: flooding.secret });
      const flood = setInterval(() => {
        if (client.socket.bufferedAmount > 1 << 20) return;
        for (let count = 0; count < 2000; count++) client.socket.send(frame);
        client.frames.length = 0;
      }, 1);
      context.after(() => clearInterval(flood));
      // A busy machine may delay the service as well, now and then; a flood that does does it always.
      const refused: number[] = [];
      do refused.push(await countRefused(calm.connect(), other.secret));
      while (refused.at(-1) !== 0 && refused.length < ATTEMPTS_MAX);
      assert.equal(refused.at(-1), 0, `refused of ${ASKED} each time: ${refused}`);
      clearInterval(flood);
    },
  );
}

async function countRefused(client: Client, secret: string): Promise<number> {
  let refused = 0;
  for (let asked = 0; asked < ASKED; asked++) {
    const { status } = await client.ask(secret, { type: 'exchangeStatus' });
    assert.ok(status === 200 || status === 503, String(status));
    if (status === 503) refused += 1;
  }
  return refused;
}

test('one that reads nothing does not hold up the end of the service', async (context) => {
  const stopping = await start(context, [], { stopTimeout: 3_600_000 });
  const { secret: key } = await createLiveKey(stopping);
  await connectStalled(context, stopping, key);
  assert.equal((await stopping.stop()).code, 0);
});

async function connectStalled(
  context: Cleanup,
  { port }: RunningService,
  key: string,
): Promise<PushClient> {
  const client = await connectPush(context, { port, key });
  client.socket.pause();
  return client;
}

async function wasCutOff(watched: RunningService, count: number): Promise<boolean> {
  const samples = readSamples(await watched.metrics());
  return (samples.get('perpinfo_push_cut_off_total') ?? 0) >= count;
}

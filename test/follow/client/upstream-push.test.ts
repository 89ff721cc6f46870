/** The push connection to the upstream: its limits, its silences, and how it comes back. */

import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { readUpstreamAddress } from '../../../src/upstream/client/upstream-address.ts';
import { openPush, type PushFixture, type ServedPush } from './scripted-push.ts';
import { json, startServer } from './scripted-server.ts';
import { untilSo } from './upstream-fixture.ts';

const MARKS = { type: 'fastAssetCtxs' };

function tradesOf(coin: string) {
  return { type: 'trades', coin };
}

function stateOf(user: string) {
  return { type: 'clearinghouseState', user, dex: '' };
}

/** Waits until the server has so many subscriptions of the connection. */
async function subscriptions(connection: ServedPush, count: number): Promise<unknown[]> {
  await untilSo(`${count} subscriptions`, () => connection.subscribed.length >= count);
  return connection.subscribed;
}

async function lostReason({ events }: PushFixture): Promise<unknown> {
  const find = () => events.findLast((event) => Array.isArray(event) && event[0] === 'lost');
  await untilSo('the loss of the connection', () => find() !== undefined);
  return (find() as unknown[])[1];
}

/** Drops the connection a while after anything was sent, and waits until the client knows. */
async function lose({ push, clock }: PushFixture, connection: ServedPush): Promise<void> {
  clock.advance(1_001);
  connection.drop();
  await untilSo('the loss of the connection', () => !push.isOpen);
}

/** Waits until the handler has been told this last. */
async function untilTold({ events }: PushFixture, event: unknown): Promise<void> {
  const text = JSON.stringify(event);
  await untilSo(text, () => JSON.stringify(events.at(-1)) === text);
}

test('it connects to /ws below the path, subscribes, and hands on what comes', async (t) => {
  const fixture = await openPush(t);
  fixture.push.subscribe([MARKS, tradesOf('BTC')]);
  const connection = await fixture.connection(0);
  assert.deepEqual(await subscriptions(connection, 2), [MARKS, tradesOf('BTC')]);
  connection.acknowledge(MARKS);
  connection.send('fastAssetCtxs', { BTC: { markPx: '1.0' } });
  await untilSo('the message', () => fixture.events.length === 2);
  assert.deepEqual(fixture.events, ['opened', ['fastAssetCtxs', { BTC: { markPx: '1.0' } }]]);
  assert.deepEqual(fixture.acknowledged, [MARKS]);
  assert.deepEqual(fixture.paths, ['/secret-key-123/ws']);
});

test('only what changes is subscribed and unsubscribed', async (t) => {
  const { push, connection } = await openPush(t);
  push.subscribe([MARKS, tradesOf('BTC')]);
  const served = await connection(0);
  await subscriptions(served, 2);
  push.subscribe([tradesOf('ETH'), MARKS]);
  await untilSo('the changes', () => served.received.length === 4);
  assert.deepEqual(served.received.slice(2), [
    { method: 'unsubscribe', subscription: tradesOf('BTC') },
    { method: 'subscribe', subscription: tradesOf('ETH') },
  ]);
});

test('the most important are subscribed, up to the limits of users and subscriptions', async (t) => {
  const limits = { subscriptionsMax: 5, usersMax: 2, messagesMax: 2000 };
  const { push, connection } = await openPush(t, { limits });
  const allDexs = { type: 'allDexsClearinghouseState', user: '0xa' };
  push.subscribe([
    MARKS,
    stateOf('0xa'),
    stateOf('0xb'),
    stateOf('0xc'),
    allDexs,
    tradesOf('BTC'),
    tradesOf('ETH'),
  ]);
  const wanted = [MARKS, stateOf('0xa'), stateOf('0xb'), allDexs, tradesOf('BTC')];
  assert.deepEqual(await subscriptions(await connection(0), 5), wanted);
});

test('no users are subscribed to where the limit is 0', async (t) => {
  const limits = { subscriptionsMax: 1000, usersMax: 0, messagesMax: 2000 };
  const { push, connection } = await openPush(t, { limits });
  push.subscribe([stateOf('0xa'), MARKS]);
  assert.deepEqual(await subscriptions(await connection(0), 1), [MARKS]);
});

test('messages over the limit of a minute wait, also over reconnects', async (t) => {
  const limits = { subscriptionsMax: 1000, usersMax: 10, messagesMax: 250 };
  const fixture = await openPush(t, { limits });
  const { push, clock } = fixture;
  push.subscribe(Array.from({ length: 150 }, (_, index) => tradesOf(`C${index}`)));
  const first = await fixture.connection(0);
  // So many are kept for pings.
  await subscriptions(first, 100);
  await lose(fixture, first);
  clock.advance(500);
  const second = await fixture.connection(1);
  for (let seconds = 5; seconds <= 55; seconds += 5) {
    clock.advance(5_000);
    second.send('trades', seconds);
    await untilTold(fixture, ['trades', seconds]);
    assert.equal(second.subscribed.length, 0);
  }
  clock.advance(6_000);
  // Without the pings of the last minute.
  await subscriptions(second, 90);
  assert.ok(second.subscribed.length <= 100);
});

test('a subscription that the upstream does not know is told, and tried on the next connection', async (t) => {
  const fixture = await openPush(t);
  fixture.push.subscribe([MARKS, tradesOf('BTC')]);
  const connection = await fixture.connection(0);
  await subscriptions(connection, 2);
  connection.send('error', 'type: got "fastAssetCtxs", expected one of trades');
  connection.acknowledge(tradesOf('BTC'));
  await untilSo('the refusal', () => fixture.events.length === 2);
  const reason = 'type: got "fastAssetCtxs", expected one of trades';
  assert.deepEqual(fixture.events[1], ['refused', MARKS, reason]);
  fixture.push.subscribe([MARKS, tradesOf('BTC'), tradesOf('ETH')]);
  await subscriptions(connection, 3);
  assert.deepEqual(connection.subscribed, [MARKS, tradesOf('BTC'), tradesOf('ETH')]);
  await lose(fixture, connection);
  fixture.clock.advance(500);
  const again = await fixture.connection(1);
  assert.deepEqual(await subscriptions(again, 3), [MARKS, tradesOf('BTC'), tradesOf('ETH')]);
});

test('a user over the limit of the upstream is the one that is refused', async (t) => {
  const fixture = await openPush(t);
  fixture.push.subscribe([MARKS, stateOf('0xa'), stateOf('0xb')]);
  const connection = await fixture.connection(0);
  await subscriptions(connection, 3);
  connection.acknowledge({ ...stateOf('0xA'), extra: 1 });
  connection.send('error', 'Cannot track more than 1 total users.');
  await untilSo('the refusal', () => fixture.events.length === 2);
  const reason = 'Cannot track more than 1 total users.';
  assert.deepEqual(fixture.events[1], ['refused', stateOf('0xb'), reason]);
});

test('a refusal that comes again is left to a log that leaves out repeated lines', async (t) => {
  const once: string[] = [];
  const log = {
    info: (message: string) => assert.fail(message),
    warn: (message: string) => assert.fail(message),
    warnOnce: (message: string) => void once.push(message),
  };
  const fixture = await openPush(t, { log });
  fixture.push.subscribe([MARKS]);
  const connection = await fixture.connection(0);
  await subscriptions(connection, 1);
  connection.send('error', 'Cannot send more than 2000 messages per minute.');
  await untilSo('the refusal', () => once.length === 1);
  assert.match(once[0], /^push of .* refuses: Cannot send more than 2000 messages per minute\.$/);
});

test('too many messages: what had no response is sent again a minute later', async (t) => {
  const fixture = await openPush(t);
  fixture.push.subscribe([MARKS, tradesOf('BTC')]);
  const connection = await fixture.connection(0);
  await subscriptions(connection, 2);
  connection.acknowledge(MARKS);
  connection.send('error', 'Cannot send more than 2000 messages per minute.');
  await untilSo('the refusal', () => fixture.log.length === 1);
  for (let seconds = 5; seconds <= 60; seconds += 5) {
    fixture.clock.advance(5_000);
    connection.send('trades', seconds);
    await untilTold(fixture, ['trades', seconds]);
    assert.equal(connection.subscribed.length, 2);
  }
  fixture.clock.advance(1_000);
  await subscriptions(connection, 3);
  assert.deepEqual(connection.subscribed, [MARKS, tradesOf('BTC'), tradesOf('BTC')]);
});

/** The words of the exchange, each about the second of three subscriptions. */
const ERRORS: readonly (readonly [string, string])[] = [
  ['an invalid one', 'Invalid subscription {"type":"trades","coin":"BTC"}'],
  [
    'a message that cannot be read',
    'Error parsing JSON into valid websocket request: ' +
      '{"method":"subscribe","subscription":{"type":"trades","coin":"BTC"}}',
  ],
  [
    'other fields',
    'Invalid subscription {"coin":"BTC","nSigFigs":null,"type":"trades","dex":null}',
  ],
];

for (const [name, text] of ERRORS) {
  test(`an error blames the subscription that it names, and no other: ${name}`, async (t) => {
    const fixture = await openPush(t);
    fixture.push.subscribe([MARKS, tradesOf('BTC'), tradesOf('ETH')]);
    const connection = await fixture.connection(0);
    await subscriptions(connection, 3);
    connection.send('error', text);
    await untilTold(fixture, ['refused', tradesOf('BTC'), text]);
    assert.deepEqual(fixture.push.leftOut, [
      { subscription: tradesOf('BTC'), reason: text, isProven: false },
    ]);
    connection.acknowledge(MARKS);
    connection.acknowledge(tradesOf('ETH'));
    await untilSo('confirmations', () => fixture.acknowledged.length === 2);
    assert.equal(fixture.connections.length, 1);
    assert.ok(fixture.push.isOpen);
  });
}

test('"already subscribed" confirms the subscription that it names', async (t) => {
  const fixture = await openPush(t);
  fixture.push.subscribe([MARKS, stateOf('0xa')]);
  const connection = await fixture.connection(0);
  await subscriptions(connection, 2);
  connection.send('error', `Already subscribed: ${JSON.stringify(stateOf('0xA'))}`);
  await untilSo('the confirmation', () => fixture.acknowledged.length === 1);
  assert.deepEqual(fixture.acknowledged, [stateOf('0xa')]);
  assert.deepEqual(fixture.log, []);
  assert.deepEqual(fixture.push.leftOut, []);
});

const OTHER_ERRORS = [
  'too many pending post requests id=1234',
  'Already unsubscribed: {"type":"trades","coin":"BTC"}',
  'Invalid subscription {"type":"trades","coin":"OTHER"}',
  'Invalid subscription {"type":"trades","coin":"btc"}',
  'Error parsing JSON into valid websocket request: {"method":"ping"}',
  'Error parsing JSON into valid websocket request: {"method":"subscribe","subscription":7}',
];

for (const text of OTHER_ERRORS) {
  test(`an error about something else blames no subscription: ${text}`, async (t) => {
    const fixture = await openPush(t);
    fixture.push.subscribe([tradesOf('BTC')]);
    const connection = await fixture.connection(0);
    await subscriptions(connection, 1);
    connection.send('error', text);
    await untilSo('the log', () => fixture.log.length === 1);
    connection.acknowledge(tradesOf('BTC'));
    await untilSo('the confirmation', () => fixture.acknowledged.length === 1);
    assert.deepEqual(fixture.events, ['opened']);
    assert.deepEqual(fixture.push.leftOut, []);
  });
}

test('a confirmation that a subscription has ended confirms none', async (t) => {
  const fixture = await openPush(t);
  fixture.push.subscribe([MARKS]);
  const connection = await fixture.connection(0);
  await subscriptions(connection, 1);
  connection.send('subscriptionResponse', { method: 'unsubscribe', subscription: MARKS });
  connection.send('error', 'Invalid subscription {"type":"none"}');
  await untilSo('the log', () => fixture.log.length === 1);
  assert.deepEqual(fixture.acknowledged, []);
});

test('a secret is hidden in full where a long error is cut', async (t) => {
  const fixture = await openPush(t);
  const connection = await fixture.connection(0);
  for (let length = 150; length <= 200; length++) {
    connection.send('error', `${'x'.repeat(length)}secret-key-123${'y'.repeat(100)}`);
  }
  await untilSo('the refusals', () => fixture.log.length === 10);
  connection.close(1000);
  await lostReason(fixture);
  const shown = JSON.stringify([fixture.log, fixture.events]);
  assert.ok(!shown.includes('sec'), shown);
});

test('a dropped connection is made again with the same subscriptions', async (t) => {
  const fixture = await openPush(t);
  fixture.push.subscribe([MARKS]);
  const connection = await fixture.connection(0);
  await subscriptions(connection, 1);
  await lose(fixture, connection);
  assert.equal(await lostReason(fixture), 'closed with 1006');
  assert.equal(fixture.push.isOpen, false);
  fixture.clock.advance(500);
  assert.deepEqual(await subscriptions(await fixture.connection(1), 1), [MARKS]);
  assert.deepEqual(fixture.events, ['opened', ['lost', 'closed with 1006'], 'opened']);
});

test('a connection that is closed every second is made ever more rarely', async (t) => {
  const fixture = await openPush(t);
  const { clock, connections, push } = fixture;
  for (const [index, delayMs] of [500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000].entries()) {
    const connection = await fixture.connection(index);
    clock.advance(1_000);
    connection.close(1001);
    await untilSo('the loss of the connection', () => !push.isOpen);
    clock.advance(delayMs - 1);
    assert.ok(clock.hasTimerIn(1));
    assert.equal(connections.length, index + 1);
    clock.advance(1);
  }
  // A minute of calm, and the next attempt is soon again.
  const calm = await fixture.connection(7);
  for (let seconds = 5; seconds <= 60; seconds += 5) {
    clock.advance(5_000);
    calm.send('allMids', seconds);
    await untilTold(fixture, ['allMids', seconds]);
  }
  await lose(fixture, calm);
  assert.ok(clock.hasTimerIn(500));
});

test('a silent connection is pinged, then dropped for a new one', async (t) => {
  const fixture = await openPush(t);
  const connection = await fixture.connection(0);
  fixture.clock.advance(15_000);
  await untilSo('two pings', () => connection.received.length === 2);
  assert.deepEqual(connection.received, [{ method: 'ping' }, { method: 'ping' }]);
  fixture.clock.advance(20_000);
  assert.equal(await lostReason(fixture), 'silent for 30200 ms');
  await untilSo('the end', () => connection.isClosed);
  fixture.clock.advance(500);
  await fixture.connection(1);
});

/** Lets 800 ms pass, in which a quiet connection is pinged once, and answers the ping. */
async function answerPing({ clock, log }: PushFixture, connection: ServedPush): Promise<void> {
  const [pings, lines] = [connection.received.length, log.length];
  clock.advance(800);
  await untilSo('the ping', () => connection.received.length === pings + 1);
  connection.send('pong', undefined);
  // In order: once this is logged, the pong has been read.
  connection.send('error', 'nothing');
  await untilSo('the pong', () => log.length === lines + 1);
}

test('an upstream that answers pings is silent as soon as it does not', async (t) => {
  const fixture = await openPush(t);
  const connection = await fixture.connection(0);
  for (let pings = 0; pings < 3; pings++) await answerPing(fixture, connection);
  fixture.clock.advance(600);
  assert.equal(fixture.push.isOpen, true);
  // Four times as long as the slowest answer of late, which took 600 ms and was not the last.
  fixture.clock.advance(2_000);
  assert.equal(await lostReason(fixture), 'silent for 2600 ms');
  fixture.clock.advance(500);
  const again = await fixture.connection(1);
  fixture.clock.advance(2_400);
  assert.equal(fixture.push.isOpen, true, 'a new one has as long');
  await untilSo('the ping', () => again.received.length === 1);
});

test('a connection that only answers pings is dropped once it should have brought something', async (t) => {
  const fixture = await openPush(t);
  fixture.push.subscribe([MARKS]);
  const connection = await fixture.connection(0);
  await subscriptions(connection, 1);
  connection.acknowledge(MARKS);
  for (let ms = 0; ms < 60_000; ms += 800) await answerPing(fixture, connection);
  fixture.clock.advance(800);
  assert.equal(await lostReason(fixture), 'nothing pushed for 60000 ms');
});

test('messages that are not JSON with a channel end the connection', async (t) => {
  const bad = [
    '{"channel":"trades","da',
    '[]',
    '{"data":1}',
    'null',
    Buffer.from('{"channel":"x"}'),
  ];
  const fixture = await openPush(t);
  for (const [index, message] of bad.entries()) {
    const connection = await fixture.connection(index);
    connection.sendRaw(message);
    await untilTold(fixture, ['lost', 'a message that is not JSON with a channel']);
    assert.equal(fixture.events.length, 2 * index + 2);
    fixture.clock.advance(500 * 2 ** index);
  }
});

test('errors and confirmations of a strange form end nothing', async (t) => {
  const fixture = await openPush(t);
  const strange = { toString: 1 };
  fixture.push.subscribe([MARKS]);
  const connection = await fixture.connection(0);
  await subscriptions(connection, 1);
  connection.send('subscriptionResponse', { subscription: { type: strange } });
  connection.send('error', strange);
  await untilTold(fixture, ['refused', MARKS, 'an object']);
  assert.ok(fixture.push.isOpen);
});

test('errors that answer nothing, again and again, end the connection', async (t) => {
  const fixture = await openPush(t);
  fixture.push.subscribe([MARKS]);
  const connection = await fixture.connection(0);
  await subscriptions(connection, 1);
  for (let index = 0; index < 1_000; index++) connection.send('error', `no ${index}`);
  const reason = 'more errors than messages were sent, the last one: no 11';
  assert.equal(await lostReason(fixture), reason);
  assert.equal(fixture.log.length, 12);
});

test('a message that is nested too deeply ends the connection', async (t) => {
  const fixture = await openPush(t);
  const connection = await fixture.connection(0);
  const levels = 200_000;
  const data = `${'['.repeat(levels)}${']'.repeat(levels)}`;
  connection.sendRaw(`{"channel":"clearinghouseState","data":${data}}`);
  await untilTold(fixture, ['lost', 'a message nested more than 64 levels deep']);
});

test('a message that whoever reads it cannot take ends the connection, not the process', async (t) => {
  const events: unknown[] = [];
  const handler = {
    opened: () => events.push('opened'),
    message: () => {
      throw new RangeError('Maximum call stack size exceeded');
    },
    acknowledged: () => undefined,
    refused: () => undefined,
    lost: (reason: string) => events.push(['lost', reason]),
  };
  const fixture = await openPush(t, { handler });
  const connection = await fixture.connection(0);
  connection.send('trades', []);
  await untilSo('the loss', () => events.length === 2);
  const reason = 'a message that could not be taken: Maximum call stack size exceeded';
  assert.deepEqual(events, ['opened', ['lost', reason]]);
});

test('a message over the size limit ends the connection', async (t) => {
  const fixture = await openPush(t);
  const connection = await fixture.connection(0);
  connection.sendRaw(JSON.stringify({ channel: 'x', data: 'y'.repeat(9 << 20) }));
  assert.match(String(await lostReason(fixture)), /^Max payload size exceeded$/);
  assert.deepEqual(fixture.events.length, 2);
});

test('repeated messages are handed on: what they mean is for the reader', async (t) => {
  const fixture = await openPush(t);
  const connection = await fixture.connection(0);
  for (let count = 0; count < 3; count++) connection.send('trades', [{ tid: 1 }]);
  await untilSo('three messages', () => fixture.events.length === 4);
});

test('a handshake that hangs is given up after ten seconds', async (t) => {
  let connections = 0;
  const silent = createServer(() => connections++);
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const address = readUpstreamAddress(new URL(`http://127.0.0.1:${port}`));
  const fixture = await openPush(t, { address });
  await untilSo('the connection', () => connections === 1);
  fixture.clock.advance(10_000);
  assert.equal(await lostReason(fixture), 'no handshake in 10000 ms');
  fixture.clock.advance(500);
  await untilSo('the next connection', () => connections === 2);
});

test('a handshake that is refused is tried again later', async (t) => {
  const server = await startServer(t, json(null));
  const address = readUpstreamAddress(new URL(server.base));
  const fixture = await openPush(t, { address });
  assert.match(
    String(await lostReason(fixture)),
    /^(Unexpected server response: \d+|socket hang up)$/,
  );
  assert.ok(fixture.clock.hasTimerIn(500));
});

test('an upstream without push is tried ever more rarely, and found when it is there', async (t) => {
  const server = await startServer(t, json(null));
  const address = readUpstreamAddress(new URL(server.base));
  await server.close();
  const fixture = await openPush(t, { address });
  assert.match(String(await lostReason(fixture)), /ECONNREFUSED/);
  const found = new WebSocketServer({ port: server.port, host: '127.0.0.1' });
  t.after(() => found.close());
  await new Promise<void>((resolve) => void found.once('listening', resolve));
  fixture.clock.advance(500);
  await untilSo('the connection', () => fixture.push.isOpen);
});

test('an upstream that refuses every handshake in the same way is one line of the log', async (t) => {
  const server = await startServer(t, json(null));
  const address = readUpstreamAddress(new URL(server.base));
  const fixture = await openPush(t, { address });
  for (let attempt = 1; attempt <= 5; attempt++) {
    const lost = () => fixture.events.length >= attempt;
    await untilSo('the loss', lost);
    fixture.clock.advance(500 * 2 ** (attempt - 1));
  }
  assert.equal(fixture.log.length, 1, fixture.log.join('\n'));
});

test('no log and no event shows the path of the address', async (t) => {
  const fixture = await openPush(t);
  const connection = await fixture.connection(0);
  connection.send('error', 'no such key: secret-key-123');
  await untilSo('the refusal', () => fixture.log.length === 1);
  connection.drop();
  await lostReason(fixture);
  const shown = JSON.stringify([fixture.log, fixture.events]);
  assert.ok(!shown.includes('secret'), shown);
  assert.match(shown, /no such key: \*\*\*/);
});

test('a key that an error repeats is taken out before the error is cut', async (t) => {
  const fixture = await openPush(t);
  const connection = await fixture.connection(0);
  connection.send('error', `${'x'.repeat(190)} secret-key-123`);
  await untilSo('the refusal', () => fixture.log.length === 1);
  assert.match(fixture.log[0], / x{190} \*\*\*$/);
});

test('closing leaves no connection and no timer', async (t) => {
  const fixture = await openPush(t);
  const connection = await fixture.connection(0);
  fixture.push.close();
  await untilSo('the end', () => connection.isClosed);
  assert.equal(fixture.clock.pendingTimers, 0);
  assert.deepEqual(fixture.events, ['opened']);
});

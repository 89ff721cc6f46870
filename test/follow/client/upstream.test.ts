/** The client of the upstream: answers, shared questions, waiting, and what is charged for them. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { WaitingKeys } from '../../../src/upstream/client/waiting-keys.ts';
import { HANG, json, plain, type Respond } from './scripted-server.ts';
import { failureOf, kindOf, openFixture, USER, untilSo } from './upstream-fixture.ts';

const ACCOUNT = { type: 'clearinghouseState', user: USER, dex: '' };
const ASKED = { priority: 'asked' } as const;
const SWEEP = { priority: 'sweep' } as const;

test('a question is posted to /info below the path, with the headers of the vendor', async (t) => {
  const { server, upstream } = await openFixture(t, json({ time: 1 }), {
    path: '/secret-key-123/',
    headers: { 'x-api-key': 'abc' },
  });
  assert.deepEqual(await upstream.ask(ACCOUNT, ASKED), { time: 1 });
  const [{ path, headers, body }] = server.seen;
  assert.equal(path, '/secret-key-123/info');
  assert.equal(body, JSON.stringify(ACCOUNT));
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['x-api-key'], 'abc');
});

test('an answer keeps its text, digit by digit', async (t) => {
  const body = '{"time": 1, "px": 1.10, "big": 123456789012345678901234567890}';
  const respond: Respond = (response) => {
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
    response.end(body);
  };
  const { upstream } = await openFixture(t, respond, { forwardShare: 0.25 });
  for (const priority of ['asked', 'forward'] as const) {
    const answer = await upstream.askBytes(ACCOUNT, { priority });
    assert.deepEqual([answer.text, answer.bytes.toString(), answer.rows], [body, body, undefined]);
  }
});

test('a key that a refusal repeats is taken out before the refusal is cut', async (t) => {
  const path = '/secret-key-123';
  const before = 'x'.repeat(190);
  const refusal = `${before} secret-key-123`;
  const { server, upstream } = await openFixture(t, plain(404, refusal), { path });
  const { message } = await failureOf(upstream.ask(ACCOUNT, ASKED));
  assert.equal(message, `status 404: ${before} ***`);
  server.respond = (response) => {
    response.writeHead(200, { 'content-type': refusal });
    response.end('{}');
  };
  const odd = await failureOf(upstream.ask(ACCOUNT, ASKED));
  assert.equal(odd.message, `Content-Type: got "${before} ***", expected application/json`);
});

test('null is an answer', async (t) => {
  const { upstream } = await openFixture(t, json(null));
  assert.equal(await upstream.ask({ type: 'perpDeployAuctionStatus' }, ASKED), null);
});

test('identical questions in flight are one; the next is a new one', async (t) => {
  const { server, upstream } = await openFixture(t, HANG);
  let count = 0;
  server.respond = (response, seen) => {
    const answer = json({ count: ++count });
    setImmediate(() => answer(response, seen));
  };
  const [first, second, other] = await Promise.all([
    upstream.ask(ACCOUNT, ASKED),
    upstream.ask({ ...ACCOUNT }, SWEEP),
    upstream.ask({ ...ACCOUNT, dex: 'xyz' }, ASKED),
  ]);
  assert.equal(first, second);
  assert.notDeepEqual(first, other);
  assert.equal(server.seen.length, 2);
  await upstream.ask(ACCOUNT, ASKED);
  assert.equal(server.seen.length, 3);
  assert.equal(upstream.budget.left, 1200 - 6);
});

test('a client that asks for what waits in the sweep moves it to the front', async (t) => {
  const { server, upstream } = await openFixture(t, HANG, { connections: 1 });
  const held: ServerResponse[] = [];
  server.respond = (response) => held.push(response);
  const first = upstream.ask({ type: 'meta' }, { priority: 'upkeep' });
  await untilSo('the first request', () => held.length === 1);
  server.respond = json({ time: 1 });
  const others = [
    upstream.ask({ ...ACCOUNT, dex: 'xyz' }, { priority: 'trade' }),
    upstream.ask(ACCOUNT, SWEEP),
    upstream.ask(ACCOUNT, ASKED),
  ];
  json([])(held[0], server.seen[0]);
  await Promise.all([first, ...others]);
  const bodies = server.seen.map(({ body }) => JSON.parse(body));
  assert.deepEqual(bodies, [{ type: 'meta' }, ACCOUNT, { ...ACCOUNT, dex: 'xyz' }]);
});

test('an answer costs what its items cost; until it is there, the most that they could', async (t) => {
  const { upstream, server } = await openFixture(t, HANG, { forwardShare: 0.5 });
  const held: ServerResponse[] = [];
  server.respond = (response) => held.push(response);
  const asked = upstream.ask({ type: 'userFills', user: USER }, { priority: 'forward' });
  await untilSo('the request', () => held.length === 1);
  assert.equal(upstream.budget.left, 1200 - 120);
  json(Array.from({ length: 45 }, (_, tid) => ({ tid })))(held[0], server.seen[0]);
  await asked;
  assert.equal(upstream.budget.left, 1200 - 23);
});

test('whoever stops waiting leaves the others their answer', async (t) => {
  const { upstream, server } = await openFixture(t, HANG);
  const held: ServerResponse[] = [];
  server.respond = (response) => held.push(response);
  const stop = new AbortController();
  const stopped = upstream.ask(ACCOUNT, { ...ASKED, signal: stop.signal });
  const other = upstream.ask(ACCOUNT, ASKED);
  await untilSo('the request', () => held.length === 1);
  stop.abort(new Error('the client has left'));
  await assert.rejects(stopped, { message: 'the client has left' });
  json({ time: 1 })(held[0], server.seen[0]);
  assert.deepEqual(await other, { time: 1 });
});

test('a question that nobody waits for any more is not sent', async (t) => {
  const { upstream, server } = await openFixture(t, json({}));
  upstream.budget.hold();
  const stop = new AbortController();
  const stopped = upstream.ask(ACCOUNT, { ...ASKED, signal: stop.signal });
  stop.abort(new Error('the client has left'));
  await assert.rejects(stopped, { message: 'the client has left' });
  upstream.budget.release();
  await upstream.ask({ type: 'meta' }, ASKED);
  assert.deepEqual(
    server.seen.map(({ body }) => body),
    ['{"type":"meta"}'],
  );
});

test('no listener stays on a signal, and no timer is left', async (t) => {
  const { upstream, clock } = await openFixture(t, json({}));
  const { signal } = new AbortController();
  for (let count = 0; count < 20; count++) {
    await upstream.ask(ACCOUNT, { ...ASKED, signal, waitMsMax: 5_000 });
  }
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  assert.equal(clock.pendingTimers, 0);
});

test('a client is told at once that the budget is spent, and for how long', async (t) => {
  const { upstream, server } = await openFixture(t, json({}), { budget: 40 });
  await upstream.ask({ type: 'meta' }, { priority: 'upkeep' });
  await upstream.ask({ type: 'perpDexs' }, { priority: 'upkeep' });
  const failure = await failureOf(upstream.ask(ACCOUNT, { ...ASKED, waitMsMax: 5_000 }));
  assert.equal(failure.kind, 'busy');
  assert.equal(failure.message, 'the budget of 40 a minute is spent');
  assert.ok(Number(failure.retryAfterMs) > 60_000 && Number(failure.retryAfterMs) < 61_000);
  assert.equal(server.seen.length, 2);
});

test('a client waits no longer than it wants to be sent', async (t) => {
  const { upstream, clock, server } = await openFixture(t, HANG, { connections: 1 });
  const first = kindOf(upstream.ask({ type: 'meta' }, { priority: 'upkeep' }));
  const asked = kindOf(upstream.ask(ACCOUNT, { ...ASKED, waitMsMax: 5_000 }));
  await untilSo('the first request', () => server.seen.length === 1);
  clock.advance(5_000);
  assert.equal(await asked, 'busy');
  clock.advance(5_000);
  assert.equal(await first, 'timeout');
});

test('joining a question that is in flight needs no budget', async (t) => {
  const { upstream, server } = await openFixture(t, HANG, { budget: 2 });
  const held: ServerResponse[] = [];
  server.respond = (response) => held.push(response);
  const first = upstream.ask(ACCOUNT, SWEEP);
  await untilSo('the request', () => held.length === 1);
  const second = upstream.ask(ACCOUNT, { ...ASKED, waitMsMax: 0 });
  json({ time: 1 })(held[0], server.seen[0]);
  assert.deepEqual(await Promise.all([first, second]), [{ time: 1 }, { time: 1 }]);
});

test('closing ends what waits and what is in flight, and refuses what comes', async (t) => {
  const { upstream, server, clock } = await openFixture(t, HANG, { connections: 1 });
  const asked = kindOf(upstream.ask(ACCOUNT, { ...ASKED, waitMsMax: 5_000 }));
  await untilSo('the request', () => server.seen.length === 1);
  const waiting = kindOf(upstream.ask({ type: 'meta' }, { priority: 'upkeep' }));
  await upstream.close();
  const late = kindOf(upstream.ask(ACCOUNT, ASKED));
  assert.deepEqual(await Promise.all([asked, waiting, late]), ['closed', 'closed', 'closed']);
  assert.equal(clock.pendingTimers, 0);
});

test('what takes several questions was sent if one of them was', async (t) => {
  const { upstream, server } = await openFixture(t, json([]), { forwardShare: 0.25, budget: 80 });
  const waitingKeys = new WaitingKeys('a key');
  // The part for forwarded questions is 20.
  const ask = (type: string) => upstream.askBytes({ type }, { priority: 'forward', waitingKeys });
  assert.equal(await kindOf(ask('userRole')), 'busy');
  assert.equal(waitingKeys.isSent, false);
  await ask('spotMeta');
  assert.equal(waitingKeys.isSent, true);
  assert.equal(await kindOf(ask('userRole')), 'busy');
  assert.equal(waitingKeys.isSent, true);
  const unreachable = new WaitingKeys('a key');
  await server.close();
  assert.equal(
    await kindOf(upstream.ask(ACCOUNT, { priority: 'asked', waitingKeys: unreachable })),
    'network',
  );
  assert.equal(unreachable.isSent, false);
});

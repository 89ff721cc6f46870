/** Everything that an upstream can do wrong: each has its own error, and all of them are charged. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { readUpstreamAddress } from '../../../src/upstream/client/upstream-address.ts';
import type { UpstreamErrorKind } from '../../../src/upstream/client/upstream-error.ts';
import { HANG, json, plain, RESET, type Respond, startServer } from './scripted-server.ts';
import {
  failureOf,
  kindOf,
  openFixture,
  type UpstreamFixture,
  USER,
  untilSo,
} from './upstream-fixture.ts';

const ACCOUNT = { type: 'clearinghouseState', user: USER };
const ASKED = { priority: 'asked' } as const;

function raw(headers: Record<string, string>, body: Buffer | string): Respond {
  return (response) => {
    response.writeHead(200, headers);
    response.end(body);
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** What is answered, and the error that follows from it. */
const ANSWERED: readonly (readonly [string, Respond, UpstreamErrorKind, RegExp])[] = [
  ['a 429 with null', json(null, 429), 'rate_limited', /^status 429: null$/],
  ['a 500 with null', json(null, 500), 'server', /^status 500: null$/],
  [
    'a 422 with text',
    plain(422, 'Failed to deserialize the JSON body into the target type'),
    'refused',
    /^status 422: Failed to deserialize the JSON body into the target type$/,
  ],
  [
    'a 400 with text',
    plain(400, 'bad\n\u0007JSON'.replace('\\n', '\n')),
    'refused',
    /^status 400: bad JSON$/,
  ],
  ['a 404 without a body', plain(404, ''), 'refused', /^status 404$/],
  ['a redirect', plain(302, ''), 'refused', /^status 302$/],
  ['JSON that is cut off', raw(JSON_TYPE, '{"time": 1, "assetPos'), 'malformed', /is not JSON$/],
  [
    'JSON that is nested too deeply',
    raw(JSON_TYPE, `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`),
    'malformed',
    /^the response of 400006 bytes is nested more than 64 levels deep$/,
  ],
  ['an empty body', raw(JSON_TYPE, ''), 'malformed', /^the response of 0 bytes is not JSON$/],
  [
    'a page',
    raw({ 'content-type': 'text/html' }, '<p>'),
    'malformed',
    /^Content-Type: got "text\/html"/,
  ],
  ['no type', raw({}, '{}'), 'malformed', /^Content-Type: got "", expected application\/json$/],
  [
    'bytes that are no text',
    raw(JSON_TYPE, Buffer.from([0x22, 0xff, 0x22])),
    'malformed',
    /not JSON$/,
  ],
  [
    'a packed body',
    raw({ ...JSON_TYPE, 'content-encoding': 'gzip' }, 'x'),
    'malformed',
    /^Content-Encoding: got "gzip", asked for none$/,
  ],
];

for (const [what, respond, kind, message] of ANSWERED) {
  test(`${what}: ${kind}`, async (t) => {
    const { upstream, server } = await openFixture(t, respond);
    const failure = await failureOf(upstream.ask(ACCOUNT, ASKED));
    assert.equal(failure.kind, kind);
    assert.match(failure.message, message);
    assert.equal(server.seen.length, 1);
    assert.equal(upstream.budget.left, 1200 * upstream.budget.factor - 2);
    assert.equal(upstream.health.isHealthy, true);
  });
}

test('the text of a refusal is shown on one line, shortened, without the key', async (t) => {
  const text = `no access\r\nfor /secret-key-123/info ${'x'.repeat(10_000)}`;
  const { upstream } = await openFixture(t, plain(403, text), { path: '/secret-key-123' });
  const { message } = await failureOf(upstream.ask(ACCOUNT, ASKED));
  assert.match(message, /^status 403: no access for \/\*\*\*\/info x{50,200}$/);
});

test('the message and the field of a refusal in our own form hide the key as well', async (t) => {
  const refusal = {
    error: 'invalid_field',
    message: 'user: of secret-key-123',
    field: 'secretKey',
  };
  const { upstream } = await openFixture(t, json(refusal, 422), {
    path: '/secretKey/secret-key-123',
  });
  const failure = await failureOf(upstream.ask(ACCOUNT, ASKED));
  assert.deepEqual(failure.refusal, { code: 'invalid_field', message: 'user: of ***' });
  assert.doesNotMatch(failure.message, /secret/);
});

test('the value of the header is hidden too, with its scheme and without', async (t) => {
  const header = 'Bearer header-secret-456';
  const text = 'no such key: header-secret-456, got Bearer header-secret-456';
  const server = await startServer(t, plain(403, text));
  const address = readUpstreamAddress(new URL(server.base), header);
  const { upstream } = await openFixture(t, plain(403, text), { address });
  const { message } = await failureOf(upstream.ask(ACCOUNT, ASKED));
  assert.equal(message, 'status 403: no such key: ***, got *** ***');
});

test('no error says more of the address than its origin', async (t) => {
  const { upstream, server, clock, log } = await openFixture(t, RESET, { path: '/secret-key-123' });
  const messages = [(await failureOf(upstream.ask(ACCOUNT, ASKED))).message];
  await server.close();
  const unreachable = await failureOf(upstream.ask(ACCOUNT, ASKED));
  assert.equal(unreachable.isSent, false);
  messages.push(unreachable.message);
  await untilSo('the breaker', () => log.length === 1);
  clock.advance(200);
  const texts = [...messages, ...log].join('\n');
  assert.ok(!texts.includes('secret'), texts);
  assert.match(texts, /ECONNREFUSED/);
});

test('a body over the limit is not read to its end', async (t) => {
  let sent = 0;
  let isClosed = false;
  const endless: Respond = (response) => {
    response.writeHead(200, JSON_TYPE);
    const chunk = Buffer.alloc(65_536, 0x20);
    const write = () => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
    };
    response.on('drain', write);
    response.on('close', () => {
      isClosed = true;
    });
    write();
  };
  const { upstream } = await openFixture(t, endless, { bodyBytesMax: 1 << 20 });
  const failure = await failureOf(upstream.ask(ACCOUNT, ASKED));
  assert.equal(failure.kind, 'malformed');
  assert.equal(failure.message, 'the response is over 1048576 bytes');
  await untilSo('the end of the connection', () => isClosed);
  assert.ok(sent < 64 << 20, String(sent));
});

test('a hanging upstream: timeout at the deadline, and the request counts until it answers', async (t) => {
  const { upstream, clock, server } = await openFixture(t, HANG);
  const failure = failureOf(upstream.ask(ACCOUNT, ASKED));
  await untilSo('the request', () => server.seen.length === 1);
  clock.advance(10_000);
  assert.equal((await failure).kind, 'timeout');
  assert.equal((await failure).message, 'no response within 10000 ms');
  clock.advance(120_000);
  assert.equal(upstream.budget.left, 1198);
  server.respond = json({});
  await upstream.ask(ACCOUNT, ASKED);
  clock.advance(61_000);
  assert.equal(upstream.budget.left, 1200);
});

test('a body that drips: timeout at the same deadline', async (t) => {
  const { upstream, clock, server } = await openFixture(t, HANG);
  const held: ServerResponse[] = [];
  server.respond = (response) => {
    response.writeHead(200, JSON_TYPE);
    response.write('{"a":');
    held.push(response);
  };
  const failure = kindOf(upstream.ask(ACCOUNT, ASKED));
  for (let second = 1; second <= 10; second++) {
    await untilSo('the response', () => held.length === 1);
    held[0].write('1');
    clock.advance(1_000);
  }
  assert.equal(await failure, 'timeout');
});

test('slow is not wrong', async (t) => {
  const { upstream, clock, server } = await openFixture(t, HANG);
  const held: ServerResponse[] = [];
  server.respond = (response) => held.push(response);
  const asked = upstream.ask(ACCOUNT, ASKED);
  await untilSo('the request', () => held.length === 1);
  clock.advance(9_999);
  json({ time: 1 })(held[0], server.seen[0]);
  assert.deepEqual(await asked, { time: 1 });
});

test('a connection that is reset once costs a second attempt, which is charged', async (t) => {
  const { upstream, server } = await openFixture(t, RESET);
  server.respond = (response, seen) => {
    server.respond = json({ time: 1 });
    RESET(response, seen);
  };
  assert.deepEqual(await upstream.ask(ACCOUNT, ASKED), { time: 1 });
  assert.equal(server.seen.length, 2);
  assert.equal(upstream.budget.left, 1200 - 4);
});

test('a connection that is reset again is a network error', async (t) => {
  const { upstream, server } = await openFixture(t, RESET);
  assert.equal(await kindOf(upstream.ask(ACCOUNT, ASKED)), 'network');
  assert.equal(server.seen.length, 2);
  assert.equal(upstream.budget.left, 1200 - 4);
});

test('a body that ends too early is a network error', async (t) => {
  const { upstream } = await openFixture(t, (response) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': '100' });
    response.write('{"time":1}', () => response.socket?.destroy());
  });
  assert.equal(await kindOf(upstream.ask(ACCOUNT, ASKED)), 'network');
});

test('a response that is no HTTP is a network error', async (t) => {
  const { upstream } = await openFixture(t, (response) => {
    response.socket?.end('220 mail.example ready\r\n');
  });
  assert.equal(await kindOf(upstream.ask(ACCOUNT, ASKED)), 'network');
});

test('an upstream that is not there costs no budget', async (t) => {
  const { upstream, server } = await openFixture(t, json({}));
  await server.close();
  assert.equal(await kindOf(upstream.ask(ACCOUNT, ASKED)), 'network');
  assert.equal(upstream.budget.left, 1200);
});

test('after a 429 the next questions wait', async (t) => {
  const { upstream, server, clock, log } = await openFixture(t, json(null, 429));
  assert.equal(await kindOf(upstream.ask(ACCOUNT, ASKED)), 'rate_limited');
  server.respond = json({});
  const failure = await failureOf(upstream.ask(ACCOUNT, { ...ASKED, waitMsMax: 500 }));
  assert.deepEqual([failure.kind, failure.retryAfterMs], ['busy', 1_000]);
  const asked = upstream.ask(ACCOUNT, ASKED);
  clock.advance(1_000);
  await asked;
  assert.equal(server.seen.length, 2);
  assert.deepEqual(log, [
    `warn upstream ${server.base} answers 429: asked at 50% of the budget for now`,
  ]);
  assert.match(String(upstream.health.reason), /^status 429: asked at 50% of the budget$/);
});

/** The delay before the first probe; the fixture's jitter is none. */
const FIRST_PROBE_MS = 200;
const PROBE_MS_MAX = 1_000;

/** Asks until the upstream is only probed. */
async function askUntilProbed({ upstream, clock }: UpstreamFixture): Promise<void> {
  while (!clock.hasTimerIn(FIRST_PROBE_MS)) await failureOf(upstream.ask(ACCOUNT, ASKED));
}

test('an upstream that fails three times is only probed, more and more rarely', async (t) => {
  const fixture = await openFixture(t, plain(503, 'starting'));
  const { upstream, server, clock, log } = fixture;
  await askUntilProbed(fixture);
  assert.deepEqual(upstream.health, { isHealthy: false, reason: 'status 503' });
  assert.equal(server.seen.length, 3);
  const background = upstream.ask(ACCOUNT, { priority: 'sweep' });
  const delays = [200, 400, 800, PROBE_MS_MAX, PROBE_MS_MAX];
  for (const [index, delayMs] of delays.entries()) {
    await untilSo(`a probe in ${delayMs} ms`, () => clock.hasTimerIn(delayMs));
    assert.equal(server.seen.length, 3 + index);
    clock.advance(delayMs);
    await untilSo('the probe', () => server.seen.length === 4 + index);
  }
  assert.match(server.seen[3].body, /^{"type":"clearinghouseState","user":"0x0{40}"}$/);
  server.respond = json({ time: 1 });
  await untilSo('the next probe', () => clock.hasTimerIn(PROBE_MS_MAX));
  clock.advance(PROBE_MS_MAX);
  assert.deepEqual(await background, { time: 1 });
  assert.deepEqual(upstream.health, { isHealthy: true });
  assert.deepEqual(log, [
    `warn upstream ${server.base} does not answer (status 503): only probed until it does`,
    `info upstream ${server.base} answers again`,
  ]);
});

test('clients are refused at once while it is down, and answered when it is back', async (t) => {
  const fixture = await openFixture(t, RESET);
  const { upstream, server, clock } = fixture;
  await askUntilProbed(fixture);
  const seen = server.seen.length;
  // Until the first probe has failed, they wait: it may have been a moment.
  const asked = kindOf(upstream.ask(ACCOUNT, ASKED));
  clock.advance(FIRST_PROBE_MS);
  assert.equal(await asked, 'down');
  const { kind, message } = await failureOf(upstream.ask(ACCOUNT, ASKED));
  assert.equal(kind, 'down');
  assert.match(
    message,
    /^not asked, since it failed before \(.+\): it is tried again at most 1000 ms after each failure, until it answers$/,
  );
  assert.equal(server.seen.length, seen + 1);
  server.respond = json({ time: 1 });
  await untilSo('the next probe', () => clock.hasTimerIn(2 * FIRST_PROBE_MS));
  clock.advance(2 * FIRST_PROBE_MS);
  await untilSo('the answer to the probe', () => upstream.health.isHealthy);
  assert.deepEqual(await upstream.ask(ACCOUNT, ASKED), { time: 1 });
});

test('an upstream that is gone for an hour is found again', async (t) => {
  const fixture = await openFixture(t, json({ time: 1 }));
  const { upstream, server, clock } = fixture;
  await upstream.ask(ACCOUNT, ASKED);
  await server.close();
  await askUntilProbed(fixture);
  const background = upstream.ask(ACCOUNT, { priority: 'sweep' });
  let delayMs = FIRST_PROBE_MS;
  for (let goneMs = 0; goneMs < 3_600_000; goneMs += delayMs) {
    await untilSo('the next probe', () => clock.hasTimerIn(delayMs));
    clock.advance(delayMs);
    delayMs = Math.min(2 * delayMs, PROBE_MS_MAX);
  }
  await untilSo('the next probe', () => clock.hasTimerIn(PROBE_MS_MAX));
  const again = await startServer(t, json({ time: 2 }), server.port);
  clock.advance(PROBE_MS_MAX);
  assert.deepEqual(await background, { time: 2 });
  assert.equal(again.seen.length, 2);
});

test('a single failure, or a server error, does not stop anything', async (t) => {
  const { upstream, server } = await openFixture(t, json(null, 500));
  for (let count = 0; count < 5; count++) {
    assert.equal(await kindOf(upstream.ask(ACCOUNT, ASKED)), 'server');
  }
  assert.equal(server.seen.length, 5);
  assert.deepEqual(upstream.health, { isHealthy: true });
});

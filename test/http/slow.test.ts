/** Clients that are slow, silent or too many are cut off, while an ordinary one is served throughout. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type RawClient } from '../../tools/harness/raw-client.ts';
import {
  formatQuestion,
  QUESTION,
  readRssMib,
  type Service,
  startService,
} from '../../tools/harness/service.ts';
import { ALSO_LONG, LONG_ONLY, scale, shareOut } from '../scale.ts';

const HEADER_TIMEOUT_MS = 1000;
const REQUEST_TIMEOUT_MS = 2000;
const LIMITS = { headerTimeout: HEADER_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS };
const FLAGS = [
  ...['--idle-timeout', '1000', '--min-height-wait', '0'],
  // How long an ordinary client waits is measured here, whatever else the machine has to do.
  ...['--overload-delay', '60000'],
];
/** A limit is looked at now and then, and the machine may be busy. */
const CUT_OFF_MS_MAX = REQUEST_TIMEOUT_MS + 4000;
const DRIP_MS = 200;
const ANSWER_MS_MAX = 2000;

/** Sends the bytes one by one, for as long as the connection lasts. */
async function drip(client: RawClient, bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    if (client.socket.destroyed) return;
    client.send(Buffer.of(byte));
    await sleep(DRIP_MS);
  }
}

/** Whoever sent part of a request is told why the connection ends. */
async function untilTimedOut(client: RawClient): Promise<void> {
  const response = await client.response();
  assert.equal(response.status, 408);
  const { error, message } = JSON.parse(response.body);
  assert.equal(error, 'request_timeout');
  const expected = 'expected the headers within 1000 ms, all within 2000 ms';
  assert.equal(message, `request: incomplete, ${expected}`);
  assert.equal(response.headers.get('access-control-allow-origin'), '*');
  await client.closed;
  assert.equal(client.left, '');
}

const SLOW_CLIENTS: Record<string, (client: RawClient, question: Buffer) => Promise<void>> = {
  async 'headers that come byte by byte'(client, question) {
    const dripping = drip(client, question);
    await untilTimedOut(client);
    await dripping;
  },
  async 'headers that are never finished'(client, question) {
    client.send(question.subarray(0, 50));
    await untilTimedOut(client);
  },
  async 'a body that comes byte by byte'(client, question) {
    client.send(question.subarray(0, -20));
    const dripping = drip(client, question.subarray(-20));
    await untilTimedOut(client);
    await dripping;
  },
  async 'a body that is never finished'(client, question) {
    client.send(question.subarray(0, -1));
    await untilTimedOut(client);
  },
  async 'a body that is never finished, of a request that was refused'(client, question) {
    client.send(
      question
        .subarray(0, -1)
        .toString()
        .replace(/\/[^/]+/, '/nobody'),
    );
    assert.equal((await client.response()).status, 401);
    await client.closed;
    assert.equal(client.left, '');
  },
  async 'a second request that is never finished'(client, question) {
    client.send(Buffer.concat([question, question.subarray(0, 50)]));
    assert.equal((await client.response()).status, 200);
    await untilTimedOut(client);
  },
  async 'a connection on which nothing is sent'(client) {
    await client.closed;
    assert.equal(client.left, '');
  },
  async 'a connection on which nothing more is sent'(client, question) {
    client.send(question);
    assert.equal((await client.response()).status, 200);
    await client.closed;
    assert.equal(client.left, '');
  },
};

/** Asks over and over, on one connection and on new ones, until told to stop. */
async function askThroughout({ port, key }: Service, isOver: () => boolean): Promise<number> {
  const question = formatQuestion(key);
  const kept = await connect(port);
  let count = 0;
  for (; !isOver(); count++) {
    const fresh = await connect(port);
    for (const client of [kept, fresh]) {
      const startedMs = performance.now();
      client.send(question);
      assert.equal((await client.response()).status, 200);
      assert.ok(performance.now() - startedMs < ANSWER_MS_MAX, 'an ordinary client has to wait');
    }
    fresh.close();
    await sleep(50);
  }
  kept.close();
  return count;
}

/** Fails where it takes longer than the limits allow. */
async function isWithin(work: Promise<void>, name: string): Promise<void> {
  const startedMs = performance.now();
  await work;
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < CUT_OFF_MS_MAX, `${name}: cut off after ${tookMs} ms`);
}

async function untilClosed(clients: readonly RawClient[]): Promise<void> {
  for (const { closed } of clients) await closed;
}

/** All of the slow clients at once, beside an ordinary one. */
async function checkSlowClients(service: Service): Promise<void> {
  const question = formatQuestion(service.key);
  let isOver = false;
  const asking = askThroughout(service, () => isOver);
  const work = Object.entries(SLOW_CLIENTS).map(async ([name, act]) => {
    const client = await connect(service.port);
    await isWithin(act(client, question), name);
  });
  try {
    await Promise.all(work);
  } finally {
    isOver = true;
  }
  assert.ok((await asking) > 10);
}

/** Asks and asks but never reads, until it is cut off. */
async function checkNeverReading({ port, key }: Service): Promise<void> {
  const client = await connect(port);
  client.socket.pause();
  // Long answers, so that all buffers in between are soon full.
  const question = formatQuestion(key, { body: '{"type":"metaAndAssetCtxs"}' });
  const many = Buffer.concat(Array.from({ length: 2000 }, () => question));
  // At some point nobody takes any more: the service has stopped reading, and waits for us.
  while (!client.socket.destroyed) {
    if (client.socket.writableLength === 0) client.send(many);
    await sleep(100);
  }
}

const LANES = [
  ['fast lane', []],
  ["Node's server", ['--no-fast-lane']],
] as const;

for (const [lane, flags] of shareOut(LANES, 0)) {
  test(`slow, silent and unreading clients are cut off, others are served throughout (${lane})`, {
    ...ALSO_LONG,
    timeout: 60_000,
  }, async (t) => {
    const service = await startService(t, [...FLAGS, ...flags], LIMITS);
    await Promise.all([checkSlowClients(service), checkNeverReading(service)]);
  });
}

const IDLE_COUNT = scale(500, 500, 2000);

test(
  'idle connections, however many, are closed, others are served throughout',
  LONG_ONLY,
  async (t) => {
    const service = await startService(t, FLAGS, LIMITS);
    let isOver = false;
    const asking = askThroughout(service, () => isOver);
    const idle: RawClient[] = [];
    while (idle.length < IDLE_COUNT) {
      const batch = Array.from({ length: 100 }, () => connect(service.port));
      idle.push(...(await Promise.all(batch)));
    }
    await isWithin(untilClosed(idle), 'idle');
    isOver = true;
    assert.ok((await asking) > 5);
  },
);

const CONNECTIONS_MAX = 20;

for (const workers of [1, 2]) {
  test(`connections over the limit are closed at once, with ${workers} at work`, async (t) => {
    const limit = ['--connections-max', String(CONNECTIONS_MAX), '--workers', String(workers)];
    await checkConnectionsMax(await startService(t, [...FLAGS, ...limit], LIMITS), workers);
  });
}

/** The limit holds per worker, and there is room again once the silent connections are cut off. */
async function checkConnectionsMax(service: Service, workers: number): Promise<void> {
  const question = formatQuestion(service.key);
  const ordinary = await connect(service.port);
  const clients = await Promise.all(Array.from({ length: 60 }, () => connect(service.port)));
  // With the ordinary one; connections are not spread evenly over workers.
  const countOpen = () => 1 + clients.filter(({ socket }) => !socket.destroyed).length;
  const deadlineMs = performance.now() + 5000;
  while (countOpen() > workers * CONNECTIONS_MAX && performance.now() < deadlineMs) await sleep(10);
  assert.ok(countOpen() <= workers * CONNECTIONS_MAX, `${countOpen()} are open`);
  assert.ok(countOpen() >= CONNECTIONS_MAX, `${countOpen()} are open`);
  ordinary.send(question);
  assert.equal((await ordinary.response()).status, 200);
  await isWithin(untilClosed([ordinary, ...clients]), 'over the limit');
  const later = await connect(service.port);
  later.send(question);
  assert.equal((await later.response()).status, 200);
  later.close();
}

const CHUNK_COUNT = 30_000;
const HALF_SENT_COUNT = 20;

test(
  'bodies that are half sent in tiny chunks hold little more than their bytes',
  LONG_ONLY,
  async (t) => {
    const service = await startService(t, ['--overload-delay', '60000']);
    const headers = { 'Transfer-Encoding': 'chunked', 'Content-Length': undefined };
    const body = '1\r\n \r\n'.repeat(CHUNK_COUNT);
    const halfSent = formatQuestion(service.key, { headers, body });
    const before = readRssMib(service.program);
    const clients = await Promise.all(
      Array.from({ length: HALF_SENT_COUNT }, () => connect(service.port)),
    );
    for (const client of clients) client.send(halfSent);
    await untilTaken(clients);
    const grown = readRssMib(service.program) - before;
    t.diagnostic(`${grown.toFixed(1)} MiB for ${HALF_SENT_COUNT} bodies of ${CHUNK_COUNT} bytes`);
    assert.ok(grown < 64, `${grown.toFixed(1)} MiB`);
    for (const client of clients)
      client.send(`${QUESTION.length.toString(16)}\r\n${QUESTION}\r\n0\r\n\r\n`);
    for (const client of clients) {
      assert.equal((await client.response()).status, 200);
      client.close();
    }
  },
);

/** Waits until the kernel has taken all that was sent, and the service has had time to read it. */
async function untilTaken(clients: readonly RawClient[]): Promise<void> {
  while (clients.some(({ socket }) => socket.writableLength > 0)) await sleep(10);
  await sleep(1000);
}

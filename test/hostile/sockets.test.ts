/**
 * Connections that are used as no honest client would, one way at a time, with and without the fast
 * lane. Each of these once stopped the service, held it up, or held on to its memory.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAIN } from '../../tools/harness/paths.ts';
import { Program } from '../../tools/harness/program.ts';
import {
  connect,
  exchange,
  type RawClient,
  type RawResponse,
} from '../../tools/harness/raw-client.ts';
import {
  ask,
  formatQuestion,
  formatRequest,
  prepareData,
  readRssMib,
  type Service,
  startService,
} from '../../tools/harness/service.ts';
import { ALSO_LONG, LONG_ONLY, scale, shareOut } from '../scale.ts';

type Lane = readonly [name: string, flags: readonly string[]];
const LANES: readonly Lane[] = [
  ['fast lane', []],
  ['plain lane', ['--no-fast-lane']],
];
/** So that a client that does not read is given up soon. */
const SHORT_LIMITS = { headerTimeout: 1000, requestTimeout: 1000 };
const SHORT = [
  ...['--idle-timeout', '1000'],
  ...['--min-height-wait', '100', '--follow-wait', '100'],
];
const H2C = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABk' };
const CONNECT = 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n';
/** After which a connection speaks another protocol. */
const LAST_REQUESTS = [
  ['a tunnel', CONNECT],
  ['an offer', formatRequest({ method: 'GET', path: '/health', headers: H2C })],
] as const;

/** As many as are read in one go, and more bytes of responses than sockets hold. */
const ASSETS = 60;

function repeat(bytes: Buffer, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => bytes));
}

/** A client that asks for a lot, for which it needs no key, reads none of it, and then says this. */
async function connectUnread({ port }: Service, last: string | Buffer): Promise<RawClient> {
  const page = await exchange(port, formatRequest({ method: 'GET', path: '/' }));
  const [path] = /\/assets\/[^"]+\.js/.exec(page.body) ?? [''];
  const client = await connect(port);
  client.socket.pause();
  const asset = formatRequest({ method: 'GET', path });
  client.send(Buffer.concat([repeat(asset, ASSETS), Buffer.from(last)]));
  await sleep(200);
  return client;
}

async function isAnswered(service: Service): Promise<void> {
  assert.equal((await ask(service)).status, 200);
}

for (const [lane, flags] of LANES) {
  test(
    `offers of another protocol, without end, keep nobody waiting (${lane})`,
    LONG_ONLY,
    async (t) => {
      await checkManyOffers(await startService(t, flags));
    },
  );

  for (const [about, last] of LAST_REQUESTS) {
    test(
      `unread responses before ${about} do not keep a connection (${lane})`,
      LONG_ONLY,
      async (t) => {
        const service = await startService(t, [...flags, ...SHORT], SHORT_LIMITS);
        const client = await connectUnread(service, last);
        // Only a write shows who is still there, while nothing is read.
        const deadlineMs = performance.now() + 15_000;
        while (!client.socket.destroyed && performance.now() < deadlineMs) {
          client.send('\r\n');
          await sleep(200);
        }
        assert.ok(client.socket.destroyed, 'the connection is still open');
        await isAnswered(service);
      },
    );

    test(
      `unread responses before ${about} do not hold up a stop (${lane})`,
      LONG_ONLY,
      async (t) => {
        const service = await startService(t, [...flags], { stopTimeout: 500 });
        const client = await connectUnread(service, last);
        const ended = await Promise.race([
          service.stop(),
          sleep(15_000, undefined, { ref: false }),
        ]);
        assert.equal(ended?.code, 0);
        client.close();
      },
    );
  }

  test(`responses that wait for a reader take little memory (${lane})`, LONG_ONLY, async (t) => {
    await checkUnreadMemory(await startService(t, flags));
  });
}

for (const [lane, flags] of shareOut(LANES, 1)) {
  test(
    `a stop cuts no response that was begun, and says which is the last (${lane})`,
    ALSO_LONG,
    async (t) => {
      await checkDrain(t, [...flags]);
    },
  );

  test(
    `questions that nobody has read yet are answered when the service stops (${lane})`,
    ALSO_LONG,
    async (t) => {
      await checkUnreadQuestions(await startService(t, flags));
    },
  );
}

const OFFERS = scale(2000, 2000, 20_000);
const HONEST_MS_MAX = 5_000;

async function checkManyOffers(service: Service): Promise<void> {
  const client = await connect(service.port);
  client.socket.removeAllListeners('data');
  client.socket.resume();
  const offer = formatRequest({ method: 'OPTIONS', path: '/', headers: H2C });
  const batch = repeat(offer, 100);
  for (let sent = 0; sent < OFFERS; sent += 100) {
    client.send(batch);
    while (client.socket.writableLength > 0) await sleep(2);
  }
  await untilAllRead(service, client);
  client.close();
  const startedMs = performance.now();
  await isAnswered(service);
  const waitedMs = performance.now() - startedMs;
  assert.ok(waitedMs < HONEST_MS_MAX, `an honest client waited ${Math.round(waitedMs)} ms`);
}

/** The service has answered all that was sent once nothing more comes. */
async function untilAllRead(service: Service, { socket }: RawClient): Promise<void> {
  for (let read = -1; read !== socket.bytesRead; ) {
    read = socket.bytesRead;
    await isAnswered(service);
    await sleep(200);
  }
}

const UNREAD_CONNECTIONS = 120;
/** What the garbage collector has not come to is in it too: some fifty, however many connections. */
const UNREAD_MIB_MAX = 120;

async function checkUnreadMemory(service: Service): Promise<void> {
  await isAnswered(service);
  const question = formatQuestion(service.key, { body: '{"type":"metaAndAssetCtxs"}' });
  const many = repeat(question, Math.floor((60 << 10) / question.length));
  const before = readRssMib(service.program);
  const clients: RawClient[] = [];
  for (let count = 0; count < UNREAD_CONNECTIONS; count++) {
    const client = await connect(service.port);
    client.socket.pause();
    client.send(many);
    clients.push(client);
  }
  await sleep(1000);
  const grown = readRssMib(service.program) - before;
  assert.ok(grown < UNREAD_MIB_MAX, `${grown.toFixed(1)} MiB`);
  await isAnswered(service);
  for (const client of clients) client.close();
}

const BATCHES = 40;
const BATCH_USERS = 1000;

function formatBatch(): string {
  const user = '0x00000000000000000000000000000000000000aa';
  const users = Array.from({ length: BATCH_USERS }, () => user);
  return JSON.stringify({ type: 'batchClearinghouseStates', users });
}

const UNREAD_CLIENTS = 40;
const UNREAD_QUESTIONS = 200;

/** So many that most wait, unread or not even accepted, when the service is stopped. */
async function checkUnreadQuestions(service: Service): Promise<void> {
  const questions = repeat(formatQuestion(service.key), UNREAD_QUESTIONS);
  const opened = Array.from({ length: UNREAD_CLIENTS }, () => connect(service.port));
  const clients = await Promise.all(opened);
  const sent = clients.map(
    ({ socket }) => new Promise<void>((resolve) => socket.write(questions, () => resolve())),
  );
  await Promise.all(sent);
  const stopped = service.stop();
  const answered = await Promise.all(clients.map(countAnswers));
  assert.deepEqual(answered, new Array(UNREAD_CLIENTS).fill(UNREAD_QUESTIONS));
  assert.equal((await stopped).code, 0);
}

/** Answers until the connection ends. */
async function countAnswers(client: RawClient): Promise<number> {
  let count = 0;
  for (let response = await client.next(); response; response = await client.next()) {
    assert.equal(response.status, 200);
    count++;
  }
  return count;
}

/**
 * More answers than sockets hold, asked for ahead, by a client that reads them when it is late. Those that
 * take several turns and are not written yet end with the stop.
 */
async function checkDrain(context: TestContext, flags: readonly string[]): Promise<void> {
  const service = await startService(context, flags);
  const body = formatBatch();
  const client = await connect(service.port);
  client.send(repeat(formatQuestion(service.key, { body }), BATCHES));
  client.socket.pause();
  await sleep(500);
  const stopped = service.stop();
  await sleep(500);
  client.socket.resume();
  const statuses = new Set<number>();
  let last: string | undefined;
  for (let response = await client.next(); response; response = await client.next()) {
    checkWholeOrStopped(response);
    statuses.add(response.status);
    last = response.headers.get('connection');
  }
  assert.ok(statuses.has(200), 'no answer was written before the stop');
  assert.deepEqual([last, client.left], ['close', '']);
  assert.equal((await stopped).code, 0);
}

function checkWholeOrStopped({ status, body }: RawResponse): void {
  if (status === 503) assert.equal(JSON.parse(body).message, 'the service is stopping');
  else assert.equal(body.split('"time":').length, BATCH_USERS + 1);
}

const DESCRIPTORS = 150;
const CROWD = 200;

test('connections that there are no file descriptors for are counted, and in the log', async (t) => {
  const { folder, key } = await prepareData(t);
  const flags = ['--port', '0', '--admin-port', '0', '--max-age', '0', '--data', folder];
  const limited = [
    'bash',
    '-c',
    `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`,
    process.execPath,
    MAIN,
  ];
  const program = new Program([...limited, 'serve', ...flags]);
  t.after(() => program.child.kill('SIGKILL'));
  await program.untilWritten('"msg":"listening"');
  const [metricsPort, port] = Array.from(
    program.stdout.matchAll(/"port":(\d+),"msg"/g),
    ([, digits]) => Number(digits),
  );
  const clients = await Promise.all(Array.from({ length: CROWD }, () => connect(port)));
  await program.untilWritten('"msg":"connections over the limit were closed"');
  const metrics = await exchange(
    metricsPort,
    formatRequest({ method: 'GET', path: '/metrics', headers: { Connection: 'close' } }),
  );
  const refused = Number(/^perpinfo_connections_refused_total (\d+)$/m.exec(metrics.body)?.[1]);
  assert.ok(refused > 0 && refused < CROWD, `${refused} were refused`);
  for (const client of clients) client.close();
  await sleep(200);
  assert.equal((await exchange(port, formatQuestion(key))).status, 200);
});

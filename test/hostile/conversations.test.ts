/**
 * Thousands of conversations of hostile clients, from a seed: requests, offers, tunnels, WebSockets
 * and plain bytes, sent ahead, cut off and left unread. Meanwhile an honest client is always answered;
 * afterwards memory is what it was, and the service stops in time.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../src/simulator/random.ts';
import { connect, exchange, type RawClient } from '../../tools/harness/raw-client.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import {
  ask,
  formatQuestion,
  formatRequest,
  readRssMib,
  type Service,
  startService,
} from '../../tools/harness/service.ts';
import { ALSO_LONG, scale, shareOut } from '../scale.ts';
import { formatHandshake, HTTP_MOVES, PUSH_MOVES, type Subjects } from './hostile-moves.ts';

const CONVERSATIONS = scale(100, 200, 6_000);
const WARM_UP = scale(100, 200, 1500);
const ROUND = 50;
const MEMORY_MIB_MAX = 64;
const STOP_TIMEOUT_MS = 3_000;
/** What a stop may take beside its deadline, on a machine that does something else too. */
const STOP_SLACK_MS = 10_000;

const LIMITS = { headerTimeout: 5000, requestTimeout: 5000, stopTimeout: STOP_TIMEOUT_MS };
const FLAGS = [
  ...['--idle-timeout', '5000'],
  ...['--min-height-wait', '50'],
  // Whether an honest client is answered is asked here, however busy the machine is.
  ...['--overload-delay', '60000', '--push-connections-max', '10000'],
];

/** One conversation: up to six moves, read or not, and an end. */
async function converse(port: number, random: Random, subjects: Subjects): Promise<void> {
  const socket = connectSocket({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await Promise.race([once(socket, 'connect').catch(() => undefined), closed]);
  if (random.chance(0.6)) socket.resume();
  const isPush = random.chance(0.25);
  if (isPush) socket.write(formatHandshake(subjects));
  const moves = isPush ? PUSH_MOVES : HTTP_MOVES;
  for (let count = 1 + random.below(6); count > 0 && socket.writable; count--) {
    socket.write(random.pick(moves)(random, subjects));
    if (random.chance(0.5)) await sleep(random.below(3));
  }
  const ending = random.below(4);
  if (ending === 0) socket.resetAndDestroy();
  else if (ending === 1) socket.destroy();
  else await Promise.race([endGently(socket, ending === 2), closed]);
  socket.destroy();
  await closed;
}

async function endGently(socket: ReturnType<typeof connectSocket>, ends: boolean): Promise<void> {
  if (ends) socket.end();
  await sleep(20);
}

interface Attack {
  readonly service: Service;
  readonly subjects: Subjects;
  readonly count: number;
  readonly seed: string;
  /** Done beside each round. */
  meanwhile?(): Promise<void>;
}

/** In rounds, so that connections are not opened faster than a small machine accepts them. */
async function attack({ service, subjects, count, seed, meanwhile }: Attack): Promise<void> {
  const random = new Random(seed);
  for (let done = 0; done < count; done += ROUND) {
    const round = Array.from({ length: ROUND }, () => converse(service.port, random, subjects));
    await Promise.all([...round, meanwhile?.()]);
  }
}

/** Asks on a connection that it keeps, and on a new one; every answer has to be the one. */
class HonestClient {
  readonly #service: Service;
  readonly #expected: string;
  readonly #kept: RawClient;
  askedCount = 0;

  private constructor(service: Service, expected: string, kept: RawClient) {
    this.#service = service;
    this.#expected = expected;
    this.#kept = kept;
  }

  static async open(service: Service): Promise<HonestClient> {
    const { body } = await ask(service);
    return new HonestClient(service, body, await connect(service.port));
  }

  async ask(): Promise<void> {
    this.#kept.send(formatQuestion(this.#service.key));
    for (const { status, body } of [await this.#kept.response(), await ask(this.#service)]) {
      assert.deepEqual([status, body], [200, this.#expected]);
      this.askedCount++;
    }
  }
}

async function findAsset(port: number): Promise<string> {
  const page = await exchange(port, formatRequest({ method: 'GET', path: '/' }));
  return /\/assets\/[^"]+\.js/.exec(page.body)?.[0] ?? '/openapi.json';
}

/** Until the connections of all conversations are gone. */
async function untilAlone({ program }: Service): Promise<void> {
  const [, port] = /"port":(\d+),"msg":"metrics"/.exec(program.stdout) ?? [];
  const request = formatRequest({ method: 'GET', path: '/metrics' });
  for (;;) {
    const { body } = await exchange(Number(port), request);
    if (/^perpinfo_connections 0$/m.test(body)) return;
    await sleep(50);
  }
}

async function settledRssMib(service: Service, limit: number): Promise<number> {
  for (let tries = 0; tries < 40 && readRssMib(service.program) > limit; tries++) await sleep(250);
  return readRssMib(service.program);
}

const LANES: [name: string, flags: string[]][] = [
  ['fast lane', []],
  ['plain lane', ['--no-fast-lane']],
];

for (const [lane, flags] of shareOut(LANES, 1)) {
  test(`hostile conversations harm nobody (${lane}) ${SEED_NOTE}`, ALSO_LONG, async (t) => {
    const service = await startService(t, [...FLAGS, ...flags], LIMITS);
    const subjects = { key: service.key, asset: await findAsset(service.port) };
    await attack({ service, subjects, count: WARM_UP, seed: `warm up ${SEED}` });
    await untilAlone(service);
    const before = readRssMib(service.program);
    const honest = await HonestClient.open(service);
    const seed = `hostile ${lane} ${SEED}`;
    const meanwhile = () => honest.ask();
    await attack({ service, subjects, count: CONVERSATIONS, seed, meanwhile });
    t.diagnostic(`${honest.askedCount} honest questions were answered`);
    const grown = (await settledRssMib(service, before + MEMORY_MIB_MAX)) - before;
    t.diagnostic(`memory: ${before.toFixed(0)} MiB, ${grown.toFixed(1)} MiB more afterwards`);
    assert.ok(grown < MEMORY_MIB_MAX, `memory has grown by ${grown.toFixed(1)} MiB`);
    await checkStop(service, subjects);
  });
}

const BUSY_CLIENTS = 8;

/** Stops it in the middle of an attack: whoever has asked gets its answer, and the last one says so. */
async function checkStop(service: Service, subjects: Subjects): Promise<void> {
  const opened = Array.from({ length: BUSY_CLIENTS }, () => connect(service.port));
  const asking = (await Promise.all(opened)).map((client) => askUntilLast(client, service.key));
  const attacking = attack({ service, subjects, count: 500, seed: `stop ${SEED}` });
  await sleep(300);
  const startedMs = performance.now();
  const { code, stdout, stderr } = await service.stop();
  const tookMs = performance.now() - startedMs;
  await Promise.all(asking);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.ok(tookMs < STOP_TIMEOUT_MS + STOP_SLACK_MS, `stopping took ${Math.round(tookMs)} ms`);
  assert.ok(!/"level":[56]0/.test(stdout), stdout.slice(-2000));
  assert.ok(!stdout.includes(service.key), 'a key is logged');
  await attacking;
}

/** Asks again and again; every question gets a whole response, until one says that it is the last. */
async function askUntilLast(client: RawClient, key: string): Promise<void> {
  for (let last = false; !last; ) {
    client.send(formatQuestion(key));
    const { status, headers } = await client.response();
    assert.equal(status, 200);
    last = headers.get('connection') === 'close';
  }
}

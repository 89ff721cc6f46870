/**
 * The load of a soak, in a separate program: every question, bulk, push, bad requests, keys that
 * are created and revoked, and questions to a follower. It is not a test; the soak starts it.
 *
 *   node load.js OPTIONS
 *
 * OPTIONS are `LoadOptions` as JSON. The program prints a `LoadReport` as a line of JSON every
 * second, until SIGTERM.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import { parseBudget } from '../../src/config/budget.ts';
import { STATE_TYPES } from '../../src/info/question-types.ts';
import { Random } from '../../src/simulator/random.ts';
import { badRequest } from '../harness/bad-requests.ts';
import { openSocket } from '../harness/push-client.ts';
import { exchange } from '../harness/raw-client.ts';
import { Client, HEAVY } from '../harness/running.ts';
import { WatchedClient } from '../harness/watched-client.ts';

export interface LoadTarget {
  readonly port: number;
  readonly secret: string;
  readonly users: readonly string[];
}

export interface LoadOptions {
  readonly seed: string;
  /** The service on the ledger to which the simulator writes. */
  readonly service: LoadTarget;
  /** The data directory of the service, for its keys. */
  readonly data: string;
  readonly follower: LoadTarget;
}

/** Counts since the start. */
export interface LoadReport {
  /**
   * The number of responses by kind of request and status, such as "questions 200", and the number
   * of lost connections.
   */
  readonly counts: Readonly<Record<string, number>>;
  /** The first violations: things that happened although they must not happen. */
  readonly violations: readonly string[];
}

const REPORT_MS = 1_000;
const VIOLATIONS_MAX = 20;
const ASKING = 4;
const ASK_MS = 20;
const FOLLOWER_ASKING = 2;
const FOLLOWER_ASK_MS = 60;
const BULK_MS = 500;
const BULK_USERS = 200;
const BAD_MS = 250;
const KEY_MS = 1_000;
/**
 * A revoked key must be refused within this time. The documented time is 100 ms, but the machine
 * may be busy.
 */
const REVOKED_MS = 1_000;
const PUSH_CONNECTIONS = 10;
const PUSH_SUBSCRIPTIONS = 8;
const PUSH_RENEWAL_MS = 3_000;
/** The share of connections that leave their frames unread for some time. */
const PUSH_STALLED_SHARE = 0.2;

const options = JSON.parse(process.argv[2]) as LoadOptions;
const random = new Random(options.seed);
const counts: Record<string, number> = {};
const violations: string[] = [];
let isOver = false;

function count(what: string): void {
  counts[what] = (counts[what] ?? 0) + 1;
}

function noteViolation(message: string): void {
  if (violations.length < VIOLATIONS_MAX) violations.push(message);
}

/**
 * Repeats the work until the end. A connection that is lost, for example when a worker ends, is
 * counted.
 */
async function repeat(kind: string, pauseMs: number, work: () => Promise<void>): Promise<void> {
  while (!isOver) {
    try {
      await work();
    } catch (error) {
      count(`${kind} lost`);
      if (!isConnectionLost(error as Error)) noteViolation(`${kind}: ${error}`);
    }
    await sleep(pauseMs);
  }
}

function isConnectionLost({ message }: Error): boolean {
  return /ECONNRESET|ECONNREFUSED|EPIPE|socket hang up|ended without a response/.test(message);
}

function drawQuestion(users: readonly string[]): object {
  const { type, fields, example } = random.pick(STATE_TYPES);
  const drawn: Record<string, unknown> = {};
  if ('user' in fields) drawn['user'] = random.pick(users);
  if ('users' in fields) drawn['users'] = [random.pick(users), random.pick(users)];
  return { ...example.question, ...drawn, type };
}

const ANSWERED: readonly number[] = [200];
/**
 * The statuses that a follower may answer with: while its exchange fails, and to questions about
 * data that a partial ledger does not record.
 */
const FAILING: readonly number[] = [200, 422, 502, 503];

/**
 * True if the question is about a margin table that may no longer exist, because the simulated
 * exchange changes its tables.
 */
function isAboutOldTable(question: object, status: number): boolean {
  return 'id' in question && status === 422;
}

function askForever(
  kind: string,
  { port, secret }: LoadTarget,
  choice: { pauseMs: number; expected: readonly number[]; draw: () => object },
): Promise<void> {
  const wentBack = (message: string) => noteViolation(`${kind}: ${message}`);
  const client = new WatchedClient({ port, secret, wentBack });
  return repeat(kind, choice.pauseMs, async () => {
    const question = choice.draw();
    const { status, body } = await client.ask(question);
    count(`${kind} ${status}`);
    if (!choice.expected.includes(status) && !isAboutOldTable(question, status)) {
      noteViolation(`${kind}: ${status} to ${JSON.stringify(question)}: ${body.slice(0, 200)}`);
    }
  });
}

function sendBadRequests({ port, secret }: LoadTarget): Promise<void> {
  const arbitrary = badRequest(secret);
  return repeat('bad', BAD_MS, async () => {
    const [bytes] = fc.sample(arbitrary, { numRuns: 1, seed: random.word() | 0 });
    const { status } = await exchange(port, bytes);
    count(`bad ${status}`);
    if (status === 200 || status >= 500) noteViolation(`${status} to ${bytes.toString('latin1')}`);
  });
}

/** Creates a key, asks until its budget is spent, revokes the key, and asks again. */
async function churnKeys({ port }: LoadTarget, data: string): Promise<void> {
  const store = await openEmbeddedKeys(data);
  const terms = { label: 'soak', budget: parseBudget('40/h'), expiresMs: undefined };
  await repeat('keys', KEY_MS, async () => {
    const { id, secret } = store.create(terms);
    const client = new Client(port);
    try {
      let status = await untilStatus(client, secret, 200);
      status = await untilStatus(client, secret, 429);
      count(`keys ${status}`);
      store.revoke(id);
      await sleep(REVOKED_MS);
      ({ status } = await client.ask(secret, HEAVY));
      count(`keys ${status}`);
      if (status !== 401) noteViolation(`${status} to a revoked key`);
    } finally {
      client.close();
    }
  });
  await store.close();
}

/** Asks several times, and returns the last status. A new key is known within 100 ms. */
async function untilStatus(client: Client, secret: string, wanted: number): Promise<number> {
  let status = 0;
  for (let tries = 0; tries < 20 && status !== wanted; tries++) {
    await sleep(50);
    ({ status } = await client.ask(secret, HEAVY));
  }
  return status;
}

/**
 * Opens one push connection for some time. Some connections do not read during a part of this time.
 */
async function subscribe({ port, secret, users }: LoadTarget, lifeMs: number): Promise<void> {
  const socket = openSocket({ port, key: secret });
  const heights = new Map<string, number>();
  socket.on('open', () => {
    const first = random.below(users.length);
    for (let index = first; index < first + PUSH_SUBSCRIPTIONS; index++) {
      const subscription = { type: 'clearinghouseState', user: users[index % users.length] };
      socket.send(JSON.stringify({ method: 'subscribe', subscription }));
    }
    if (!random.chance(PUSH_STALLED_SHARE)) return;
    socket.pause();
    setTimeout(() => socket.resume(), lifeMs / 2);
  });
  socket.on('message', (bytes) => {
    const { channel, data } = JSON.parse(bytes.toString());
    count(`push ${channel}`);
    if (channel === 'error') noteViolation(`pushed: ${bytes.toString()}`);
    if (channel !== 'clearinghouseState') return;
    const last = heights.get(data.user) ?? 0;
    if (data.height < last) noteViolation(`pushed height ${data.height} after ${last}`);
    heights.set(data.user, data.height);
  });
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => count('push lost'));
    socket.on('close', () => resolve());
  });
  await Promise.race([closed, sleep(lifeMs)]);
  socket.terminate();
}

function holdPush(target: LoadTarget): Promise<void>[] {
  const lifeMs = PUSH_CONNECTIONS * PUSH_RENEWAL_MS;
  return Array.from({ length: PUSH_CONNECTIONS }, () =>
    repeat('push', 100, () => subscribe(target, random.between(lifeMs / 2, 1.5 * lifeMs))),
  );
}

function runAll({ service, follower, data }: LoadOptions): Promise<void>[] {
  const question = { pauseMs: ASK_MS, expected: ANSWERED, draw: () => drawQuestion(service.users) };
  const bulk = {
    pauseMs: BULK_MS,
    expected: ANSWERED,
    draw: () => {
      const users = Array.from({ length: BULK_USERS }, () => random.pick(service.users));
      return { type: 'batchClearinghouseStates', users };
    },
  };
  const followed = {
    pauseMs: FOLLOWER_ASK_MS,
    expected: FAILING,
    draw: () => drawQuestion(follower.users),
  };
  return [
    ...Array.from({ length: ASKING }, () => askForever('questions', service, question)),
    askForever('bulk', service, bulk),
    ...Array.from({ length: FOLLOWER_ASKING }, () => askForever('follower', follower, followed)),
    ...holdPush(service),
    sendBadRequests(service),
    churnKeys(service, data),
  ];
}

setInterval(() => {
  process.stdout.write(`${JSON.stringify({ counts, violations } satisfies LoadReport)}\n`);
}, REPORT_MS).unref();
process.once('SIGTERM', () => {
  isOver = true;
  // Connections that no process closes end with this process.
  setTimeout(() => process.exit(0), 2 * REPORT_MS);
});
await Promise.all(runAll(options));

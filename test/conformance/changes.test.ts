/** What changes while a request is under way, and what the service may be short of: the same on every transport. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import type { Budget } from '../../src/config/budget.ts';
import { run } from '../../tools/harness/program.ts';
import { connect, exchange, type RawClient } from '../../tools/harness/raw-client.ts';
import { ask, formatQuestion, HEIGHT } from '../../tools/harness/service.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import {
  connectPushAsker,
  httpTransports,
  openTransports,
  type PushAsker,
  type Transport,
  type Transports,
} from './transports.ts';

const BUDGET: Budget = { weight: 40, periodMs: 3_600_000 };
const transports = await openTransports(
  { after },
  {
    settings: { minHeightWait: 20_000, refuseStale: true },
    budgets: { budget: BUDGET, count: 2 },
  },
);
const { key, folder, ground } = transports;
const HTTP = httpTransports(transports);
const store = await openEmbeddedKeys(folder);
after(() => store.close());

/** A key that the services know. */
async function createKnownKey(expiresMs?: number): Promise<{ id: string; secret: string }> {
  const made = store.create({ label: 'test', budget: undefined, expiresMs });
  for (const { port } of HTTP) {
    while ((await ask({ port, key: made.secret })).status === 401) await sleep(5);
  }
  return made;
}

/** Revokes a key and waits until that has reached the services. */
async function revoke({ id, secret }: { id: string; secret: string }): Promise<void> {
  store.revoke(id);
  while ((await ask({ port: transports.push.port, key: secret })).status !== 401) await sleep(5);
}

function waitingFor(height: number, secret = key): Buffer {
  return formatQuestion(secret, { headers: { 'Ledger-Min-Height': `${height}` } });
}

/** Sends it, and gives the service time to take it. */
async function begin({ port }: Transport, bytes: Buffer): Promise<RawClient> {
  const client = await connect(port);
  client.send(bytes);
  await sleep(20);
  return client;
}

async function statusOf(client: RawClient): Promise<number> {
  const { status } = await client.response();
  client.close();
  return status;
}

for (const transport of HTTP) {
  test(`a key that is revoked while its request is under way opens nothing (${transport.name})`, async () => {
    const made = await createKnownKey();
    const question = formatQuestion(made.secret);
    const [idle, inBody, inHead] = await Promise.all(
      [1, 2, 3].map(() => begin(transport, question)),
    );
    for (const client of [idle, inBody, inHead])
      assert.equal((await client.response()).status, 200);
    inBody.send(question.subarray(0, -10));
    inHead.send(question.subarray(0, 30));
    await sleep(20);
    await revoke(made);
    idle.send(question);
    inBody.send(question.subarray(-10));
    inHead.send(question.subarray(30));
    const statuses = await Promise.all([idle, inBody, inHead].map(statusOf));
    assert.deepEqual(statuses, [401, 401, 401]);
  });

  test(`a key that expires opens nothing, also on a connection that has asked before (${transport.name})`, async () => {
    const { secret } = await createKnownKey(Date.now() + 2000);
    const question = formatQuestion(secret);
    const client = await begin(transport, question);
    let { status } = await client.response();
    assert.equal(status, 200);
    while (status === 200) {
      await sleep(20);
      client.send(question);
      ({ status } = await client.response());
    }
    assert.equal(status, 401);
    client.close();
  });
}

test('who waits for a height is answered from it, if the budget allows and the key is live', async () => {
  const next = HEIGHT + 1;
  const revoked = await createKnownKey();
  const began = await Promise.all(
    HTTP.map(async (transport, index) => {
      const budgeted = waitingFor(next, transports.budgeted[index]);
      return {
        plain: await begin(transport, waitingFor(next)),
        // Each could pay for itself, not for all of them.
        several: await Promise.all(Array.from({ length: 6 }, () => begin(transport, budgeted))),
        revoked: await begin(transport, waitingFor(next, revoked.secret)),
      };
    }),
  );
  await revoke(revoked);
  // By a process of its own: a ledger is opened once in a process.
  const [line] = simulateLines(next, 'http').slice(HEIGHT);
  assert.equal((await run(['append', '--data', folder], { input: line })).code, 0);
  for (const { plain, several, revoked: refused } of began) {
    const { status, headers } = await plain.response();
    assert.deepEqual([status, headers.get('ledger-height')], [200, String(next)]);
    const statuses = await Promise.all(several.map(statusOf));
    assert.deepEqual(statuses.sort(), [200, 200, 429, 429, 429, 429]);
    assert.equal(await statusOf(refused), 401);
    plain.close();
  }
});

interface Shortage {
  readonly code: 'not_ready' | 'behind';
  readonly message: string;
  /** What stands in for a property of the live state. */
  readonly stub: readonly [name: string, value: unknown];
}

const SHORTAGES: Readonly<Record<string, Shortage>> = {
  'while the ledger is replayed': {
    code: 'not_ready',
    message: 'the ledger is being replayed: height 0 of 0',
    stub: ['state', undefined],
  },
  'while the ledger is old': {
    code: 'behind',
    message: "the ledger's time is old",
    stub: ['findStaleness', () => ({ status: 'stale', message: "the ledger's time is old" })],
  },
};

for (const [about, { code, message, stub }] of Object.entries(SHORTAGES)) {
  test(`${about} every transport says 503 ${code}`, async () => {
    const asker = await connectPushAsker(transports.push, key);
    const [name, value] = stub;
    Object.defineProperty(ground.live, name, { value, configurable: true });
    const unavailable = { value: message, configurable: true };
    Object.defineProperty(ground.live, 'unavailableReason', unavailable);
    try {
      await checkRefusedEverywhere(transports, asker, code, message);
    } finally {
      Reflect.deleteProperty(ground.live, name);
      Reflect.deleteProperty(ground.live, 'unavailableReason');
    }
    for (const { port } of HTTP) assert.equal((await ask({ port, key })).status, 200);
  });
}

test('under too much load every transport says 503 overloaded', async (t) => {
  const busy = await openTransports(t, { settings: { overloadDelay: -1 } });
  const asker = await connectPushAsker(busy.push, busy.key);
  await checkRefusedEverywhere(
    busy,
    asker,
    'overloaded',
    /^requests wait \d+ ms here, more than -1 ms$/,
  );
});

async function checkRefusedEverywhere(
  { lane, node, key: secret }: Transports,
  asker: PushAsker,
  code: string,
  message: string | RegExp,
): Promise<void> {
  const matches = typeof message === 'string' ? new RegExp(`^${message}$`) : message;
  for (const { port } of [lane, node]) {
    const { status, headers, body } = await exchange(port, formatQuestion(secret));
    const told = JSON.parse(body);
    assert.deepEqual([status, told.error, told.code], [503, code, code]);
    assert.equal(headers.get('retry-after'), '1');
    assert.equal(headers.has('ledger-height'), code === 'behind');
    assert.match(told.message, matches);
  }
  const frame = JSON.parse(await asker.post({ type: 'perpDeployAuctionStatus' }));
  const { type, payload } = frame.data.response;
  assert.deepEqual([type, payload.split(': ')[0]], ['error', code]);
  assert.match(payload.slice(code.length + 2), matches);
  asker.close();
}

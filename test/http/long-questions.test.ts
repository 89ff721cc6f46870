/** Long questions: not read for a key that has too little left, and charged for their length. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, exchange, type RawResponse } from '../../tools/harness/raw-client.ts';
import { createKey, formatQuestion, formatRequest } from '../../tools/harness/service.ts';
import { type ServiceInProcess, startInProcess } from './in-process.ts';

const USER = '0x00000000000000000000000000000000000000aa';
const ACCOUNT = JSON.stringify({ type: 'clearinghouseState', user: USER });
const KIB = 1024;
/** Nothing of it comes back in time. */
const BUDGET = { weight: 40, periodMs: 40 * 3_600_000 };

interface Asked {
  readonly method?: string;
  readonly body?: string;
  readonly query?: string;
  readonly headers?: Record<string, string>;
}

type Ask = (key: string, asked: Asked) => Promise<RawResponse>;

function askOf({ port }: ServiceInProcess, isOnNode: boolean): Ask {
  return (key, { method = 'POST', body = '', query = '', headers: more = {} }) => {
    const headers = { ...(isOnNode && { TE: 'trailers' }), ...more };
    if (method === 'POST') return exchange(port, formatQuestion(key, { body, headers }));
    return exchange(port, formatRequest({ method, path: `/${key}/info?${query}`, headers }));
  };
}

const leftOf = ({ headers }: RawResponse) => Number(headers.get('ratelimit-remaining'));

/** A key with this much left. */
async function createKeyWith(ask: Ask, folder: string, left: number): Promise<string> {
  const key = await createKey(folder, BUDGET);
  // A refusal weighs 1; the key is not known at once.
  while (leftOf(await ask(key, { body: '{}' })) !== left);
  return key;
}

const LONG = 'x'.repeat(KIB + 1);
const SHORT = 'x'.repeat(KIB);

for (const isOnNode of [false, true]) {
  const transport = isOnNode ? "Node's server" : 'the fast lane';
  const start = async (context: Parameters<typeof startInProcess>[0]) => {
    const service = await startInProcess(context);
    const ask = askOf(service, isOnNode);
    while ((await ask(service.key, { body: ACCOUNT })).status !== 200);
    return { ask, create: (left: number) => createKeyWith(ask, service.folder, left) };
  };

  test(`a key whose budget is spent has no long question read (${transport})`, async (context) => {
    const { ask, create } = await start(context);
    const key = await create(0);
    const expected: readonly [status: number, Asked][] = [
      [400, { body: SHORT }],
      [429, { body: LONG }],
      [429, { body: `{"type":"${LONG}"}` }],
      [422, { method: 'GET', query: `type=${SHORT.slice(5)}` }],
      [429, { method: 'GET', query: `type=${SHORT}` }],
      [429, { method: 'HEAD', query: `type=${SHORT}` }],
      [415, { body: LONG, headers: { 'Content-Type': 'text/plain' } }],
      [413, { body: 'x'.repeat(65 * KIB) }],
      [429, { body: LONG, headers: { 'Ledger-Min-Height': 'high' } }],
    ];
    for (const [status, asked] of expected) {
      const response = await ask(key, asked);
      assert.equal(response.status, status, JSON.stringify(asked).slice(0, 80));
      assert.equal(leftOf(response), 0);
    }
    const { body, headers } = await ask(key, { body: LONG });
    const wait = Number(headers.get('retry-after'));
    assert.equal(
      JSON.parse(body).message,
      `budget: a question weighs 2 or more, 0 of 40 are left; try again in ${wait} s`,
    );
    assert.ok(wait > 3600 && wait <= 7200, `${wait}`);
    const unknown = await ask('nobody', { body: LONG });
    assert.equal(unknown.status, 401);
    assert.equal((await ask('nobody', { method: 'GET', query: `type=${SHORT}` })).status, 401);
  });

  test(`the length of a question is its least weight (${transport})`, async (context) => {
    const { ask, create } = await start(context);
    const expected: readonly [status: number, weight: number, Asked][] = [
      [400, 1, { body: 'x'.repeat(8 * KIB) }],
      [400, 2, { body: 'x'.repeat(8 * KIB + 1) }],
      [400, 8, { body: 'x'.repeat(64 * KIB) }],
      [422, 8, { body: '['.repeat(64 * KIB) }],
      [413, 20, { body: 'x'.repeat(64 * KIB + 1) }],
      [422, 2, { method: 'GET', query: `type=${'x'.repeat(9 * KIB)}` }],
      [200, 2, { body: ACCOUNT.padEnd(16 * KIB) }],
      [200, 8, { body: ACCOUNT.padEnd(64 * KIB) }],
      [422, 8, { body: ACCOUNT.replace('}', ',"dex":"none"}').padEnd(64 * KIB) }],
      [422, 8, { body: ACCOUNT.padEnd(64 * KIB), headers: { 'Ledger-Min-Height': 'high' } }],
      [200, 20, { body: '{"type":"meta"}'.padEnd(64 * KIB) }],
    ];
    for (const [status, weight, asked] of expected) {
      const response = await ask(await create(38), asked);
      const what = JSON.stringify(asked).slice(0, 80).trim();
      assert.deepEqual([response.status, leftOf(response)], [status, 38 - weight], what);
    }
  });

  test(`a key with less left than its length weighs has it unread (${transport})`, async (context) => {
    const { ask, create } = await start(context);
    const response = await ask(await create(7), { body: 'x'.repeat(64 * KIB) });
    assert.deepEqual([response.status, leftOf(response)], [429, 7]);
    assert.match(
      JSON.parse(response.body).message,
      /^budget: a question weighs 8 or more, 7 of 40/,
    );
  });

  test(`a long question that proves too heavy is charged for its length (${transport})`, async (context) => {
    const { ask, create } = await start(context);
    const key = await create(19);
    const meta = { body: '{"type":"meta"}'.padEnd(64 * KIB) };
    const response = await ask(key, meta);
    assert.deepEqual([response.status, leftOf(response)], [429, 11]);
    const { message } = JSON.parse(response.body);
    assert.match(message, /^budget: this question weighs 20, 11 of 40 are left/);
    // What is missing comes back at 1 an hour.
    assert.equal(Math.ceil(Number(response.headers.get('retry-after')) / 3600), 9);
  });

  test(`a query of far more items than a question has is refused for that (${transport})`, async (context) => {
    const { ask, create } = await start(context);
    for (const mark of ['&', ',', '%', '+']) {
      const query = `type=meta&a=${(mark === '%' ? '%41' : mark).repeat(1025)}`;
      const { status, body } = await ask(await create(38), { method: 'GET', query });
      const message = `query: got more than 1024 of "${mark}", expected one question`;
      assert.deepEqual([status, JSON.parse(body).message], [422, message]);
    }
  });
}

test('a long query is read from the request that it came with', async (context) => {
  const { port, key } = await startInProcess(context);
  const client = await connect(port);
  const users = [1, 2].map((digit) =>
    Array.from({ length: 40 }, () => `0x${String(digit).repeat(40)}`).join(),
  );
  for (const list of [...users, ...users, users[1]]) {
    const path = `/${key}/info?type=batchClearinghouseStates&users=${list}`;
    client.send(formatRequest({ method: 'GET', path }));
    const { status, body } = await client.response();
    assert.equal(status, 200);
    const [user] = JSON.parse(body).successful_states[39];
    assert.equal(user, list.slice(0, 42));
  }
  client.close();
});

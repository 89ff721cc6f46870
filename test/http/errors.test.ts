/**
 * Every row of the table of errors over a real socket, and their order where several apply. One code
 * is not here: upstream_failed is given only where the service stands before an upstream, and there
 * is none to fail.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Budgets } from '../../src/access/budgets.ts';
import { REQUEST_ERRORS, type RequestErrorCode } from '../../src/info/request-error.ts';
import { type Ledger, LedgerError } from '../../src/ledger/ledger.ts';
import { TYPES } from '../info/types.ts';
import { startInProcess } from './in-process.ts';
import { exchange, type RawResponse } from './raw-client.ts';
import {
  ask,
  createKey,
  formatQuestion,
  formatRequest,
  HEIGHT,
  QUESTION,
  type RequestParts,
  type Service,
  startService,
} from './service.ts';

const HOUR_MS = 3_600_000;
/** Enough for one question of the heaviest kind, and nothing comes back in time. */
const SMALL_BUDGET = { weight: 20, periodMs: HOUR_MS };
const BODY_BYTES_MAX = 1024;

const service = await startService({ after }, [
  ...['--body-bytes-max', String(BODY_BYTES_MAX), '--header-bytes-max', '2048'],
  ...['--header-timeout', '1000', '--request-timeout', '2000', '--min-height-wait', '50'],
]);

/** What a refusal says beside its code; headers as far as they are its own. */
interface Said {
  message: string;
  field?: string;
  headers?: Record<string, string>;
}

const OWN_HEADERS = [
  ...['allow', 'retry-after', 'ledger-height', 'ledger-time'],
  ...['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'],
];

function checkRefusal(response: RawResponse, code: RequestErrorCode, said: Said): void {
  const { message, field, headers = {} } = said;
  const own = OWN_HEADERS.filter((name) => response.headers.has(name));
  assert.deepEqual(
    {
      status: response.status,
      body: JSON.parse(response.body),
      type: response.headers.get('content-type'),
      origin: response.headers.get('access-control-allow-origin'),
      headers: Object.fromEntries(own.map((name) => [name, response.headers.get(name)])),
    },
    {
      status: REQUEST_ERRORS[code].status,
      body: { error: code, message, ...(field && { field }), code, msg: message },
      type: 'application/json',
      origin: '*',
      headers,
    },
  );
  assert.match(response.headers.get('access-control-expose-headers') ?? '', /Ledger-Height/);
}

/** A service with a fault in it says what it says in tests of their own, below. */
type InjectedCode = 'not_ready' | 'overloaded' | 'upstream_failed';
type Case = Said & { send(): Promise<RawResponse> };

const questionOf = (question: unknown) => () => ask(service, { body: JSON.stringify(question) });
const ADDRESS = `0x${'1'.repeat(40)}`;

const CASES: Record<Exclude<RequestErrorCode, InjectedCode>, Case> = {
  malformed_request: {
    send: () => exchange(service.port, 'nonsense\r\n\r\n'),
    message: 'request: expected HTTP/1.1 that can be understood',
  },
  malformed_json: {
    send: () => ask(service, { body: '{"type":' }),
    message: 'body: got "{\\"type\\":", expected a JSON object',
    field: 'body',
  },
  unknown_key: {
    send: () => ask({ ...service, key: 'A'.repeat(43) }),
    message:
      'key: got one that is not known, or no longer, expected a live key in the path, /{key}/info or /{key}/ws',
    field: 'key',
  },
  not_found: {
    send: () => ask(service, { path: `/${service.key}/information` }),
    message: 'there is no such path; expected /{key}/info or /{key}/ws',
  },
  method_not_allowed: {
    send: () => ask(service, { method: 'PUT' }),
    message: 'method: got "PUT", expected GET, HEAD, POST, OPTIONS',
    field: 'method',
    headers: { allow: 'GET, HEAD, POST, OPTIONS' },
  },
  request_timeout: {
    send: () => exchange(service.port, 'POST /'),
    message: 'request: not complete in time (headers 1000 ms, all 2000 ms)',
  },
  body_too_large: {
    send: () => ask(service, { body: QUESTION.padEnd(BODY_BYTES_MAX + 1) }),
    message: 'body: longer than 1024 bytes, the limit for a question',
    field: 'body',
  },
  unsupported_media_type: {
    send: () => ask(service, { headers: { 'Content-Type': 'text/plain' } }),
    message: 'Content-Type: got "text/plain", expected application/json in UTF-8',
    field: 'Content-Type',
  },
  missing_field: {
    send: questionOf({}),
    message: `type: got nothing, expected one of ${TYPES}`,
    field: 'type',
  },
  invalid_field: {
    send: questionOf([]),
    message: 'body: got an array of 0, expected an object with a type',
    field: 'body',
  },
  invalid_address: {
    send: questionOf({ type: 'delegations', user: '0x12' }),
    message: 'user: got "0x12", expected 0x and 40 hexadecimal digits',
    field: 'user',
  },
  unknown_type: {
    send: questionOf({ type: 'constructor' }),
    message: `type: got "constructor", expected one of ${TYPES}`,
    field: 'type',
  },
  unknown_dex: {
    send: questionOf({ type: 'clearinghouseState', user: ADDRESS, dex: 'nowhere' }),
    message: 'dex: got "nowhere", expected one of "", "abc", "idx"',
    field: 'dex',
  },
  rate_limited: {
    async send() {
      const key = await createKey(service.folder, SMALL_BUDGET);
      const spend = await untilKnown(key);
      assert.equal(spend.status, 200);
      return ask({ ...service, key });
    },
    message: 'budget: this question weighs 20, 0 of 20 are left; try again in 3600 s',
    headers: {
      'retry-after': '3600',
      'ratelimit-limit': '20',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '3600',
    },
  },
  headers_too_large: {
    send: () => ask(service, { headers: { 'X-Long': 'x'.repeat(3000) } }),
    message: 'headers: longer than 2048 bytes, the limit',
    field: 'headers',
  },
  behind: {
    send: () => ask(service, { headers: { 'Ledger-Min-Height': String(HEIGHT + 1) } }),
    message: `Ledger-Min-Height: got ${HEIGHT + 1}, the ledger is at height ${HEIGHT}`,
    field: 'Ledger-Min-Height',
    headers: await ledgerHeaders({ 'retry-after': '1' }),
  },
};

/** The headers of an ordinary answer, which those of other responses are compared with. */
async function ledgerHeaders(others: Record<string, string>): Promise<Record<string, string>> {
  const { headers } = await ask(service);
  const time = headers.get('ledger-time') ?? '';
  return { 'ledger-height': String(HEIGHT), 'ledger-time': time, ...others };
}

/** Asks with a key that has just been made, until the service knows it. */
async function untilKnown(key: string): Promise<RawResponse> {
  for (;;) {
    const response = await ask({ ...service, key });
    if (response.status !== 401) return response;
  }
}

for (const [code, { send, ...said }] of Object.entries(CASES)) {
  const { status } = REQUEST_ERRORS[code as RequestErrorCode];
  test(`${status} ${code} is told as JSON, with its field and its headers`, async () => {
    const response = await send();
    checkRefusal(response, code as RequestErrorCode, said);
    assert.ok(!response.body.includes(service.key));
  });
}

test('an answer tells its place in the ledger, and any page may read it', async () => {
  const { status, headers } = await ask(service);
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(headers.get('access-control-allow-origin'), '*');
  assert.equal(headers.get('ledger-height'), String(HEIGHT));
  assert.match(headers.get('ledger-time') ?? '', /^\d{13}$/);
});

test('a long value is shown short', async () => {
  const { body } = await ask(service, { body: JSON.stringify({ type: 'y'.repeat(900) }) });
  assert.match(JSON.parse(body).message, /^type: got "y{10,100}"… \(900 characters\), expected/);
});

test('503 behind is told of an old ledger where asked, after all that is wrong', async (t) => {
  const stale = await startService(t, ['--refuse-stale', '--max-age', '1000']);
  const response = await ask(stale);
  const headers = await ledgerHeaders({ 'retry-after': '1' });
  const message = `the ledger's time, ${headers['ledger-time']}, is older than 1000 ms`;
  checkRefusal(response, 'behind', { message, headers });
  await checkPrecedence(stale);
});

/** The same ledger, but whoever reads its blocks waits for the gate first. */
function gated(ledger: Ledger, gate: Promise<void>): Ledger {
  return {
    base: () => ledger.base(),
    head: () => ledger.head(),
    height: () => ledger.height(),
    point: (height) => ledger.point(height),
    follow: (height, signal) => ledger.follow(height, signal),
    close: () => ledger.close(),
    async *read(height, to) {
      await gate;
      yield* ledger.read(height, to);
    },
  };
}

test('503 not_ready is told while the ledger is replayed, and no longer', async (t) => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const replaying = await startInProcess(t, {
    wrapLedger: (ledger) => gated(ledger, gate),
  });
  const response = await ask(replaying);
  const message = 'the ledger is being replayed: height 0 of 0';
  checkRefusal(response, 'not_ready', { message, headers: { 'retry-after': '1' } });
  const health = await exchange(replaying.port, formatRequest({ method: 'GET', path: '/health' }));
  assert.equal(health.status, 503);
  assert.equal(JSON.parse(health.body).status, 'replaying');
  open();
  while ((await ask(replaying)).status === 503);
  assert.equal((await ask(replaying)).status, 200);
});

test('503 not_ready is told for good once the ledger is found broken', async (t) => {
  const damage = new LedgerError('corrupt', 'block 3 is damaged');
  const broken = await startInProcess(t, {
    wrapLedger: (ledger) => gated(ledger, Promise.reject(damage)),
  });
  const message = 'the ledger is broken: block 3 is damaged';
  checkRefusal(await ask(broken), 'not_ready', { message, headers: { 'retry-after': '1' } });
});

test('503 overloaded is told while requests wait too long, and no longer', async (t) => {
  const busy = await startInProcess(t, { settings: { overloadDelay: 100 } });
  while ((await ask(busy)).status !== 200);
  const asked = ask(busy);
  setImmediate(() => blockFor(1000));
  const response = await asked;
  const { message } = JSON.parse(response.body);
  assert.match(message, /^requests wait \d{3} ms here, more than 100 ms$/);
  checkRefusal(response, 'overloaded', { message, headers: { 'retry-after': '1' } });
  while ((await ask(busy)).status !== 200);
});

function blockFor(durationMs: number): void {
  const untilMs = performance.now() + durationMs;
  while (performance.now() < untilMs);
}

test('an error of our own costs one connection, and is counted', async (t) => {
  class FailingBudgets extends Budgets {
    override check(): never {
      throw new Error('out of order');
    }
  }
  const failing = await startInProcess(t, { budgets: new FailingBudgets() });
  const key = await createKey(failing.folder, SMALL_BUDGET);
  while ((await ask(failing)).status !== 200);
  await assert.rejects(untilCut({ ...failing, key }), /ended without a response/);
  const metrics = await failing.registry.metrics();
  assert.match(metrics, /^perpinfo_internal_failures_total 1$/m);
  assert.equal((await ask(failing)).status, 200);
});

/** Asks while the key is not known yet; what comes after that is for the caller to judge. */
async function untilCut(service: Pick<Service, 'port' | 'key'>): Promise<void> {
  while ((await ask(service)).status === 401);
}

/** A request on its way to be spoiled. */
type Draft = Required<Pick<RequestParts, 'method' | 'path' | 'headers'>> & { body: string };
type Spoil = (draft: Draft, spentKey: string) => Partial<Draft>;

/** What can be wrong with one request, in the order in which it is told. */
const FAULTS: readonly [status: number, spoil: Spoil][] = [
  [404, ({ path }) => ({ path: `${path}/more` })],
  [405, () => ({ method: 'PUT' })],
  [401, ({ path }) => ({ path: path.replace(/[^/]+/, 'nobody') })],
  [415, ({ headers }) => ({ headers: { ...headers, 'Content-Type': 'text/plain' } })],
  [413, ({ body }) => ({ body: body.padEnd(70_000) })],
  [400, ({ body }) => ({ body: body.replace('{', '') })],
  [422, ({ headers }) => ({ headers: { ...headers, 'Ledger-Min-Height': 'high' } })],
  [429, ({ path }, spentKey) => ({ path: path.replace(/[^/]+/, spentKey) })],
  [503, () => ({})],
];

/** Of any two faults the first is told. The service answers nothing: 503 always applies. */
async function checkPrecedence(stale: Service): Promise<void> {
  const spentKey = await createSpentKey(stale);
  const sound = { path: `/${stale.key}/info`, method: 'POST', headers: {}, body: QUESTION };
  for (const [index, [status, spoil]] of FAULTS.entries()) {
    for (const [laterStatus, spoilToo] of FAULTS.slice(index + 1)) {
      // The later first: a key that is not known then replaces one whose budget is spent.
      const spoiled = { ...sound, ...spoilToo(sound, spentKey) };
      const request = formatRequest({ ...spoiled, ...spoil(spoiled, spentKey) });
      const response = await exchange(stale.port, request);
      assert.equal(response.status, status, `${status} comes before ${laterStatus}`);
    }
  }
}

/** A question that is refused weighs 1, and that is how to spend where there are no answers. */
async function createSpentKey(stale: Service): Promise<string> {
  const key = await createKey(stale.folder, SMALL_BUDGET);
  const question = formatQuestion(key, { body: '{}' });
  for (;;) {
    const { headers } = await exchange(stale.port, question);
    if (headers.get('ratelimit-remaining') === '0') return key;
  }
}

test('a request with two hosts is refused, also where they are the same', async () => {
  const headers = { Host: 'localhost\r\nHost: localhost' };
  const response = await ask(service, { headers });
  assert.equal(response.status, 400);
  assert.equal(JSON.parse(response.body).field, 'Host');
});

test('a request that is wrong, and whose body is too, is refused once, and others go on', async () => {
  const headers = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
  const waiting = {
    method: 'GET',
    path: `/${service.key}/info?type=meta`,
    headers: { 'Ledger-Min-Height': '99' },
  };
  const changes: [status: number, Partial<RequestParts>][] = [
    [404, { path: '/nowhere' }],
    [401, { path: '/nobody/info' }],
    [415, { headers: { 'Content-Type': 'text/plain' } }],
    [400, waiting],
  ];
  for (const [status, change] of changes) {
    const bytes = formatQuestion(service.key, {
      ...change,
      headers: { ...headers, ...change.headers },
      body: 'zz\r\n',
    });
    assert.equal((await exchange(service.port, bytes)).status, status);
  }
  assert.equal((await ask(service)).status, 200);
});

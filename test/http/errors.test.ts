/** Errors that the service itself is the cause of, and the order of those that apply at the same time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Budgets } from '../../src/access/budgets.ts';
import { REQUEST_ERRORS, type RequestErrorCode } from '../../src/info/request-error.ts';
import { type Ledger, LedgerError } from '../../src/ledger/ledger.ts';
import { exchange, type RawResponse } from '../../tools/harness/raw-client.ts';
import {
  ask,
  createKey,
  formatQuestion,
  formatRequest,
  HEIGHT,
  QUESTION,
  type RequestParts,
  type Service,
} from '../../tools/harness/service.ts';
import { type InProcessChanges, type ServiceInProcess, startInProcess } from './in-process.ts';

/** Enough for one question of the heaviest kind, and nothing comes back in time. */
const SMALL_BUDGET = { weight: 20, periodMs: 3_600_000 };

function checkRefusal(
  { status, headers, body }: RawResponse,
  code: RequestErrorCode,
  message: string,
): void {
  const retryAfter = headers.get('retry-after');
  assert.deepEqual(
    { status, body: JSON.parse(body), retryAfter },
    {
      status: REQUEST_ERRORS[code].status,
      body: { error: code, message, code, msg: message },
      retryAfter: '1',
    },
  );
}

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

function blockFor(durationMs: number): void {
  const untilMs = performance.now() + durationMs;
  while (performance.now() < untilMs);
}

/** Budgets with a bug in them. */
class FailingBudgets extends Budgets {
  override canAfford(): never {
    throw new Error('out of order');
  }
}

/** Asks while the key is not known yet; what comes after that is for the caller to judge. */
async function untilCut(service: Pick<Service, 'port' | 'key'>): Promise<void> {
  while ((await ask(service)).status === 401);
}

/** A request before a fault is put into it. */
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
async function checkPrecedence(stale: ServiceInProcess): Promise<void> {
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
async function createSpentKey(stale: ServiceInProcess): Promise<string> {
  const key = await createKey(stale.folder, SMALL_BUDGET);
  const question = formatQuestion(key, { body: '{}' });
  for (;;) {
    const { headers } = await exchange(stale.port, question);
    if (headers.get('ratelimit-remaining') === '0') return key;
  }
}

type Start = (changes?: InProcessChanges) => Promise<ServiceInProcess>;

const CHECKS: Readonly<Record<string, (start: Start) => Promise<void>>> = {
  async '503 not_ready is told while the ledger is replayed, and no longer'(start) {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const replaying = await start({
      wrapLedger: (ledger) => gated(ledger, gate),
    });
    const response = await ask(replaying);
    const message = 'the ledger is being replayed: height 0 of 0';
    checkRefusal(response, 'not_ready', message);
    const health = await exchange(
      replaying.port,
      formatRequest({ method: 'GET', path: '/health' }),
    );
    assert.equal(health.status, 503);
    assert.equal(JSON.parse(health.body).status, 'replaying');
    open();
    while ((await ask(replaying)).status === 503);
    assert.equal((await ask(replaying)).status, 200);
  },
  async '503 not_ready is told for good once the ledger is found broken'(start) {
    const damage = new LedgerError('corrupt', 'block 3 is damaged');
    const broken = await start({
      wrapLedger: (ledger) => gated(ledger, Promise.reject(damage)),
    });
    const message = 'the ledger is broken: block 3 is damaged';
    checkRefusal(await ask(broken), 'not_ready', message);
  },
  async '503 overloaded is told while requests wait too long, and no longer'(start) {
    const busy = await start({ settings: { overloadDelay: 100 } });
    while ((await ask(busy)).status !== 200);
    const asked = ask(busy);
    setImmediate(() => blockFor(1000));
    const response = await asked;
    const { message } = JSON.parse(response.body);
    assert.match(message, /^requests wait \d{3} ms here, more than 100 ms$/);
    checkRefusal(response, 'overloaded', message);
    while ((await ask(busy)).status !== 200);
  },
  async 'an error of our own costs one connection, and is counted'(start) {
    const failing = await start({ budgets: new FailingBudgets() });
    const key = await createKey(failing.folder, SMALL_BUDGET);
    while ((await ask(failing)).status !== 200);
    await assert.rejects(untilCut({ ...failing, key }), /ended without a response/);
    const metrics = await failing.registry.metrics();
    assert.match(metrics, /^perpinfo_internal_failures_total 1$/m);
    const [{ msg, type, keyId }] = failing.logged;
    assert.deepEqual([msg, type], ['a request failed', JSON.parse(QUESTION).type]);
    assert.ok(typeof keyId === 'string' && keyId !== '' && !keyId.includes(key));
    assert.equal((await ask(failing)).status, 200);
  },
  async '503 behind is told of an old ledger where asked, after all that is wrong'(start) {
    const stale = await start({ maxAgeMs: 1000, settings: { refuseStale: true, maxAge: 1000 } });
    let response = await ask(stale);
    while (JSON.parse(response.body).error === 'not_ready') response = await ask(stale);
    const time = new Date(Number(response.headers.get('ledger-time'))).toISOString();
    const newest = `the newest block is of ${time.slice(0, 19)}Z`;
    checkRefusal(response, 'behind', `${newest}, more than 1 s ago`);
    assert.equal(response.headers.get('ledger-height'), String(HEIGHT));
    await checkPrecedence(stale);
  },
};

for (const [transport, noFastLane] of [
  ['the fast lane', false],
  ["Node's server", true],
] as const) {
  for (const [title, check] of Object.entries(CHECKS)) {
    test(`${title} (${transport})`, (t) =>
      check((changes = {}) =>
        startInProcess(t, {
          ...changes,
          settings: { ...changes.settings, noFastLane },
        }),
      ));
  }
}

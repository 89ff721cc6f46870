/** Work that nobody waits for any more ends, whatever it is and however its client is gone. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { InFlightLimit } from '../../src/http/answering/limits/in-flight-limit.ts';
import type { InfoServer } from '../../src/http/transport/node/info-server.ts';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import type { LiveState } from '../../src/replica/live-state.ts';
import { connectPush } from '../../tools/harness/push-client.ts';
import { connect, type RawClient } from '../../tools/harness/raw-client.ts';
import { createKey, formatQuestion, prepareData } from '../../tools/harness/service.ts';
import { historyOf, pastOf } from '../info/histories.ts';
import { ALICE, BOB, openFollowed, until } from './followed.ts';
import { createInProcess, listenLocally, openGround } from './in-process.ts';

const SUBJECTS = 1000;
const USERS = Array.from(
  { length: SUBJECTS },
  (_, index) => `0x${String(index).padStart(40, '0')}`,
);
const BATCH = { type: 'batchClearinghouseStates', users: USERS };
/** A question of a thousand steps, each of which takes a slice. */
const LONG_AGO = { ...BATCH, atHeight: 1 };
const WEIGHT = 10 + 3 * SUBJECTS;
const STEP_MS = 0.3;
/** The step at which something happens, and after which few more may follow, on however busy a machine. */
const STEP = 10;
const LATER_STEP_MS = 20;
const STEPS_MAX = SUBJECTS / 4;
const NEVER = '99999';
const HOUR_MS = 3_600_000;

/** Counts the steps of questions about the past, and those that have let go of what they held. */
class SteppedPast {
  steps = 0;
  released = 0;
  /** Called once, between two turns. */
  atStep: (() => void) | undefined;
  readonly history: HistoryView;

  constructor(ledgerId: string) {
    const { state } = historyOf([1]).at(1);
    const view = { ...pastOf(state), load: () => this.#step(), release: () => this.released++ };
    this.history = historyOf([1], { ledgerId, at: () => view });
  }

  #step(): void {
    const endMs = performance.now() + (this.steps < STEP ? STEP_MS : LATER_STEP_MS);
    while (performance.now() < endMs);
    this.steps++;
    if (this.steps === STEP && this.atStep !== undefined) setImmediate(this.atStep);
  }
}

interface Abandonable {
  readonly past: SteppedPast;
  readonly live: LiveState;
  readonly server: InfoServer;
  readonly push: { close(): void };
  readonly port: number;
  readonly key: string;
}

/** A key can afford one long question in an hour. */
async function open(context: TestContext, noFastLane = false): Promise<Abandonable> {
  const closers: (() => Promise<void> | void)[] = [];
  context.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const { folder } = await prepareData({ after: (remove) => closers.push(remove) });
  const key = await createKey(folder, { weight: WEIGHT, periodMs: HOUR_MS });
  const ground = await openGround(folder);
  closers.push(() => ground.close());
  await ground.live.restored;
  const past = new SteppedPast(ground.live.state?.ledgerId ?? '');
  const history = { isKept: true, find: () => past.history };
  const settings = { noFastLane, minHeightWait: HOUR_MS };
  const { server, push, close } = createInProcess(ground, { history, settings });
  closers.push(close);
  return { past, live: ground.live, server, push, port: await listenLocally(server), key };
}

function format(key: string, question: object, headers: Record<string, string> = {}): Buffer {
  return formatQuestion(key, { body: JSON.stringify(question), headers });
}

/** How a client leaves while it waits for an answer. */
const LEAVINGS: Readonly<Record<string, (client: RawClient) => void>> = {
  'closes its connection': ({ socket }) => socket.destroy(),
  'resets its connection': ({ socket }) => socket.resetAndDestroy(),
  'ends its side': ({ socket }) => socket.end(),
};

for (const [name, noFastLane] of [
  ['fast lane', false],
  ["Node's server", true],
] as const) {
  for (const [leaves, leave] of Object.entries(LEAVINGS)) {
    test(`a client that ${leaves} ends the work on its long answer (${name})`, async (context) => {
      const { past, port, key } = await open(context, noFastLane);
      const client = await connect(port);
      past.atStep = () => leave(client);
      client.send(format(key, LONG_AGO));
      await until(() => past.released === 1);
      assert.ok(past.steps < STEPS_MAX, `${past.steps} steps`);
    });
  }

  test(`a client that has sent further requests and is gone ends it too (${name})`, async (context) => {
    const { past, port, key } = await open(context, noFastLane);
    const client = await connect(port);
    past.atStep = () => {
      client.send(format(key, { type: 'meta' }));
      client.socket.end(format(key, BATCH));
    };
    client.send(format(key, LONG_AGO));
    await until(() => past.released === 1);
    assert.ok(past.steps < STEPS_MAX, `${past.steps} steps`);
  });

  test(`a client that ends its side and still reads gets to know why (${name})`, async (context) => {
    const { past, port, key } = await open(context, noFastLane);
    const client = await connect(port);
    past.atStep = () => client.socket.end();
    client.send(format(key, LONG_AGO));
    const { status, body } = await client.response();
    assert.deepEqual([status, JSON.parse(body).error], [400, 'malformed_request']);
    assert.match(body, /connection: got its end before the answer was ready/);
  });

  test(`a drain ends long answers and waits, and says so (${name})`, async (context) => {
    const { past, live, server, port, key } = await open(context, noFastLane);
    const [working, waiting] = [await connect(port), await connect(port)];
    const begun = noteWait(context, live);
    waiting.send(format(key, BATCH, { 'Ledger-Min-Height': NEVER }));
    await begun.started;
    past.atStep = () => server.drain(HOUR_MS);
    working.send(format(key, LONG_AGO));
    for (const client of [working, waiting]) {
      const { status, headers, body } = await client.response();
      assert.deepEqual([status, JSON.parse(body).message], [503, 'the service is stopping']);
      assert.deepEqual([headers.get('connection'), headers.get('retry-after')], ['close', '1']);
      await client.closed;
    }
    assert.ok(past.steps < STEPS_MAX, `${past.steps} steps`);
  });

  test(`a client that is gone no longer waits for a height (${name})`, async (context) => {
    const { live, port, key } = await open(context, noFastLane);
    const client = await connect(port);
    const { started, over } = noteWait(context, live);
    client.send(format(key, BATCH, { 'Ledger-Min-Height': NEVER }));
    await started;
    client.close();
    await over;
  });

  test(`a key that waits for a height too often is refused (${name})`, async (context) => {
    const { port, key } = await open(context, noFastLane);
    const full = new InFlightLimit({ what: 'requests', countMax: 2, keyCountMax: 1 });
    full.take('greedy');
    const shortage = full.findShortage('greedy');
    context.mock.method(InFlightLimit.prototype, 'findShortage', () => shortage);
    const client = await connect(port);
    client.send(format(key, { type: 'meta' }, { 'Ledger-Min-Height': NEVER }));
    const { status, headers, body } = await client.response();
    assert.deepEqual([status, headers.get('retry-after')], [429, '1']);
    assert.match(body, /"rate_limited".*requests: this key has 1 under way, the limit/);
    client.close();
  });
}

/** Promises that the next wait for a height has begun, and that it is over, in whatever way. */
function noteWait(context: TestContext, live: LiveState) {
  const waitFor = live.waitFor.bind(live);
  let start: () => void = () => undefined;
  let end: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  context.mock.method(live, 'waitFor', (...terms: Parameters<LiveState['waitFor']>) => {
    const waiting = waitFor(...terms);
    start();
    void waiting.then(end);
    return waiting;
  });
  return { started, over };
}

test('a push connection that is closed ends the work on its posts', async (context) => {
  const { past, port, key } = await open(context);
  const client = await connectPush(context, { port, key });
  past.atStep = () => client.close();
  client.send({ method: 'post', id: 1, request: { type: 'info', payload: LONG_AGO } });
  await until(() => past.released === 1);
  assert.ok(past.steps < STEPS_MAX, `${past.steps} steps`);
});

test('the end of the service ends the work on posts', async (context) => {
  const { past, push, port, key } = await open(context);
  const client = await connectPush(context, { port, key });
  past.atStep = () => push.close();
  client.send({ method: 'post', id: 1, request: { type: 'info', payload: LONG_AGO } });
  await until(() => past.released === 1);
  assert.ok(past.steps < STEPS_MAX, `${past.steps} steps`);
});

test('who is gone waits neither for an account nor for an answer of the exchange', async (context) => {
  const settings = { forward: true, followWait: HOUR_MS };
  const { follower, key, ports } = await openFollowed(context, { settings });
  for (const user of [ALICE, BOB]) follower.scripts.set(user, () => new Promise(() => undefined));
  follower.answerForwarded = () => new Promise(() => undefined);
  for (const [port, user] of [
    [ports.lane, ALICE],
    [ports.node, BOB],
  ] as const) {
    for (const type of ['clearinghouseState', 'userFills']) {
      const client = await connect(port);
      const asked = follower.wants.length + follower.forwarded.length;
      client.send(format(key, { type, user }));
      await until(() => follower.wants.length + follower.forwarded.length > asked);
      // The answer is what shows that nothing is waited for.
      client.socket.end();
      const { status } = await client.response();
      assert.equal(status, 400);
      await once(client.socket, 'close');
    }
  }
});

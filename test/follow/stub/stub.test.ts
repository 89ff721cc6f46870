/** The stub exchange itself: what it says is the dialect, and its ledger tells all of it. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inflateRawSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { parseBlock } from '../../../src/events/event.ts';
import { formatAddress } from '../../../src/exact/address.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { findAccount } from '../../../src/state/accounts.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type StateView } from '../../../src/state/state.ts';
import { COLLATERAL } from '../../../src/state/tables/columns.ts';
import {
  InflateError,
  readInflatedJson,
} from '../../../src/upstream/client/answers/inflated-json.ts';
import { RunningStub, type StubChoice } from '../../../tools/harness/running-stub.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import type { Json, Question } from '../../../tools/stub-exchange/dialect-answers.ts';
import { hasOtherRules } from '../../../tools/stub-exchange/dialect-modes.ts';
import { timeOfLine } from '../../../tools/stub-exchange/exchange.ts';
import {
  ANSWER_FAULTS,
  type AnswerFault,
  type FaultPlan,
} from '../../../tools/stub-exchange/faults.ts';
import { printAccount } from '../../../tools/stub-exchange/printed-doubles.ts';
import { STUB_DEFAULTS } from '../../../tools/stub-exchange/stub-options.ts';
import { LONG_ONLY } from '../../scale.ts';

interface Context {
  after(clean: () => Promise<void> | void): void;
}

/** A stub whose blocks come by command. */
async function startStub(context: Context, choice: Partial<StubChoice> = {}): Promise<RunningStub> {
  const folder = await makeTemporaryFolder(context as never);
  const file = path.join(folder, 'truth.ndjson');
  return RunningStub.start(context, { file, intervalMs: 0, limit: 0, ...choice });
}

/** Long enough for a busy machine. */
const DEADLINE_MS = 60_000;

async function post(
  stub: RunningStub,
  body: unknown,
  deadlineMs = DEADLINE_MS,
): Promise<{ status: number; text: string }> {
  const response = await fetch(`${stub.url}/info`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(deadlineMs),
  });
  return { status: response.status, text: await response.text() };
}

async function ask(stub: RunningStub, question: Question): Promise<Json> {
  const { status, text } = await post(stub, question);
  assert.equal(status, 200, text);
  return JSON.parse(text);
}

function rebuild(stub: RunningStub): StateView {
  const state = createState();
  const lines = readFileSync(stub.options.file, 'utf8').split('\n').slice(0, -1);
  for (const line of lines) applyBlock(state, parseBlock(line));
  return state;
}

function usersOf({ addresses }: StateView): string[] {
  const count = addresses.table.rowCount - 1;
  return Array.from({ length: count }, (_, row) => formatAddress(addresses.addressOf(row + 1)));
}

/** The accounts on the first dex that hold a position of the mode, as the ledger has them. */
function findHolder(state: StateView, mode: 'cross' | 'isolated'): string {
  const user = usersOf(state).find((one) => {
    const account = JSON.parse(answerQuestion(state, { type: 'clearinghouseState', user: one }));
    return account.assetPositions.some(({ position }: Json) => position.leverage.type === mode);
  });
  assert.ok(user);
  return user;
}

test('an account is answered as the ledger has it, but without rawUsd of cross positions', async (context) => {
  const stub = await startStub(context);
  await stub.step(5);
  const truth = rebuild(stub);
  const question = { type: 'clearinghouseState', user: findHolder(truth, 'cross'), dex: '' };
  const told = await ask(stub, question);
  const expected = JSON.parse(answerQuestion(truth, question));
  for (const [index, { position }] of expected.assetPositions.entries()) {
    const { position: toldPosition } = told.assetPositions[index];
    if (position.leverage.type === 'cross') delete position.leverage.rawUsd;
    for (const figure of ['returnOnEquity', 'liquidationPx']) {
      const difference = Math.abs(Number(position[figure]) - Number(toldPosition[figure]));
      assert.ok(difference <= 1e-9 * Math.abs(Number(position[figure])), figure);
      position[figure] = toldPosition[figure];
    }
  }
  printAccount(expected);
  assert.deepEqual(told, expected);
});

test('figures computed in doubles have their noise', LONG_ONLY, async (context) => {
  const stub = await startStub(context);
  const truth = rebuild(stub);
  const prices = async () => {
    const answers = await Promise.all(
      usersOf(truth).map((user) => ask(stub, { type: 'clearinghouseState', user })),
    );
    const positions = answers.flatMap(({ assetPositions }) => assetPositions);
    return positions
      .map(({ position }) => position.liquidationPx)
      .filter((price) => price !== null);
  };
  const [one, other] = [await prices(), await prices()];
  assert.equal(one.length, other.length);
  assert.notDeepEqual(one, other);
  assert.ok(one.every((price) => /^\d+\.\d{1,10}$/.test(price)));
});

/** An amount in millionths, of the text of a double or of a spot balance. */
function millionths(text: string): number {
  return Math.floor(Number(text) * 1e6 + 1e-3);
}

test(
  'what backs a unified account is what is available of its token, and the maintenance of its dex',
  LONG_ONLY,
  async (context) => {
    const stub = await startStub(context, { accounts: 400 });
    await stub.step(5);
    const truth = rebuild(stub);
    const backed = listBacked(truth).filter(({ user }) => !hasOtherRules(user));
    const inSeveral = backed.filter(({ user }, index) => backed[index + 1]?.user === user);
    assert.ok(inSeveral.length > 0, 'somebody is unified in several dexes');
    for (const { user, dex, collateral } of backed) {
      assert.equal(await ask(stub, { type: 'userAbstraction', user }), 'unifiedAccount');
      const { collateralToken } = await ask(stub, { type: 'meta', dex });
      const spot = await ask(stub, { type: 'spotClearinghouseState', user });
      const available = new Map(spot.tokenToAvailableAfterMaintenance).get(collateralToken);
      const account = await ask(stub, { type: 'clearinghouseState', user, dex });
      const figured =
        millionths(String(available)) +
        millionths(account.crossMaintenanceMarginUsed) -
        millionths(account.crossMarginSummary.accountValue);
      assert.ok(Math.abs(figured - collateral) <= 2, `${figured} of ${user}, not ${collateral}`);
    }
  },
);

/** Accounts with a collateral, as the ledger has them. */
function listBacked(truth: StateView) {
  const { addresses, accounts, markets } = truth;
  return usersOf(truth).flatMap((user, index) =>
    markets.dexes.flatMap(({ name: dex }, dexIndex) => {
      assert.equal(formatAddress(addresses.addressOf(index + 1)), user);
      const account = findAccount(truth, index + 1, dexIndex);
      const collateral = accounts.get(account, COLLATERAL);
      return collateral > 0 ? [{ user, dex, collateral }] : [];
    }),
  );
}

test(
  'some positions have tiers other than their market, and keep them',
  LONG_ONLY,
  async (context) => {
    const stub = await startStub(context, { accounts: 100 });
    await stub.step(5);
    const [{ universe }] = await ask(stub, { type: 'allPerpMetas' });
    const listed = new Map(universe.map((market: Json) => [market.name, market.maxLeverage]));
    const answers = await Promise.all(
      usersOf(rebuild(stub)).map((user) => ask(stub, { type: 'clearinghouseState', user })),
    );
    const own = answers
      .flatMap(({ assetPositions }) => assetPositions)
      .filter(({ position }) => position.maxLeverage !== listed.get(position.coin));
    assert.ok(own.some(({ position }) => position.maxLeverage === 50));
    assert.ok(own.some(({ position }) => position.maxLeverage < 50));
  },
);

test(
  'tables are shared and numbered by dex, and delisted markets keep their place without a mid',
  LONG_ONLY,
  async (context) => {
    const stub = await startStub(context);
    const metas = await ask(stub, { type: 'allPerpMetas' });
    const [first, second] = metas;
    assert.ok(first.marginTables.every(([id]: [number]) => id >= 50));
    assert.notDeepEqual(new Map(first.marginTables).get(51), new Map(second.marginTables).get(51));
    const numbers = first.universe.map(({ marginTableId }: Json) => marginTableId);
    assert.ok(numbers.some((id: number) => id < 50));
    assert.ok(new Set(numbers).size < numbers.length);
    const [{ universe }, contexts] = await ask(stub, { type: 'metaAndAssetCtxs', dex: '' });
    assert.equal(universe[3].name, 'MATIC');
    for (const [place, { isDelisted }] of universe.entries()) {
      assert.equal(contexts[place].midPx === null, isDelisted === true);
      assert.ok(Number(contexts[place].markPx) > 0);
    }
  },
);

test(
  'questions that are not understood are refused with the words of the exchange',
  LONG_ONLY,
  async (context) => {
    const stub = await startStub(context, { unknownTypes: ['metaAndAssetCtxs'] });
    const text = 'Failed to deserialize the JSON body into the target type';
    const user = `0x${'a'.repeat(40)}`;
    const replies = [
      [{ type: 'nothing' }, 422, text],
      [{ type: 'metaAndAssetCtxs' }, 422, text],
      [{ type: 'clearinghouseState', user: '0x12' }, 422, text],
      [{ type: 'clearinghouseState', user, dex: 'nope' }, 500, 'null'],
      [{ type: 'meta', dex: 'nope' }, 500, 'null'],
      [{ type: 'perpDexLimits', dex: 'nope' }, 200, 'null'],
      [{ type: 'perpDexStatus', dex: 'nope' }, 200, 'null'],
      [{ type: 'l2Book', coin: 'NOPE' }, 200, 'null'],
      [{ type: 'fundingHistory', coin: 'btc', startTime: 0 }, 500, 'null'],
      ['{', 400, 'Failed to parse the request body as JSON'],
    ] as const;
    for (const [body, status, expected] of replies) {
      assert.deepEqual(await post(stub, body), { status, text: expected });
    }
    assert.equal((await ask(stub, { type: 'clearinghouseState', user })).withdrawable, '0.0');
  },
);

test('the weight of 60 s is counted, and what is over the limit gets 429 and null', async (context) => {
  const stub = await startStub(context, { limit: 62 });
  await ask(stub, { type: 'meta' });
  await ask(stub, { type: 'perpDexs' });
  await ask(stub, { type: 'exchangeStatus' });
  await ask(stub, { type: 'allPerpMetas' });
  assert.deepEqual(await post(stub, { type: 'allMids' }), { status: 429, text: 'null' });
  const { weight } = await stub.report();
  assert.deepEqual([weight.windowMax, weight.refused], [64, 1]);
});

/** How a question ends: its status and its body, or why there is none. */
async function outcomeOf(
  stub: RunningStub,
  question: Question,
  deadlineMs = DEADLINE_MS,
): Promise<string> {
  try {
    const { status, text } = await post(stub, question, deadlineMs);
    return `${status} ${text}`;
  } catch (error) {
    const { name, cause } = error as Error;
    return name === 'TimeoutError'
      ? 'no answer'
      : `broken ${(cause as Error | undefined)?.message}`;
  }
}

/** What a client sees of each fault, apart from a right answer. */
const SEEN: Record<AnswerFault, RegExp> = {
  slow: /^200 \{"marginSummary"/,
  hang: /^no answer$/,
  reset: /^broken/,
  tooMany: /^429 null$/,
  failure: /^500 null$/,
  refused: /^422 Failed to deserialize the JSON body into the target type$/,
  truncated: /^200 (?!.*"time":\d+\}$)/,
  notJson: /^200 <html>/,
  wrongShape: /^200 (?!\{"marginSummary":\{"accountValue":"-?\d+\.\d+","total)/,
  huge: /^200 \[" {1000000}/,
  otherAccount: /^200 \{"marginSummary"/,
  stalled: /^200 \{"marginSummary"/,
  contradiction: /^200 \{"marginSummary"/,
};

test(
  'each fault is met when it is switched on, and gone afterwards',
  LONG_ONLY,
  async (context) => {
    // Slow answers take a tenth of their time.
    const stub = await startStub(context, { speed: 10 });
    const question = { type: 'clearinghouseState', user: findHolder(rebuild(stub), 'cross') };
    const right = await ask(stub, question);
    for (const fault of ANSWER_FAULTS) {
      await stub.setFaults({ answers: { [fault]: 1 } });
      const deadlineMs = fault === 'hang' ? 1000 : DEADLINE_MS;
      assert.match(await outcomeOf(stub, question, deadlineMs), SEEN[fault], fault);
      assert.equal((await stub.report()).faults[fault], 1, fault);
      await stub.setFaults({});
      assert.equal((await ask(stub, question)).time, right.time, fault);
    }
  },
);

test('the answer about another account never comes twice in a row', LONG_ONLY, async (context) => {
  const stub = await startStub(context);
  const question = { type: 'clearinghouseState', user: findHolder(rebuild(stub), 'isolated') };
  const { marginSummary: right } = await ask(stub, question);
  await stub.setFaults({ answers: { otherAccount: 1 } });
  const seen: boolean[] = [];
  for (let index = 0; index < 6; index++) {
    const { marginSummary } = await ask(stub, question);
    seen.push(marginSummary.accountValue === right.accountValue);
  }
  assert.deepEqual(
    seen.slice(1).filter((isRight, index) => !isRight && !seen[index]),
    [],
  );
  assert.ok(seen.includes(false));
});

test('a stalled server answers as it was some time ago', LONG_ONLY, async (context) => {
  const stub = await startStub(context, { lagMs: 3, speed: 1 });
  const question = { type: 'exchangeStatus' };
  const times = [];
  for (let index = 0; index < 20; index++) times.push(await stub.step());
  await stub.setFaults({ answers: { stalled: 1 } });
  const { time } = await ask(stub, question);
  assert.ok(times.includes(time) && time <= times[19] - 3, `${time} of ${times}`);
});

test('a contradicted account still has the form of an answer', LONG_ONLY, async (context) => {
  const stub = await startStub(context);
  const question = { type: 'clearinghouseState', user: findHolder(rebuild(stub), 'cross') };
  const right = JSON.stringify(await ask(stub, question)).replace(/"(return|liq)[^,]*,/g, '');
  await stub.setFaults({ answers: { contradiction: 1 } });
  for (let index = 0; index < 20; index++) {
    const told = await ask(stub, question);
    assert.notEqual(JSON.stringify(told).replace(/"(return|liq)[^,]*,/g, ''), right);
    assert.deepEqual(Object.keys(told).length, 6);
  }
});

test(
  'the strange coin is listed among the others, and its holders have it in their sums',
  LONG_ONLY,
  async (context) => {
    const stub = await startStub(context);
    const users = usersOf(rebuild(stub)).filter((user) => /[07]$/.test(user));
    assert.ok(users.length > 0);
    const before = await ask(stub, { type: 'clearinghouseState', user: users[0] });
    await stub.setFaults({ strangeCoin: true });
    const after = await ask(stub, { type: 'clearinghouseState', user: users[0] });
    const added =
      Number(after.marginSummary.accountValue) - Number(before.marginSummary.accountValue);
    assert.ok(Math.abs(added - 5) < 1e-6);
    const [meta, contexts] = await ask(stub, { type: 'metaAndAssetCtxs' });
    assert.equal(meta.universe.length, contexts.length);
    assert.equal(
      contexts[meta.universe.findIndex(({ name }: Json) => name === 'TST/2')].markPx,
      '1.5',
    );
  },
);

test(
  'a stub that is gone refuses connections, and comes back on its port',
  LONG_ONLY,
  async (context) => {
    const stub = await startStub(context);
    await stub.setFaults({ gone: true });
    assert.match(await outcomeOf(stub, { type: 'meta' }), /^broken/);
    await stub.setFaults({});
    assert.match(await outcomeOf(stub, { type: 'exchangeStatus' }), /^200/);
  },
);

test(
  'a stub that was killed goes on with the ledger that it had written',
  LONG_ONLY,
  async (context) => {
    const stub = await startStub(context);
    await stub.step(10);
    const { height } = await stub.report();
    await stub.stop('SIGKILL');
    await stub.restart();
    const again = await stub.report();
    assert.ok(again.height >= height);
    await stub.step(3);
    assert.equal(rebuild(stub).height, again.height + 3);
    const lines = readFileSync(stub.options.file, 'utf8').split('\n').slice(0, -1);
    const times = lines.map(timeOfLine);
    assert.ok(times.every((time, index) => index === 0 || time > times[index - 1]));
  },
);

/** A client of push that keeps what it gets. */
async function connect(context: Context, stub: RunningStub) {
  const socket = new WebSocket(`${stub.url.replace('http', 'ws')}/ws`);
  context.after(() => socket.terminate());
  const messages: Json[] = [];
  socket.on('message', (data) => messages.push(JSON.parse(data.toString())));
  socket.on('error', () => undefined);
  await once(socket, 'open');
  const send = (message: unknown) => socket.send(JSON.stringify(message));
  const subscribe = (subscription: unknown) => send({ method: 'subscribe', subscription });
  /** Until the answer to a ping: everything sent before is there. */
  const settle = async () => {
    const count = () => messages.filter(({ channel }) => channel === 'pong').length;
    const before = count();
    send({ method: 'ping' });
    while (count() === before)
      await once(socket, 'message', { signal: AbortSignal.timeout(DEADLINE_MS) });
    return messages.splice(0).filter(({ channel }) => channel !== 'pong');
  };
  return { socket, subscribe, settle, messages };
}

/** What a frame says: base64 of raw DEFLATE. */
function inflate(frame: string): Json {
  return JSON.parse(inflateRawSync(Buffer.from(frame, 'base64')).toString());
}

test(
  'marks are pushed whole at first, then every second those that changed, and equal the ledger',
  LONG_ONLY,
  async (context) => {
    const stub = await startStub(context, { speed: 20 });
    const client = await connect(context, stub);
    client.subscribe({ type: 'fastAssetCtxs' });
    const [acknowledged, first] = await client.settle();
    assert.equal(acknowledged.channel, 'subscriptionResponse');
    const marks = inflate(first.data);
    assert.equal(marks.MATIC.midPx, null);
    assert.ok(marks['@107'].markPx !== undefined && marks['#14880'].markPx !== undefined);
    const universe = Object.keys(marks).length;
    for (let frames = 0; frames < 5; ) {
      await sleep(10);
      await stub.step();
      for (const { data } of await client.settle()) {
        frames++;
        const changed = inflate(data);
        assert.ok(changed['@107'].midPx === undefined);
        assert.ok(Object.keys(changed).length < universe);
        Object.assign(marks, changed);
      }
    }
    assert.ok((await stub.report()).push.sent < 40, 'not after each block');
  },
);

test(
  'contexts of all dexes come in the order of their universe, the strange coin among them',
  LONG_ONLY,
  async (context) => {
    const stub = await startStub(context);
    await stub.setFaults({ strangeCoin: true });
    const client = await connect(context, stub);
    client.subscribe({ type: 'allDexsAssetCtxs' });
    const [, { data }] = await client.settle();
    const metas = (await ask(stub, { type: 'allPerpMetas' })).filter(Boolean);
    assert.deepEqual(
      data.ctxs.map(([, contexts]: [string, Json[]]) => contexts.length),
      metas.map(({ universe }: Json) => universe.length),
    );
  },
);

test('trades name both users, who hold what they traded', async (context) => {
  const stub = await startStub(context);
  const client = await connect(context, stub);
  for (const coin of ['BTC', 'ETH', 'SOL']) client.subscribe({ type: 'trades', coin });
  await client.settle();
  await stub.step(40);
  const trades = (await client.settle()).flatMap(({ data }) => data);
  assert.ok(trades.length > 0);
  const users = usersOf(rebuild(stub));
  for (const { users: sides } of trades) {
    assert.equal(new Set(sides).size, 2);
    assert.ok(sides.every((user: string) => users.includes(user)));
  }
});

test(
  'a pushed state lists a position of size zero, and only 10 users are tracked',
  LONG_ONLY,
  async (context) => {
    const stub = await startStub(context);
    const users = usersOf(rebuild(stub));
    const client = await connect(context, stub);
    for (const user of users.slice(0, 11)) client.subscribe({ type: 'clearinghouseState', user });
    const messages = await client.settle();
    const states = messages.filter(({ channel }) => channel === 'clearinghouseState');
    assert.equal(states.length, 10);
    const { assetPositions } = states[0].data.clearinghouseState;
    assert.equal(assetPositions.at(-1).position.szi, '0.0');
    const { data } = messages.find(({ channel }) => channel === 'error') as Json;
    assert.equal(data, 'Cannot track more than 10 total users.');
  },
);

test('push refuses a channel too many in the words of the exchange', LONG_ONLY, async (context) => {
  const push = { ...STUB_DEFAULTS.push, subscriptions: 2, messagesPerMinute: 6 };
  const stub = await startStub(context, { push, pushTypes: ['trades'] });
  const client = await connect(context, stub);
  client.subscribe({ type: 'fastAssetCtxs' });
  for (const coin of ['BTC', 'ETH', 'SOL']) client.subscribe({ type: 'trades', coin });
  client.socket.send('{"method":"shout"}');
  await client.settle();
  client.subscribe({ type: 'trades', coin: 'SOL' });
  while (client.messages.length === 0) await once(client.socket, 'message');
  const { refusals } = (await stub.report()).push;
  assert.deepEqual(Object.keys(refusals), [
    'Invalid subscription {"type"',
    'Cannot subscribe to more than 2 channels.',
    'Error parsing JSON into valid websocket request',
    'Cannot send more than 6 messages per minute.',
  ]);
});

const PUSH_CASES: readonly [string, FaultPlan, (messages: Json[]) => boolean][] = [
  ['silent', { push: ['silent'] }, (messages) => messages.length === 0],
  ['repeating', { push: ['repeating'] }, (messages) => messages.length >= 40],
  ['dropping', { push: ['dropping'] }, (messages) => messages.length < 20],
];

for (const [fault, plan, isSeen] of PUSH_CASES) {
  test(`push is ${fault} when it is told to be`, LONG_ONLY, async (context) => {
    const stub = await startStub(context);
    const client = await connect(context, stub);
    const [user] = usersOf(rebuild(stub));
    client.subscribe({ type: 'clearinghouseState', user });
    await client.settle();
    await stub.setFaults(plan);
    await stub.step(20);
    await stub.setFaults({});
    assert.ok(isSeen(await client.settle()));
  });
}

test(
  'a subscription to an unknown coin closes the socket without a word',
  LONG_ONLY,
  async (context) => {
    const stub = await startStub(context);
    for (const coin of ['NOPE', 'btc', 'GOLD']) {
      const client = await connect(context, stub);
      client.subscribe({ type: 'trades', coin: 'BTC' });
      await client.settle();
      client.subscribe({ type: 'trades', coin });
      const [code] = await once(client.socket, 'close', {
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      assert.deepEqual([code, client.messages], [1006, []]);
    }
    assert.equal((await stub.report()).push.refusals['unknown coin'], 3);
  },
);

test('a subscription to a listed coin closes the socket when that is switched on', async (context) => {
  const stub = await startStub(context);
  await stub.setFaults({ push: ['closingOnCoin'] });
  const [{ coin }, { coin: other }] = rebuild(stub).markets.markets;
  const client = await connect(context, stub);
  client.subscribe({ type: 'trades', coin: other });
  await client.settle();
  client.subscribe({ type: 'trades', coin });
  const [code] = await once(client.socket, 'close', { signal: AbortSignal.timeout(DEADLINE_MS) });
  assert.equal(code, 1006);
  assert.equal((await stub.report()).push.refusals['listed coin'], 1);
});

test('compressed marks are cut or far too large when that is switched on', async (context) => {
  // At this speed an idle connection is closed after three seconds.
  const stub = await startStub(context, { speed: 20 });
  const client = await connect(context, stub);
  client.subscribe({ type: 'fastAssetCtxs' });
  await client.settle();
  await stub.setFaults({ push: ['brokenFrames'] });
  const kinds = new Set<boolean>();
  while (kinds.size < 2) {
    await stub.step();
    for (const { data } of await client.settle()) {
      const read = readInflatedJson(data);
      assert.ok(read instanceof InflateError, data);
      kinds.add(read.message.includes('8388608'));
    }
  }
});

test('the lists of markets change when that is switched on, and prices are in their order', async (context) => {
  const stub = await startStub(context);
  const before = await ask(stub, { type: 'metaAndAssetCtxs' });
  const dexes = await ask(stub, { type: 'perpDexs' });
  await stub.setFaults({ otherLists: true });
  const [{ universe }, contexts] = await ask(stub, { type: 'metaAndAssetCtxs' });
  const names = (listed: Json[]) => listed.map(({ name }) => name);
  assert.deepEqual(names(universe).slice(2), names(before[0].universe).reverse());
  assert.equal(universe[1].isDelisted, true);
  assert.deepEqual(contexts.slice(2), before[1].toReversed());
  assert.equal((await ask(stub, { type: 'perpDexs' })).length, dexes.length - 1);
  assert.equal((await ask(stub, { type: 'allPerpMetas' })).length, dexes.length - 1);
  await stub.setFaults({});
  assert.deepEqual(await ask(stub, { type: 'metaAndAssetCtxs' }), before);
});

test('trades of the last 20 seconds are repeated at first', LONG_ONLY, async (context) => {
  const stub = await startStub(context, { speed: 10 });
  const [early, late] = [await connect(context, stub), await connect(context, stub)];
  early.subscribe({ type: 'trades', coin: 'BTC' });
  let traded: Json[] = [];
  while (traded.length === 0) {
    await stub.step();
    traded = (await early.settle()).filter(({ channel }) => channel === 'trades');
  }
  late.subscribe({ type: 'trades', coin: 'BTC' });
  const [, repeated] = await late.settle();
  assert.deepEqual(repeated.data, traded[0].data);
});

test('a connection too many in a minute is refused', LONG_ONLY, async (context) => {
  const push = { ...STUB_DEFAULTS.push, newConnectionsPerMinute: 2 };
  const stub = await startStub(context, { push });
  for (let count = 0; count < 2; count++) (await connect(context, stub)).socket.terminate();
  await assert.rejects(connect(context, stub), /429/);
});

test('a connection on which nothing is sent for a minute is closed', LONG_ONLY, async (context) => {
  const stub = await startStub(context, { speed: 200 });
  const client = await connect(context, stub);
  await once(client.socket, 'close', { signal: AbortSignal.timeout(DEADLINE_MS) });
});

test('connections are closed every second when that is switched on', LONG_ONLY, async (context) => {
  const stub = await startStub(context);
  const client = await connect(context, stub);
  await stub.setFaults({ push: ['closing'] });
  await once(client.socket, 'close', { signal: AbortSignal.timeout(DEADLINE_MS) });
});

/** Questions that are passed on: which ones, in which form, how often, and what comes back. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QuestionBody } from '../../src/info/question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { createState } from '../../src/state/state.ts';
import { readForwardOutcome } from '../../src/upstream/channel/channel-messages.ts';
import type { AskOptions } from '../../src/upstream/client/upstream.ts';
import { UpstreamError } from '../../src/upstream/client/upstream-error.ts';
import { readAllPerpMetas, readPerpDexs } from '../../src/upstream/dialect/market-answers.ts';
import {
  createDirectory,
  directoryOfLedger,
  type MarketDirectory,
} from '../../src/upstream/dialect/market-directory.ts';
import { Forwarder } from '../../src/upstream/follower/forwarder.ts';
import { DEX, market, mustRead, partialLedger } from '../upstream/follower/ledgers.ts';
import { HANG, json, plain, type Respond } from './client/scripted-server.ts';
import { openFixture, USER, untilSo } from './client/upstream-fixture.ts';
import { ManualClock } from './manual-clock.ts';

/** The id of a key. */
const KEY = '4f1d22a0c9';

/** An upstream that answers with what a test says. */
class FakeUpstream {
  readonly asked: { question: QuestionBody; options: AskOptions }[] = [];
  answer: () => string | Error = () => '{"n":1}';

  async askBytes(question: QuestionBody, options: AskOptions) {
    this.asked.push({ question, options });
    const answer = this.answer();
    if (answer instanceof Error) throw answer;
    return { bytes: Buffer.from(answer), rows: undefined };
  }
}

function createForwarder(ttlMs = 1_000) {
  const upstream = new FakeUpstream();
  const clock = new ManualClock();
  let directory: MarketDirectory | undefined;
  const known = (listed: MarketDirectory) => {
    directory = listed;
  };
  const forwarder = new Forwarder({
    upstream,
    ttlMs,
    waitMsMax: 5_000,
    clock,
    directory: () => directory,
  });
  return { upstream, clock, forwarder, known };
}

const FORWARDING = { ttlMs: 1_000, waitMsMax: 5_000, directory: () => undefined };
const ORDERS = { type: 'openOrders', user: USER };
const ANSWERED = answered('{"n":1}');

function answered(text: string) {
  return { outcome: 'answered', bytes: Buffer.from(text), rows: undefined };
}

test('the follower rebuilds a question once more, whoever sent it', async () => {
  const { upstream, forwarder } = createForwarder();
  await forwarder.forward({ ...ORDERS, user: USER.replace('aa', 'AA') }, KEY);
  const writing = await forwarder.forward({ ...ORDERS, outPath: '/tmp/x' }, KEY);
  assert.deepEqual(writing, {
    outcome: 'failed',
    reason: 'outPath: got "/tmp/x", expected none: it is never passed on',
  });
  const [{ question, options }] = upstream.asked.splice(0);
  assert.deepEqual(question, ORDERS);
  const { priority, waitMsMax, waitingKeys } = options;
  assert.deepEqual([priority, waitMsMax, ...(waitingKeys?.keyIds ?? [])], ['forward', 5_000, KEY]);
  const snapshot = { type: 'fileSnapshot', outPath: '/tmp/x' };
  assert.deepEqual(await forwarder.forward(snapshot, KEY), {
    outcome: 'failed',
    reason: '"fileSnapshot" is not passed on',
  });
  assert.deepEqual(await forwarder.forward({ type: 'openOrders', user: 'me' }, KEY), {
    outcome: 'failed',
    reason: 'user: got "me", expected 0x and 40 hexadecimal digits',
  });
  assert.equal(upstream.asked.length, 0);
});

test('an answer is given again for as long as it is kept, and no longer', async () => {
  const { upstream, clock, forwarder } = createForwarder();
  assert.deepEqual(await forwarder.forward(ORDERS, KEY), ANSWERED);
  upstream.answer = () => '{"n":2}';
  clock.advance(999);
  assert.deepEqual(await forwarder.forward(ORDERS, KEY), ANSWERED);
  clock.advance(1);
  assert.deepEqual(await forwarder.forward(ORDERS, KEY), answered('{"n":2}'));
  assert.equal(upstream.asked.length, 2);
});

test('questions that differ in one unknown field have answers of their own', async () => {
  const { upstream, forwarder } = createForwarder();
  for (const limit of [1, 2, 1]) await forwarder.forward({ ...ORDERS, limit }, KEY);
  assert.deepEqual(
    upstream.asked.map(({ question }) => question),
    [1, 2].map((limit) => ({ ...ORDERS, limit })),
  );
});

test('nothing is kept where that is switched off, and failures never are', async () => {
  const { upstream, forwarder } = createForwarder(0);
  await forwarder.forward(ORDERS, KEY);
  await forwarder.forward(ORDERS, KEY);
  assert.equal(upstream.asked.length, 2);
  const kept = createForwarder();
  kept.upstream.answer = () => new UpstreamError('server', 'status 500: null');
  await kept.forwarder.forward(ORDERS, KEY);
  kept.upstream.answer = () => '{"n":1}';
  assert.deepEqual(await kept.forwarder.forward(ORDERS, KEY), ANSWERED);
});

test('what is kept is bounded: the oldest answers go first', async () => {
  const { upstream, forwarder } = createForwarder(60_000);
  upstream.answer = () => JSON.stringify('x'.repeat(1 << 20));
  const ask = (token: number) => forwarder.forward({ type: 'borrowLendReserveState', token }, KEY);
  for (let token = 0; token < 100; token++) await ask(token);
  await ask(99);
  assert.equal(upstream.asked.length, 100);
  await ask(0);
  assert.equal(upstream.asked.length, 101);
});

test('a spent budget is busy, with the time to wait; other failures say whether the upstream was asked', async () => {
  const { upstream, forwarder } = createForwarder();
  const answer = async (error: Error) => {
    upstream.answer = () => error;
    return forwarder.forward(ORDERS, KEY);
  };
  const spent = new UpstreamError('busy', 'the budget is spent', { retryAfterMs: 12_001 });
  assert.deepEqual(await answer(spent), {
    outcome: 'busy',
    reason: 'the budget is spent',
    retryAfterSeconds: 13,
  });
  assert.deepEqual(await answer(new UpstreamError('rate_limited', 'status 429')), {
    outcome: 'busy',
    reason: 'status 429',
    retryAfterSeconds: 1,
    isSent: true,
  });
  assert.deepEqual(await answer(new UpstreamError('refused', 'status 403', { status: 403 })), {
    outcome: 'failed',
    reason: 'status 403',
    isSent: true,
  });
  assert.deepEqual(await answer(new UpstreamError('down', 'no response')), {
    outcome: 'failed',
    reason: 'no response',
  });
  const unreachable = new UpstreamError('network', 'ECONNREFUSED', { isSent: false });
  assert.deepEqual(await answer(unreachable), { outcome: 'failed', reason: 'ECONNREFUSED' });
  const refused = new UpstreamError('refused', 'status 422: what?', { status: 422 });
  const reason = 'status 422: what?';
  assert.deepEqual(await answer(refused), { outcome: 'refused', reason, isSent: true });
});

test('identical questions in flight are asked once, and paid from a share of their own', async (t) => {
  const { upstream, server, clock } = await openFixture(t, HANG, { forwardShare: 0.25 });
  const forwarder = new Forwarder({ ...FORWARDING, upstream, clock });
  server.respond = (response, seen) => setImmediate(() => json([])(response, seen));
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, () => forwarder.forward(ORDERS, KEY)),
  );
  assert.equal(server.seen.length, 1);
  assert.ok(outcomes.every((one) => one.outcome === 'answered' && one.rows === 0));
  // 300 of 1200 are for forwarded questions; 20 are spent.
  for (let count = 0; count < 20; count++) {
    await forwarder.forward({ ...ORDERS, dex: `d${count}` }, `key ${count}`);
  }
  assert.equal(server.seen.length, 15);
  assert.equal(upstream.budget.waitMs({ weight: 2, priority: 'asked' }), 0);
});

test('a question that the upstream refuses is answered with its reason', async (t) => {
  const { upstream, clock, server } = await openFixture(t, plain(422, 'unknown type'), {
    forwardShare: 0.25,
  });
  const forwarder = new Forwarder({ ...FORWARDING, upstream, clock });
  const outcome = await forwarder.forward(ORDERS, KEY);
  const reason = 'status 422: unknown type';
  assert.deepEqual(outcome, { outcome: 'refused', reason, isSent: true });
  assert.deepEqual(readForwardOutcome(JSON.parse(JSON.stringify(outcome))), outcome);
  await untilSo('one request', () => server.seen.length === 1);
});

test('a refusal in our own form keeps its code, field and message, without secrets', async (t) => {
  const { upstream, clock, server } = await openFixture(t, HANG, { forwardShare: 0.25 });
  const forwarder = new Forwarder({ ...FORWARDING, upstream, clock });
  let count = 0;
  const refuse = (body: object) => {
    server.respond = json(body, 422);
    count += 1;
    return forwarder.forward({ ...ORDERS, dex: `d${count}` }, KEY);
  };
  const own = new RequestError('unknown_type', 'type: got "l2Book", expected meta', 'type');
  const outcome = await refuse(JSON.parse(own.toJson()));
  const named = { reason: own.message, field: 'type', code: 'unknown_type' };
  assert.deepEqual(outcome, { outcome: 'refused', ...named, isSent: true });
  assert.deepEqual(readForwardOutcome(JSON.parse(JSON.stringify(outcome))), outcome);

  const names = `type: expected one of ${'clearinghouseState, '.repeat(20)}meta`;
  const long = await refuse({ error: 'unknown_type', message: names });
  assert.ok(long.outcome === 'refused' && long.field === undefined);
  assert.match(
    long.reason,
    /^type: expected one of (clearinghouseState, )*clearinghouseState, \.\.\.$/,
  );
  assert.ok(long.reason.length <= 204);

  for (const body of [
    { error: 'rate_limited', message: 'no', field: 'type' },
    { error: 'constructor', message: 'no' },
    { error: 'unknown_type', message: 7 },
    { error: 'unknown_type', message: 'no', filler: 'x'.repeat(16 << 10) },
    [{ error: 'unknown_type', message: 'no' }],
  ]) {
    const other = await refuse(body);
    assert.ok(other.outcome === 'refused' && other.code === undefined, JSON.stringify(other));
    assert.match(other.reason, /^status 422: \[?\{"/);
  }
  const odd = await refuse({ error: 'invalid_field', message: 'no', field: 'a field' });
  assert.deepEqual(odd, { outcome: 'refused', reason: 'no', code: 'invalid_field', isSent: true });
});

/** What an exchange lists: on the first dex, on xyz, and a dex whose name no ledger can hold. */
function listed(): MarketDirectory {
  const universe = (...names: string[]) => ({
    universe: names.map((name) => ({ name, szDecimals: 2, maxLeverage: 20, marginTableId: 20 })),
    marginTables: [],
  });
  const { fullName, deployer } = DEX;
  const dexes = ['xyz', 'morethan6'].map((name) => ({ name, fullName, deployer }));
  const listings = mustRead(readPerpDexs([null, ...dexes]));
  const metas = [universe('BTC', 'kPEPE'), universe('xyz:TSLA'), universe('morethan6:A')];
  return createDirectory(createState(), {
    dexes: listings,
    metas: mustRead(readAllPerpMetas(metas, listings)),
  });
}

test('a coin that the exchange does not list is refused and named, without asking', async () => {
  const { upstream, forwarder, known } = createForwarder();
  known(listed());
  const candles = { interval: '1m', startTime: 1 };
  const cases: readonly (readonly [QuestionBody, string, string])[] = [
    [{ type: 'l2Book', coin: 'NOPE' }, 'coin', 'NOPE'],
    [{ type: 'recentTrades', coin: 'btc' }, 'coin', 'btc'],
    [{ type: 'fundingHistory', coin: 'xyz:NOPE', startTime: 1 }, 'coin', 'xyz:NOPE'],
    [{ type: 'activeAssetData', user: USER, coin: 'nope:BTC' }, 'coin', 'nope:BTC'],
    [{ type: 'perpAnnotation', coin: 'TSLA' }, 'coin', 'TSLA'],
    [{ type: 'candleSnapshot', req: { ...candles, coin: 'NOPE' } }, 'req.coin', 'NOPE'],
  ];
  for (const [question, field, coin] of cases) {
    const reason = `${field}: got "${coin}", expected a market that the exchange lists`;
    const outcome = { outcome: 'refused', reason, field } as const;
    assert.deepEqual(await forwarder.forward(question, KEY), outcome);
    assert.deepEqual(readForwardOutcome(JSON.parse(JSON.stringify(outcome))), outcome);
  }
  assert.deepEqual(upstream.asked, []);
});

test('contexts of a dex that the exchange does not list are refused, without asking', async () => {
  const { upstream, forwarder, known } = createForwarder();
  const unknown = ['allMids', 'metaAndAssetCtxs'].map((type) => ({ type, dex: 'nope' }));
  // As long as nothing is known, or only what the ledger has.
  for (const question of unknown)
    assert.deepEqual(await forwarder.forward(question, KEY), ANSWERED);
  known(directoryOfLedger(partialLedger(DEX, market('BTC'))));
  const [{ type }] = unknown;
  await forwarder.forward({ type, dex: 'other' }, KEY);
  assert.equal(upstream.asked.splice(0).length, 3);
  known(listed());
  const reason = 'dex: got "gone", expected a perp dex that the exchange lists';
  for (const question of unknown) {
    const refused = { outcome: 'refused', reason, field: 'dex' };
    assert.deepEqual(await forwarder.forward({ ...question, dex: 'gone' }, KEY), refused);
  }
  assert.deepEqual(upstream.asked, []);
});

test('contexts of dexes that are listed, and prices of all of them, are asked once and shared', async () => {
  const { upstream, forwarder, known } = createForwarder();
  known(listed());
  const questions = ['', 'xyz', 'morethan6'].map((dex) => ({ type: 'metaAndAssetCtxs', dex }));
  const asked = [...questions, { type: 'allMids', dex: 'ALL_DEXS' }, { type: 'allMids' }];
  for (const question of [...asked, ...asked]) {
    assert.deepEqual(await forwarder.forward(question, KEY), ANSWERED);
  }
  assert.deepEqual(
    upstream.asked.map(({ question }) => question),
    asked,
  );
});

test('coins that are listed, spot pairs and outcomes are passed on', async () => {
  const { upstream, forwarder, known } = createForwarder();
  known(listed());
  const coins = ['BTC', 'kPEPE', 'xyz:TSLA', 'morethan6:A', '@107', 'PURR/USDC', '#12', '+120'];
  for (const coin of coins) await forwarder.forward({ type: 'l2Book', coin }, KEY);
  assert.deepEqual(
    upstream.asked.map(({ question }) => question['coin']),
    coins,
  );
});

test('any coin is passed on as long as the universe that would have it is not known', async () => {
  const { upstream, forwarder, known } = createForwarder();
  const ask = (coin: string) => forwarder.forward({ type: 'l2Book', coin }, KEY);
  await ask('NOPE');
  known(directoryOfLedger(partialLedger(DEX, market('BTC'))));
  for (const coin of ['ABC', 'xyz:ABC', 'nope:ABC']) await ask(coin);
  assert.equal(upstream.asked.length, 4);
});

test('a status 500 of the upstream is a failure, whatever was asked', async (t) => {
  const { upstream, clock } = await openFixture(t, json(null, 500), { forwardShare: 0.25 });
  const forwarder = new Forwarder({ ...FORWARDING, upstream, clock, directory: listed });
  const outcome = await forwarder.forward(
    { type: 'fundingHistory', coin: 'BTC', startTime: 1 },
    KEY,
  );
  assert.deepEqual(outcome, { outcome: 'failed', reason: 'status 500: null', isSent: true });
});

test('an outcome says whether the exchange was asked, which has charged for it then', async (t) => {
  const outcomeOf = async (options: { budget?: number }, respond: Respond | undefined) => {
    const { server, ...fixture } = await openFixture(t, respond ?? HANG, {
      forwardShare: 0.25,
      ...options,
    });
    if (respond === undefined) await server.close();
    const forwarder = new Forwarder({ ...FORWARDING, ...fixture });
    const outcome = await forwarder.forward(ORDERS, KEY);
    return [outcome.outcome, 'isSent' in outcome];
  };
  assert.deepEqual(await outcomeOf({}, plain(429, 'slow down')), ['busy', true]);
  assert.deepEqual(await outcomeOf({}, plain(200, 'no JSON')), ['failed', true]);
  // The part for forwarded questions is less than one of them takes.
  assert.deepEqual(await outcomeOf({ budget: 60 }, json([])), ['busy', false]);
  assert.deepEqual(await outcomeOf({}, undefined), ['failed', false]);
});

test('a key that asks a lot leaves a place and weight to others, and waits for itself only', async (t) => {
  const { upstream, clock, server } = await openFixture(t, HANG, { forwardShare: 0.25 });
  const forwarder = new Forwarder({ ...FORWARDING, upstream, clock });
  const ask = (key: string, dex: string) => forwarder.forward({ ...ORDERS, dex }, key);
  const asked = Array.from({ length: 30 }, (_, index) => ask(KEY, `a${index}`));
  const last = ask('another', 'b');
  await untilSo('four questions in flight', () => server.seen.length === 4);
  assert.deepEqual(
    server.seen.map(({ body }) => JSON.parse(body).dex),
    ['a0', 'a1', 'a2', 'b'],
  );
  void asked;
  void last;
});

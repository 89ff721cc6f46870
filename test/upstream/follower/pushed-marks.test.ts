/** Marks by push: which channel brings them, and that nothing asks for them meanwhile. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { MarkChannels } from '../../../src/upstream/follower/markets/mark-channels.ts';
import { accountOf, FollowedExchange, findTraders } from './followed-exchange.ts';

type Json = ReturnType<typeof JSON.parse>;

const QUESTION = 'metaAndAssetCtxs';
/** As often as the exchange sends `allDexsAssetCtxs`. */
const SLOW_MS = 13_600;

function connect(t: TestContext): FollowedExchange {
  const exchange = new FollowedExchange({ hasNoPush: false });
  t.after(() => exchange.stop());
  return exchange;
}

function channelOf({ subscriptions }: FollowedExchange): string | undefined {
  return subscriptions.find(({ type }) => type.endsWith('AssetCtxs'))?.type;
}

function midsOf({ truth }: FollowedExchange): Record<string, string> {
  const dexes = truth.markets.dexes.map(({ name: dex }) =>
    JSON.parse(answerQuestion(truth, { type: 'allMids', dex })),
  );
  return Object.assign({}, ...dexes);
}

/** The frame of all marks, or of those of some coins, as the exchange sends it. */
function fastFrame(exchange: FollowedExchange, coins?: readonly string[]): string {
  const marks = Object.entries(midsOf(exchange))
    .filter(([coin]) => coins === undefined || coins.includes(coin))
    .map(([coin, markPx]) => [coin, { markPx, midPx: null }]);
  const frame = { ...Object.fromEntries(marks), '@1': { markPx: '1.0' }, '#2': { midPx: '0.5' } };
  return deflateRawSync(Buffer.from(JSON.stringify(frame))).toString('base64');
}

function slowFrame({ truth }: FollowedExchange): Json {
  const ctxs = truth.markets.dexes.map(({ name }) => {
    const [, contexts] = JSON.parse(answerQuestion(truth, { type: QUESTION, dex: name }));
    return [name, contexts];
  });
  return { ctxs };
}

/** Opens the connection, and brings the first frame as soon as it is subscribed to. */
async function open(exchange: FollowedExchange): Promise<void> {
  exchange.handler?.opened();
  await exchange.until(() => channelOf(exchange) === 'fastAssetCtxs');
  exchange.handler?.message('fastAssetCtxs', fastFrame(exchange));
}

/** A second of pushed changes. */
async function pushSecond(exchange: FollowedExchange): Promise<void> {
  await exchange.advance(1_000);
  exchange.handler?.message('fastAssetCtxs', fastFrame(exchange, ['BTC']));
}

/** The upstream pushes no `fastAssetCtxs`, and all marks every 13.6 s, the first after a while. */
async function openSlow(exchange: FollowedExchange): Promise<void> {
  exchange.handler?.opened();
  await exchange.until(() => channelOf(exchange) === 'fastAssetCtxs');
  exchange.handler?.refused({ type: 'fastAssetCtxs' }, 'Invalid subscription');
  assert.equal(channelOf(exchange), 'allDexsAssetCtxs');
}

async function pushSlow(exchange: FollowedExchange): Promise<void> {
  await exchange.advance(SLOW_MS);
  exchange.handler?.message('allDexsAssetCtxs', slowFrame(exchange));
}

test('ten minutes of fast marks by push ask for none, from the start on', async (t) => {
  const exchange = connect(t);
  await open(exchange);
  await exchange.start();
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  for (let second = 0; second < 600; second++) await pushSecond(exchange);
  assert.equal(exchange.countAsked(QUESTION), 0);
  const { marks } = exchange.feed.status().ages;
  assert.ok(marks !== null && marks <= 1_000, `${marks}`);
});

test('ten minutes of slow marks by push ask for none after the first frame', async (t) => {
  const exchange = connect(t);
  await openSlow(exchange);
  await exchange.start();
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  await pushSlow(exchange);
  const before = exchange.countAsked(QUESTION);
  for (let frame = 0; frame < 45; frame++) await pushSlow(exchange);
  assert.equal(exchange.countAsked(QUESTION), before);
});

test('while the first slow frame is awaited, marks are asked for at most every 20 s', async (t) => {
  const exchange = connect(t);
  await openSlow(exchange);
  await exchange.start();
  await exchange.advance(44_000);
  assert.equal(channelOf(exchange), 'allDexsAssetCtxs');
  const asked = exchange.asked.filter(({ question }) => question.type === QUESTION);
  const ofFirst = asked.filter(({ question }) => question['dex'] === '');
  assert.equal(ofFirst.length, 2);
  const dexes = exchange.truth.markets.dexes.length;
  assert.equal(asked.length, dexes + 1, 'dexes without an account are asked for once');
});

test('a channel that brings nothing makes room for the next one, and then marks are asked for', async (t) => {
  const exchange = connect(t);
  exchange.handler?.opened();
  await exchange.until(() => channelOf(exchange) === 'fastAssetCtxs');
  await exchange.until(() => channelOf(exchange) === 'allDexsAssetCtxs', 30_000);
  await exchange.until(() => channelOf(exchange) === undefined, 60_000);
  const before = exchange.countAsked(QUESTION);
  await exchange.advance(60_000);
  assert.ok(exchange.countAsked(QUESTION) - before >= 8, 'at a sixth of the budget');
});

test('a channel that stops bringing marks is noticed, too', async (t) => {
  const exchange = connect(t);
  await open(exchange);
  await exchange.start();
  for (let second = 0; second < 20; second++) await pushSecond(exchange);
  assert.equal(exchange.countAsked(QUESTION), 0);
  await exchange.advance(25_000);
  assert.equal(channelOf(exchange), 'allDexsAssetCtxs');
  assert.ok(exchange.countAsked(QUESTION) > 0);
});

test('the better channel is tried again after an hour of the same connection', () => {
  const channels = new MarkChannels(0);
  channels.noteOpened(0);
  channels.leave(1_000);
  let nowMs = 1_000;
  while (channels.type !== 'fastAssetCtxs') {
    nowMs += SLOW_MS;
    channels.noteFrame(nowMs, true);
    channels.switch(nowMs);
  }
  assert.ok(nowMs >= 3_601_000 && nowMs < 3_601_000 + SLOW_MS, `${nowMs}`);
});

test('frames without marks say that no mark has changed', async (t) => {
  const exchange = connect(t);
  await open(exchange);
  await exchange.start();
  for (let second = 0; second < 30; second++) {
    await exchange.advance(1_000);
    exchange.handler?.message('fastAssetCtxs', { BTC: { midPx: '1.0' } });
  }
  assert.equal(exchange.countAsked(QUESTION), 0);
  assert.equal(channelOf(exchange), 'fastAssetCtxs');
});

test('after a frame that cannot be read, all marks are pushed again, and none are current before', async (t) => {
  const exchange = connect(t);
  const wanted: (string | undefined)[] = [];
  await open(exchange);
  await exchange.start();
  for (let second = 0; second < 20; second++) await pushSecond(exchange);
  Object.defineProperty(exchange, 'subscriptions', {
    set: (subscriptions) => wanted.push(channelOf({ subscriptions } as FollowedExchange)),
    get: () => [],
  });
  exchange.handler?.message('fastAssetCtxs', fastFrame(exchange).slice(0, 40));
  assert.deepEqual(wanted.slice(0, 2), [undefined, 'fastAssetCtxs']);
  assert.deepEqual(exchange.feed.status().counters.mismatches, { fastAssetCtxs: 1 });
  // Changes that were on their way say nothing about the others.
  for (let second = 0; second < 12; second++) await pushSecond(exchange);
  assert.ok(exchange.countAsked(QUESTION) > 0);
  exchange.handler?.acknowledged({ type: 'fastAssetCtxs' });
  exchange.handler?.message('fastAssetCtxs', fastFrame(exchange));
  const before = exchange.countAsked(QUESTION);
  for (let second = 0; second < 60; second++) await pushSecond(exchange);
  assert.equal(exchange.countAsked(QUESTION), before);
  assert.equal(wanted.at(-1), 'fastAssetCtxs');
});

test('a second frame that cannot be read within ten minutes leaves the channel', async (t) => {
  const exchange = connect(t);
  await open(exchange);
  await exchange.start();
  const bomb = deflateRawSync(Buffer.alloc(9 << 20)).toString('base64');
  exchange.handler?.message('fastAssetCtxs', bomb);
  assert.equal(channelOf(exchange), 'fastAssetCtxs');
  exchange.handler?.acknowledged({ type: 'fastAssetCtxs' });
  await pushSecond(exchange);
  exchange.handler?.message('fastAssetCtxs', bomb);
  assert.equal(channelOf(exchange), 'allDexsAssetCtxs');
  assert.match(exchange.log.join('\n'), /fastAssetCtxs: got more, expected at most 8388608/);
});

test('slow frames of another number of markets do not make the marks of that dex current', async (t) => {
  const exchange = connect(t);
  await openSlow(exchange);
  await exchange.start();
  await pushSlow(exchange);
  const before = exchange.countAsked(QUESTION);
  for (let frame = 0; frame < 5; frame++) {
    const data = slowFrame(exchange);
    data.ctxs[0][1].pop();
    await exchange.advance(SLOW_MS);
    exchange.handler?.message('allDexsAssetCtxs', data);
  }
  const asked = exchange.asked.filter(({ question }) => question.type === QUESTION).slice(before);
  assert.ok(asked.length > 0);
  assert.ok(asked.every(({ question }) => question['dex'] === ''));
});

test('an odd element of a slow frame loses no dex, is counted, and has nothing asked for', async (t) => {
  const exchange = connect(t);
  await openSlow(exchange);
  await exchange.start();
  const pushOdd = async () => {
    const data = slowFrame(exchange);
    data.ctxs.unshift(null);
    await exchange.advance(SLOW_MS);
    exchange.handler?.message('allDexsAssetCtxs', data);
  };
  await pushOdd();
  const before = exchange.countAsked(QUESTION);
  for (let frame = 0; frame < 5; frame++) await pushOdd();
  assert.equal(exchange.countAsked(QUESTION), before);
  const { counters, isHealthy } = exchange.feed.status();
  assert.equal(counters.mismatches['ctxs'], 6);
  assert.equal(isHealthy, true);
  const lines = exchange.log.filter((line) => line.includes('ctxs'));
  const line =
    'allDexsAssetCtxs: left out, ctxs[0]: got null, expected a pair of a dex and its contexts';
  assert.deepEqual(lines, [line]);
});

test('with push switched off, marks are asked for at once, with one line in the log', async (t) => {
  const exchange = new FollowedExchange({ isPushOff: true, hasNoPush: false });
  t.after(() => exchange.stop());
  await exchange.until(() => exchange.countAsked(QUESTION) > 0, 1_500);
  await exchange.start();
  await exchange.advance(60_000);
  const lines = exchange.log.filter((line) => line.includes('push'));
  const line = 'no push connection, by --follow-push off: marks and accounts are asked for';
  assert.deepEqual(lines, [line]);
  assert.equal(exchange.feed.status().isHealthy, true);
});

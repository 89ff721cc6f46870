/** Push on a partial ledger with a follower: subscriptions to accounts that have to be read. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ItemOutcome } from '../../src/upstream/channel/follower-client.ts';
import { connectPush } from '../../tools/harness/push-client.ts';
import {
  ALICE,
  accountOfExchange,
  addStrangers,
  BOB,
  openFollowed,
  until,
} from '../http/followed.ts';

const SUBSCRIPTION = { type: 'clearinghouseState', user: ALICE, dex: '' };
const PARTIAL = { type: 'partial' };
const OWN: ItemOutcome = { outcome: 'upstream', answer: accountOfExchange('9.0'), time: 17 };

function account(rawUsd: string, dex = '') {
  return { type: 'account', user: ALICE, dex, rawUsd, positions: [] };
}

test('a subscription to an unknown account is acknowledged when it was read, with its first state', async (t) => {
  const { follower, ledger, key, ports } = await openFollowed(t);
  const client = await connectPush(t, { port: ports.lane, key });
  client.subscribe(SUBSCRIPTION);
  await client.next('subscriptionResponse');
  const state = await client.nextState();
  assert.deepEqual(
    [state.height, state['accountTime'], state['accountSource']],
    [2, ledger.state.time, undefined],
  );
  follower.rawUsd = '13.0';
  await follower.record({ kind: 'account', user: ALICE, dex: '' });
  const next = await client.nextState();
  assert.deepEqual([next.height, next['accountTime']], [3, ledger.state.time]);
  assert.equal(follower.wants.length, 1);
});

test('a subscription to what cannot be read is refused with the reason, and may be repeated', async (t) => {
  const { follower, key, ports, registry } = await openFollowed(t);
  follower.scripts.set(ALICE, async () => ({ outcome: 'failed', reason: 'gone' }));
  const client = await connectPush(t, { port: ports.lane, key });
  client.subscribe(SUBSCRIPTION);
  const refusal = String(await client.next('error'));
  assert.match(refusal, /^Subscription refused: upstream_failed: the account of 0xa11ce.*: gone/);
  follower.scripts.clear();
  client.subscribe(SUBSCRIPTION);
  await client.next('subscriptionResponse');
  await client.nextState();
  assert.match(await registry.metrics(), /^perpinfo_push_subscriptions 1$/m);
});

test('a subscription that is being read is there already, and can be cancelled', async (t) => {
  const { follower, key, ports, registry } = await openFollowed(t);
  let finish: () => void = () => undefined;
  const allowed = new Promise<void>((resolve) => {
    finish = resolve;
  });
  follower.scripts.set(ALICE, async (item) => {
    await allowed;
    return follower.record(item);
  });
  const client = await connectPush(t, { port: ports.lane, key });
  client.subscribe(SUBSCRIPTION);
  client.subscribe(SUBSCRIPTION);
  assert.match(String(await client.next('error')), /^Already subscribed: /);
  assert.match(await registry.metrics(), /^perpinfo_push_subscriptions 1$/m);
  client.send({ method: 'unsubscribe', subscription: SUBSCRIPTION });
  await client.next('subscriptionResponse');
  assert.match(await registry.metrics(), /^perpinfo_push_subscriptions 0$/m);
  finish();
  await sleep(50);
  await client.isQuiet();
});

const HOURLY = { weight: 20, periodMs: 3_600_000 };

test('any number of subscriptions and posts at once reads as many accounts as the key can pay', async (t) => {
  const { follower, key, ports } = await openFollowed(t, { budget: HOURLY });
  const client = await connectPush(t, { port: ports.lane, key });
  const { users, allow } = addStrangers(follower, 40);
  for (const [index, user] of users.entries()) {
    const question = { ...SUBSCRIPTION, user };
    if (index % 2 === 0) client.subscribe(question);
    else client.send({ method: 'post', id: index, request: { type: 'info', payload: question } });
  }
  const refusals = () =>
    client.frames.filter(({ data }) => JSON.stringify(data).includes('rate_limited')).length;
  await until(() => refusals() + follower.wants.length === users.length);
  allow();
  assert.equal(follower.wants.length, 10);
});

test('a subscription that could not be read is charged if the exchange was asked, or if it may have been', async (t) => {
  const { follower, key, ports } = await openFollowed(t, { budget: HOURLY });
  const client = await connectPush(t, { port: ports.lane, key });
  const subscribe = async (isSent: boolean) => {
    const sent = isSent ? ({ isSent: true } as const) : {};
    follower.scripts.set(ALICE, async () => ({ outcome: 'failed', reason: 'gone', ...sent }));
    client.subscribe(SUBSCRIPTION);
    await client.next('error');
  };
  await subscribe(false);
  await subscribe(true);
  const heavy = { type: 'webData2', user: BOB };
  client.subscribe(heavy);
  assert.match(String(await client.next('error')), /this question weighs 20, 18 of 20 are left/);
});

test('a connection that is closed while an account is read leaves nothing behind', async (t) => {
  const { follower, key, ports, registry, logged } = await openFollowed(t);
  follower.scripts.set(ALICE, async (item) => {
    await sleep(100);
    return follower.record(item);
  });
  const client = await connectPush(t, { port: ports.lane, key });
  client.subscribe(SUBSCRIPTION);
  client.send({ method: 'post', id: 1, request: { type: 'info', payload: SUBSCRIPTION } });
  await until(() => follower.wants.length === 1);
  client.close();
  await sleep(200);
  assert.match(await registry.metrics(), /^perpinfo_push_subscriptions 0$/m);
  assert.deepEqual(logged, []);
});

test("an account that is not recorded is pushed as the exchange's own answer, until it is recorded", async (t) => {
  const { follower, key, ports } = await openFollowed(t);
  follower.scripts.set(ALICE, async () => OWN);
  const client = await connectPush(t, { port: ports.lane, key });
  client.subscribe(SUBSCRIPTION);
  await client.next('subscriptionResponse');
  const own = await client.nextState();
  assert.deepEqual(own, {
    ...{ user: ALICE, dex: '', clearinghouseState: JSON.parse(accountOfExchange('9.0')) },
    ...{ accountTime: 17, accountSource: 'upstream' },
  });
  await follower.append(account('5.0'));
  const recorded = await client.nextState();
  assert.deepEqual([recorded.height, recorded['accountSource']], [2, undefined]);
});

test('an account that is taken back is pushed no more, until the exchange was asked', async (t) => {
  const { follower, key, ports } = await openFollowed(t, { first: [PARTIAL, account('5.0')] });
  const client = await connectPush(t, { port: ports.lane, key });
  client.subscribe(SUBSCRIPTION);
  await client.next('subscriptionResponse');
  assert.equal((await client.nextState()).height, 1);
  follower.scripts.set(ALICE, async () => OWN);
  await follower.append({ type: 'accountTime', user: ALICE, dex: '', time: 0 });
  await follower.append({ type: 'transfer', user: ALICE, dex: '', amount: '1.0' });
  await client.isQuiet();
  await until(() => follower.wants.length === 1);
  const own = await client.nextState();
  assert.equal(own['accountSource'], 'upstream');
});

test('an account that is read again unchanged is sent again, so that its age is seen', async (t) => {
  const { follower, ledger, key, ports } = await openFollowed(t, {
    first: [PARTIAL, account('5.0')],
  });
  const client = await connectPush(t, { port: ports.lane, key });
  const { time } = ledger.state;
  await follower.append({ type: 'accountTime', user: ALICE, dex: '', time: time - 60_000 });
  client.subscribe(SUBSCRIPTION);
  await client.next('subscriptionResponse');
  // The service may take a moment to apply the block.
  while ((await client.nextState())['accountTime'] !== time - 60_000);
  await follower.append({ type: 'accountTime', user: ALICE, dex: '', time });
  assert.equal((await client.nextState())['accountTime'], time);
});

test('with a maximum age, the account of a subscription is read again before it is too old', async (t) => {
  const { follower, ledger, key, ports } = await openFollowed(t, {
    first: [PARTIAL, account('5.0')],
    settings: { maxAccountAge: 1500 },
  });
  const client = await connectPush(t, { port: ports.lane, key });
  client.subscribe(SUBSCRIPTION);
  await client.next('subscriptionResponse');
  await client.nextState();
  await until(() => follower.wants.length > 0);
  const next = await client.nextState();
  assert.ok(ledger.state.time - (next['accountTime'] as number) <= 1500);
  assert.equal(follower.wants[0].maxAgeMs, 500);
});

test('a state that is older than the maximum age is not pushed', async (t) => {
  const { follower, ledger, key, ports } = await openFollowed(t, {
    first: [PARTIAL, account('5.0')],
    settings: { maxAccountAge: 60_000, followWait: 100 },
  });
  const client = await connectPush(t, { port: ports.lane, key });
  client.subscribe(SUBSCRIPTION);
  await client.next('subscriptionResponse');
  await client.nextState();
  follower.scripts.set(ALICE, async () => ({ outcome: 'failed', reason: 'gone' }));
  const old = ledger.state.time - 120_000;
  await follower.append(
    { type: 'transfer', user: ALICE, dex: '', amount: '1.0' },
    { type: 'accountTime', user: ALICE, dex: '', time: old },
  );
  await sleep(50);
  await client.isQuiet();
  await follower.append({ type: 'accountTime', user: ALICE, dex: '', time: ledger.state.time });
  assert.equal((await client.nextState()).height, 3);
});

test('the follower hears of subscriptions for as long as they last', async (t) => {
  const { follower, key, ports } = await openFollowed(t, { first: [PARTIAL, account('5.0')] });
  const client = await connectPush(t, { port: ports.lane, key });
  client.subscribe(SUBSCRIPTION);
  await client.next('subscriptionResponse');
  const item = { kind: 'account', user: ALICE, dex: '' };
  await until(() => follower.interests.length > 0);
  assert.deepEqual(follower.interests[0].item, item);
});

test('a new dex: the account on it is read for those who subscribe to all dexes', async (t) => {
  const { follower, key, ports } = await openFollowed(t, { first: [PARTIAL, account('5.0')] });
  const client = await connectPush(t, { port: ports.lane, key });
  client.subscribe({ type: 'allDexsClearinghouseState', user: ALICE });
  await client.next('subscriptionResponse');
  await client.nextState('allDexsClearinghouseState');
  await follower.append({ type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: BOB });
  const state = await client.nextState('allDexsClearinghouseState');
  assert.equal(state.height, 3);
  assert.deepEqual(
    follower.wants.map(({ item }) => item),
    [{ kind: 'account', user: ALICE, dex: 'xyz' }],
  );
});

test('more than a hundred posts that wait are refused', async (t) => {
  const { follower, key, ports } = await openFollowed(t, { settings: { followWait: 60_000 } });
  let finish: (outcome: ItemOutcome) => void = () => undefined;
  const outcome = new Promise<ItemOutcome>((resolve) => {
    finish = resolve;
  });
  follower.scripts.set(ALICE, () => outcome);
  const client = await connectPush(t, { port: ports.lane, key });
  for (let id = 1; id <= 101; id++) {
    client.send({ method: 'post', id, request: { type: 'info', payload: SUBSCRIPTION } });
  }
  const refused = (await client.next('post')) as { id: number; response: { payload: string } };
  assert.equal(refused.id, 101);
  assert.equal(refused.response.payload, 'too many pending post requests id=101');
  finish(OWN);
  for (let id = 1; id <= 100; id++) await client.next('post');
});

/** The client @nktkas/hyperliquid, as it is published, asks over HTTP and over push. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import {
  HttpTransport,
  InfoClient,
  SubscriptionClient,
  WebSocketTransport,
} from '@nktkas/hyperliquid';
import { WebSocket } from 'ws';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import { createKey, until } from '../../tools/harness/running.ts';
import { isFollowed } from '../follow/perpinfo-upstream.ts';
import { SUBSCRIPTIONS, TYPES } from '../info/types.ts';
import { type Demo, startDemo, type User } from './demo.ts';
import type { Question } from './read-ledger.ts';

// The client takes the runtime's own, which Node 20 does not have.
Object.assign(globalThis, { WebSocket });

const demo = await startDemo({ after });
const { base, trader, staker } = demo;
const abcTrader = await demo.holderOn('abc', trader);

function connect(to: Demo): WebSocketTransport {
  const transport = new WebSocketTransport({ url: to.pushAddress });
  to.closeFirst(() => transport.close());
  return transport;
}

const TRANSPORTS = { HTTP: new HttpTransport({ apiUrl: base }), push: connect(demo) };

function upperCase(user: User): User {
  return `0x${user.slice(2).toUpperCase()}`;
}

interface Asked {
  readonly question: Question;
  ask(info: InfoClient): Promise<unknown>;
}

const ASKED: readonly Asked[] = [
  {
    question: { type: 'clearinghouseState', user: trader },
    ask: (info) => info.clearinghouseState({ user: trader }),
  },
  {
    question: { type: 'clearinghouseState', user: abcTrader, dex: 'abc' },
    ask: (info) => info.clearinghouseState({ user: upperCase(abcTrader), dex: 'abc' }),
  },
  {
    question: { type: 'delegations', user: staker },
    ask: (info) => info.delegations({ user: upperCase(staker) }),
  },
  {
    question: { type: 'perpDeployAuctionStatus' },
    ask: (info) => info.perpDeployAuctionStatus(),
  },
  {
    question: { type: 'delegatorSummary', user: staker },
    ask: (info) => info.delegatorSummary({ user: staker }),
  },
  {
    question: { type: 'userAbstraction', user: trader },
    ask: (info) => info.userAbstraction({ user: trader }),
  },
  { question: { type: 'meta' }, ask: (info) => info.meta() },
  { question: { type: 'meta', dex: 'idx' }, ask: (info) => info.meta({ dex: 'idx' }) },
  { question: { type: 'metaAndAssetCtxs' }, ask: (info) => info.metaAndAssetCtxs() },
  {
    question: { type: 'metaAndAssetCtxs', dex: 'abc' },
    ask: (info) => info.metaAndAssetCtxs({ dex: 'abc' }),
  },
  { question: { type: 'allPerpMetas' }, ask: (info) => info.allPerpMetas() },
  { question: { type: 'allMids' }, ask: (info) => info.allMids() },
  { question: { type: 'allMids', dex: 'abc' }, ask: (info) => info.allMids({ dex: 'abc' }) },
  { question: { type: 'perpDexs' }, ask: (info) => info.perpDexs() },
  { question: { type: 'marginTable', id: 3 }, ask: (info) => info.marginTable({ id: 3 }) },
  { question: { type: 'marginTable', id: 1001 }, ask: (info) => info.marginTable({ id: 1001 }) },
  { question: { type: 'exchangeStatus' }, ask: (info) => info.exchangeStatus() },
  { question: { type: 'spotMeta' }, ask: (info) => info.spotMeta() },
  { question: { type: 'spotMetaAndAssetCtxs' }, ask: (info) => info.spotMetaAndAssetCtxs() },
  {
    question: { type: 'spotClearinghouseState', user: trader },
    ask: (info) => info.spotClearinghouseState({ user: trader }),
  },
  { question: { type: 'outcomeMeta' }, ask: (info) => info.outcomeMeta() },
  // On a follower the account may be the exchange's own answer beside the ledger's markets.
  isFollowed
    ? {
        question: { type: 'clearinghouseState', user: trader },
        ask: async (info) => (await info.webData2({ user: trader })).clearinghouseState,
      }
    : {
        question: { type: 'webData2', user: trader },
        ask: (info) => info.webData2({ user: upperCase(trader) }),
      },
];

for (const [name, transport] of Object.entries(TRANSPORTS)) {
  const info = new InfoClient({ transport });

  test(`over ${name} every answer is the one that the ledger gives`, async () => {
    for (const { question, ask } of ASKED) {
      await demo.assertTold(await demo.tell(() => ask(info)), question);
    }
  });

  test(`over ${name} the examples have something to show`, async () => {
    // Until a follower was ready, the examples may have closed their positions.
    const first = isFollowed ? await demo.holderOn('', trader) : trader;
    const further = isFollowed ? await demo.holderOn('abc', trader) : abcTrader;
    for (const asked of [{ user: first }, { user: further, dex: 'abc' }]) {
      assert.ok((await info.clearinghouseState(asked)).assetPositions.length > 0);
    }
    assert.ok((await info.delegations({ user: staker })).length > 0);
    assert.equal((await info.perpDeployAuctionStatus())?.durationSeconds, 600);
  });
}

test('a portfolio is answered over every transport', {
  skip: isFollowed && 'it is passed on',
}, async () => {
  for (const transport of Object.values(TRANSPORTS)) {
    const info = new InfoClient({ transport });
    const periods = await until('the archive', () =>
      info.portfolio({ user: trader }).catch(() => undefined),
    );
    assert.deepEqual(
      periods.map(([name]) => name),
      PERIODS,
    );
    for (const [, { accountValueHistory, pnlHistory }] of periods) {
      assert.ok(Number(accountValueHistory.at(-1)?.[1]) > 0);
      assert.equal(pnlHistory[0][1], '0.0');
    }
  }
});

const PERIODS = [
  ...['day', 'week', 'month', 'allTime'],
  ...['perpDay', 'perpWeek', 'perpMonth', 'perpAllTime'],
];

const NO_SUCH_TYPE = `type: got "openOrders", expected one of ${TYPES}`;

/** A follower asks the exchange. */
const PASSED_ON = { skip: isFollowed && 'it is passed on' };

/** What the client's error has of an answer over HTTP. */
interface HttpFailure extends Error {
  readonly response: Response;
}

test('a question that there is not is refused in our words over HTTP', PASSED_ON, async () => {
  const info = new InfoClient({ transport: TRANSPORTS.HTTP });
  const error: HttpFailure = await info.openOrders({ user: trader }).then(
    () => assert.fail('it was answered'),
    (failure) => failure,
  );
  assert.equal(error.name, 'HttpRequestError');
  assert.equal(error.response.status, 422);
  const refusal = { error: 'unknown_type', message: NO_SUCH_TYPE, field: 'type' };
  const repeated = { code: 'unknown_type', msg: NO_SUCH_TYPE };
  assert.deepEqual(await error.response.json(), { ...refusal, ...repeated });
  assert.ok(error.message.startsWith('422 Unprocessable Entity - {"error":"unknown_type"'));
});

test('a question that there is not is refused in our words over push', PASSED_ON, async () => {
  const info = new InfoClient({ transport: TRANSPORTS.push });
  await assert.rejects(info.openOrders({ user: trader }), {
    name: 'WebSocketRequestError',
    message: `unknown_type: ${NO_SUCH_TYPE}`,
  });
});

/**
 * What is pushed has, besides what the client declares, the place in the ledger. If the ledger follows an
 * exchange there is the time of the account too, and an answer of the exchange's own has nothing else.
 */
interface Placed {
  readonly height?: number;
  readonly time?: number;
  readonly accountTime?: number;
  readonly accountSource?: string;
}

/** How many of the pushed states are computed again. */
const CHECKED_MAX = 10;

/** Collects what is pushed, and lets it be waited for. */
class Inbox<T> {
  readonly received: (T & Placed)[] = [];
  readonly listener = (data: T) => void this.received.push(data as T & Placed);

  async untilReceived(count: number): Promise<void> {
    await until(`${count} states`, () => this.received.length >= count);
  }
}

test('the account that is subscribed to is pushed as the ledger has it, until it is not', async () => {
  const transport = connect(demo);
  const client = new SubscriptionClient({ transport });
  const accounts = new Inbox();
  const further = new Inbox();
  const all = new Inbox();
  const first = await client.clearinghouseState({ user: upperCase(trader) }, accounts.listener);
  await client.clearinghouseState({ user: abcTrader, dex: 'abc' }, further.listener);
  await client.allDexsClearinghouseState({ user: abcTrader }, all.listener);
  await Promise.all([accounts.untilReceived(3), further.untilReceived(3), all.untilReceived(3)]);

  await first.unsubscribe();
  // The client would not show what still came: the frames do.
  const frames: string[] = [];
  transport.socket.addEventListener('message', ({ data }) => frames.push(data));
  await all.untilReceived(all.received.length + 3);
  assert.ok(frames.some((frame) => frame.includes(abcTrader)));
  assert.deepEqual(
    frames.filter((frame) => frame.includes(trader)),
    [],
  );

  await assertPushed(accounts, 'clearinghouseState', { user: trader, dex: '' });
  await assertPushed(further, 'clearinghouseState', { user: abcTrader, dex: 'abc' });
  await assertPushed(all, 'allDexsClearinghouseState', { user: abcTrader }, 'clearinghouseStates');
});

async function assertPushed(
  { received }: Inbox<unknown>,
  type: string,
  fields: Question,
  pushedAs = type,
): Promise<void> {
  let previous = 0;
  // More may arrive while these are checked.
  for (const { accountTime, ...data } of received.slice(0, CHECKED_MAX)) {
    const { height } = data;
    if (height === undefined) {
      await assertOwn(data as Question, fields, pushedAs);
      continue;
    }
    assert.ok(height > previous);
    previous = height;
    const { time } = await demo.stateAt(height);
    const state = await demo.answerAt(height, { type, ...fields });
    assert.deepEqual(data, { ...fields, [pushedAs]: state, height, time });
    assert.equal(accountTime !== undefined, isFollowed && 'user' in fields);
  }
}

/** Each account is as the exchange had it at the account's own time. */
async function assertOwn(data: Question, fields: Question, pushedAs: string): Promise<void> {
  const { [pushedAs]: answer, ...rest } = data;
  assert.deepEqual(rest, { ...fields, accountSource: 'upstream' });
  const states = pushedAs === 'clearinghouseState' ? [[fields['dex'], answer]] : answer;
  for (const [dex, state] of states as [string, { time: number }][]) {
    await assertAccount(state, { type: 'clearinghouseState', user: fields['user'], dex });
  }
}

async function assertAccount(state: { time: number }, question: Question): Promise<void> {
  const candidates = await demo.answersAt(state.time, question);
  const isTrue = candidates.some((candidate) => isDeepStrictEqual(candidate, state));
  if (!isTrue) assert.deepEqual(state, candidates.at(-1));
}

test('prices that are subscribed to are pushed, those of each dex to whom they are for', async () => {
  const client = new SubscriptionClient({ transport: connect(demo) });
  const first = new Inbox();
  const further = new Inbox();
  const subscription = await client.allMids(first.listener);
  await client.allMids({ dex: 'abc' }, further.listener);
  await Promise.all([first.untilReceived(3), further.untilReceived(3)]);
  await subscription.unsubscribe();
  await assertPushed(first, 'allMids', {}, 'mids');
  await assertPushed(further, 'allMids', { dex: 'abc' }, 'mids');
});

interface WebData {
  readonly clearinghouseState: { readonly time: number };
  readonly serverTime: number;
}

/** As the client's own method did it while it had one. */
test('webData2 is pushed with all that its answer has', async () => {
  const transport = connect(demo);
  const inbox = new Inbox();
  const payload = { type: 'webData2', user: upperCase(trader) };
  await transport.subscribe('webData2', payload, ({ detail }) => inbox.listener(detail));
  await inbox.untilReceived(3);
  const received = inbox.received.slice(0, CHECKED_MAX);
  for (const { height, time, accountTime, accountSource, ...data } of received) {
    const { clearinghouseState, serverTime } = data as WebData;
    await assertAccount(clearinghouseState, { type: 'clearinghouseState', user: trader });
    if (height === undefined) {
      assert.equal(accountSource, 'upstream');
      continue;
    }
    assert.deepEqual(data, await demo.answerAt(height, { type: 'webData2', user: trader }));
    assert.equal(time, serverTime);
    assert.equal(accountTime !== undefined, isFollowed);
  }
});

test('a subscription to what there is not is refused in our words', async () => {
  const client = new SubscriptionClient({ transport: TRANSPORTS.push });
  await assert.rejects(
    client.clearinghouseState({ user: trader, dex: 'nope' }, () => undefined),
    {
      name: 'WebSocketRequestError',
      message:
        'Invalid subscription: unknown_dex: dex: got "nope", expected one of "", "abc", "idx"' +
        ` {"type":"clearinghouseState","user":"${trader}","dex":"nope"}`,
    },
  );
  const words = `unknown_type: type: got "l2Book", expected one of ${SUBSCRIPTIONS}`;
  await assert.rejects(
    client.l2Book({ coin: 'BTC' }, () => undefined),
    (error: Error) => {
      assert.equal(error.name, 'WebSocketRequestError');
      assert.ok(error.message.startsWith(`Invalid subscription: ${words} {"type":"l2Book"`));
      return true;
    },
  );
});

test('with a key that was revoked the error has the status', async () => {
  const { id, secret } = await createKey(demo.data);
  const apiUrl = `${new URL(base).origin}/${secret}/`;
  const info = new InfoClient({ transport: new HttpTransport({ apiUrl }) });
  const statusOf = () =>
    info.exchangeStatus().then(
      () => 200,
      ({ response }: HttpFailure) => response.status,
    );
  await until('the key to be known', async () => (await statusOf()) === 200);
  const store = await openEmbeddedKeys(demo.data);
  try {
    store.revoke(id);
  } finally {
    await store.close();
  }
  await until('the key to be unknown', async () => (await statusOf()) === 401);
  await assert.rejects(info.exchangeStatus(), (error: Error) => {
    assert.ok(error.message.startsWith('401 Unauthorized - {"error":"unknown_key"'));
    return true;
  });
});

test('without an auction its status is null', {
  skip: isFollowed && 'a follower records no absence: 503 not_ready',
}, async (context) => {
  const quiet = await startDemo(context, '--no-auction');
  const transports = [new HttpTransport({ apiUrl: quiet.base }), connect(quiet)];
  for (const transport of transports) {
    assert.equal(await new InfoClient({ transport }).perpDeployAuctionStatus(), null);
  }
});

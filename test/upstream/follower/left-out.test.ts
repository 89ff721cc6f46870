/** Subscriptions that the upstream does not take: what /health says, and what is read in their place. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Address, formatAddress } from '../../../src/exact/address.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { isAccountKnown } from '../../../src/state/partial-ledger.ts';
import { UpstreamError } from '../../../src/upstream/client/upstream-error.ts';
import { describeLeftOut } from '../../../src/upstream/follower/push/left-out-report.ts';
import { accountOf, FollowedExchange, findTraders } from './followed-exchange.ts';

const USER = `0x${'Ab'.repeat(20)}`;

test('the report names twenty, counts all, and shows no user', () => {
  const trades = Array.from({ length: 30 }, (_, index) => ({
    subscription: { type: 'trades', coin: `C${index}` },
    reason: 'closed with 1006',
    isProven: true,
  }));
  const ofUser = {
    subscription: { type: 'clearinghouseState', user: USER, dex: 'xyz' },
    reason: `Invalid subscription {"user":"${USER}"}`,
    isProven: false,
  };
  const { count, named } = describeLeftOut([ofUser, ...trades]);
  assert.equal(count, 31);
  assert.equal(named.length, 20);
  assert.deepEqual(named.slice(0, 2), [
    { subscription: 'clearinghouseState xyz', reason: 'Invalid subscription {"user":"0x***"}' },
    { subscription: 'trades C0', reason: 'closed with 1006' },
  ]);
});

function coinsOf(exchange: FollowedExchange, user: Address): string[] {
  const question = { type: 'clearinghouseState', user: formatAddress(user) };
  const { assetPositions } = JSON.parse(answerQuestion(exchange.ledger, question));
  return assetPositions.map(({ position }: { position: { coin: string } }) => position.coin);
}

const COIN = 'BTC';

/** A follower of many accounts. */
async function followTraders(t: TestContext): Promise<FollowedExchange> {
  const exchange = new FollowedExchange();
  t.after(() => exchange.stop());
  await exchange.start();
  for (const user of findTraders(exchange.truth)) await exchange.readItem(accountOf(user));
  return exchange;
}

/** Of the followed accounts, one that holds the coin now, and one that does not. */
function chooseTraders(exchange: FollowedExchange): { holder: Address; other: Address } {
  const { truth, ledger } = exchange;
  const users = findTraders(truth).filter((user) => isAccountKnown(ledger, user, 0));
  const holder = users.find((user) => coinsOf(exchange, user).includes(COIN));
  const other = users.find((user) => !coinsOf(exchange, user).includes(COIN));
  assert.ok(holder !== undefined && other !== undefined);
  return { holder, other };
}

/** All trades are subscribed to, and confirmed, except those of the coin. */
async function openWithoutCoin(exchange: FollowedExchange): Promise<void> {
  exchange.handler?.opened();
  await exchange.advance(1_000);
  exchange.handler?.acknowledged({ type: 'trades', coin: 'ETH' });
  await exchange.advance(3_000);
  for (const one of exchange.subscriptions) {
    if (one['coin'] !== COIN) exchange.handler?.acknowledged(one);
  }
  await exchange.advance(3_000);
}

async function countReads(exchange: FollowedExchange, user: Address, ms: number) {
  const count = () => exchange.countAsked('clearinghouseState', formatAddress(user));
  const before = count();
  await exchange.advance(ms);
  return count() - before;
}

test('a market that was left out once has its dex polled, and /health names it', async (t) => {
  const exchange = await followTraders(t);
  leaveOut(exchange, false);
  await openWithoutCoin(exchange);
  const { other } = chooseTraders(exchange);
  assert.ok((await countReads(exchange, other, 10_000)) >= 5);
  const { leftOut, isHealthy } = exchange.feed.status();
  const named = [{ subscription: `trades ${COIN}`, reason: 'closed with 1006' }];
  assert.deepEqual(leftOut, { count: 1, named });
  assert.equal(isHealthy, false);
});

function leaveOut(exchange: FollowedExchange, isProven: boolean): void {
  const subscription = { type: 'trades', coin: COIN };
  exchange.leftOut.push({ subscription, reason: 'closed with 1006', isProven });
}

async function refuseRepeatedly(exchange: FollowedExchange): Promise<void> {
  const isWanted = () => exchange.subscriptions.some((one) => one['coin'] === COIN);
  for (let count = 0; count < 5; count++) {
    await exchange.until(isWanted);
    exchange.handler?.refused({ type: 'trades', coin: COIN }, 'Invalid subscription');
  }
  await exchange.advance(3_000);
}

const MISSING: readonly [string, (exchange: FollowedExchange) => Promise<void>][] = [
  [
    'closes connections again and again',
    async (exchange) => {
      leaveOut(exchange, true);
      await openWithoutCoin(exchange);
    },
  ],
  [
    'is refused again and again',
    async (exchange) => {
      await openWithoutCoin(exchange);
      await refuseRepeatedly(exchange);
    },
  ],
];

for (const [what, lose] of MISSING) {
  test(`a market that ${what} has only the accounts polled that hold it`, async (t) => {
    const exchange = await followTraders(t);
    await lose(exchange);
    const { holder, other } = chooseTraders(exchange);
    assert.equal(exchange.feed.status().isHealthy, true, exchange.feed.status().reason);
    const others = exchange.countAsked('clearinghouseState', formatAddress(other));
    assert.ok((await countReads(exchange, holder, 10_000)) >= 5);
    const rest = exchange.countAsked('clearinghouseState', formatAddress(other)) - others;
    assert.ok(rest <= 1, `${rest} reads`);
    assert.equal(exchange.feed.status().isHealthy, true, exchange.feed.status().reason);
  });

  test(`/health says so when an account with a position in a market that ${what} is not read`, async (t) => {
    const exchange = await followTraders(t);
    await lose(exchange);
    const { holder } = chooseTraders(exchange);
    exchange.fault = ({ type, user }) => {
      if (type !== 'clearinghouseState' || user !== formatAddress(holder)) return undefined;
      throw new UpstreamError('network', 'timed out');
    };
    await exchange.advance(6_000);
    const { isHealthy, reason } = exchange.feed.status();
    assert.equal(isHealthy, false);
    assert.match(reason, /accounts that may have changed are not read yet/);
  });
}

/** Subscriptions that the upstream does not take: what /health says, and what is read in their place. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
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

for (const isProven of [false, true]) {
  const what = isProven ? 'that closes connections again and again' : 'that was left out once';
  const effect = isProven ? 'is none to wait for' : 'has its dex polled';
  test(`a market ${what} ${effect}, and /health names it`, async (t) => {
    const exchange = new FollowedExchange();
    t.after(() => exchange.stop());
    await exchange.start();
    const [user] = findTraders(exchange.truth);
    await exchange.readItem(accountOf(user));
    const subscription = { type: 'trades', coin: 'BTC' };
    exchange.leftOut.push({ subscription, reason: 'closed with 1006', isProven });
    exchange.handler?.opened();
    await exchange.advance(1_000);
    const confirm = () => {
      for (const one of exchange.subscriptions) {
        if (one['coin'] !== 'BTC') exchange.handler?.acknowledged(one);
      }
    };
    exchange.handler?.acknowledged({ type: 'trades', coin: 'ETH' });
    await exchange.advance(3_000);
    confirm();
    await exchange.advance(3_000);
    const before = exchange.countAsked('clearinghouseState', accountOf(user).user);
    await exchange.advance(10_000);
    const reads = exchange.countAsked('clearinghouseState', accountOf(user).user) - before;
    assert.ok(isProven ? reads <= 1 : reads >= 5, `${reads} reads`);
    const { leftOut, isHealthy } = exchange.feed.status();
    const named = [{ subscription: 'trades BTC', reason: 'closed with 1006' }];
    assert.deepEqual(leftOut, { count: 1, named });
    assert.equal(isHealthy, isProven);
  });
}

/** What a service on a partial ledger tells of its follower: health, metrics, polling. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { FollowMetrics } from '../../src/service/metrics/follow-metrics.ts';
import { connect, exchange } from '../../tools/harness/raw-client.ts';
import { formatRequest } from '../../tools/harness/service.ts';
import { STATUS } from '../upstream/channel/conformance.ts';
import { ALICE, accountOfExchange, openFollowed } from './followed.ts';

const HEALTH = formatRequest({ method: 'GET', path: '/health' });

test('/health has the report of the follower, and is 503 while the exchange fails', async (t) => {
  const { follower, ports } = await openFollowed(t);
  const well = await exchange(ports.lane, HEALTH);
  assert.equal(well.status, 200);
  assert.deepEqual(JSON.parse(well.body).follow, STATUS);
  follower.report = { ...STATUS, isHealthy: false, reason: 'no answer for 30 s' };
  const ill = await exchange(ports.lane, HEALTH);
  const { status, message, follow } = JSON.parse(ill.body);
  assert.deepEqual([ill.status, status], [503, 'upstream_failed']);
  assert.equal(message, 'https://exchange.example fails: no answer for 30 s');
  assert.equal(follow.isHealthy, false);
});

test('/health of a partial ledger without a follower is 503, that of any other ledger is not', async (t) => {
  const without = await openFollowed(t, {
    wrap: (client) => ({ ...client, status: () => undefined, close: () => client.close() }),
  });
  const { status, body } = await exchange(without.ports.lane, HEALTH);
  assert.deepEqual([status, JSON.parse(body).status], [503, 'upstream_failed']);
  const whole = await openFollowed(t, { first: [] });
  const other = await exchange(whole.ports.lane, HEALTH);
  assert.deepEqual([other.status, 'follow' in JSON.parse(other.body)], [200, false]);
});

test('a poll of a followed account is a 304 with its time, one of an account that is not recorded never', async (t) => {
  const { follower, key, ports } = await openFollowed(t);
  const client = await connect(ports.lane);
  t.after(() => client.close());
  const poll = async (tag: string) => {
    const path = `/${key}/info?type=clearinghouseState&user=${ALICE}`;
    client.send(formatRequest({ method: 'GET', path, headers: { 'If-None-Match': tag } }));
    const { status, headers, body } = await client.response();
    return { status, body, tag: headers.get('etag') ?? '', headers };
  };
  let answer = accountOfExchange('1.0');
  follower.scripts.set(ALICE, async () => ({ outcome: 'upstream', answer, time: 17 }));
  const first = await poll('"none"');
  assert.deepEqual([first.status, first.body, first.tag], [200, answer, '']);
  assert.equal(first.headers.get('account-time'), '17');
  answer = accountOfExchange('2.0');
  const changed = await poll('"none"');
  assert.deepEqual([changed.status, changed.body], [200, answer]);
  follower.scripts.clear();
  const recorded = await poll(changed.tag);
  assert.deepEqual([recorded.status, recorded.headers.get('ledger-height')], [200, '2']);
  const again = await poll(recorded.tag);
  const headers = ['ledger-height', 'account-time'].map((name) => again.headers.get(name));
  assert.equal(again.status, 304);
  assert.deepEqual(headers, ['2', recorded.headers.get('account-time')]);
});

test('the metrics have ages, budget and counters of the report, and nothing without one', async () => {
  const registry = new Registry();
  let status: typeof STATUS | undefined = {
    ...STATUS,
    leftOut: { count: 2, named: [{ subscription: 'trades ABC', reason: 'closed with 1006' }] },
    counters: { mismatches: { withdrawable: 2 }, surprises: { szi: 1 } },
  };
  new FollowMetrics(registry, () => status);
  const lines = async () =>
    (await registry.metrics()).split('\n').filter((line) => /^perpinfo/.test(line));
  const expected = [
    'perpinfo_follow_age_seconds{of="marks"} 0.12',
    'perpinfo_follow_age_seconds{of="other_marks"} 61',
    'perpinfo_follow_age_seconds{of="markets"} 30',
    'perpinfo_follow_age_seconds{of="stream"} 0.005',
    'perpinfo_follow_healthy 1',
    'perpinfo_follow_accounts 3',
    'perpinfo_follow_budget_limit 1200',
    'perpinfo_follow_budget_left 1100',
    'perpinfo_follow_skipped 0',
    'perpinfo_follow_left_out 2',
    'perpinfo_follow_left_out_info{subscription="trades ABC"} 1',
    'perpinfo_follow_mismatches_total{field="withdrawable"} 2',
    'perpinfo_follow_surprises_total{field="szi"} 1',
  ];
  assert.deepEqual(await lines(), expected);
  assert.deepEqual(await lines(), expected);
  status = undefined;
  assert.deepEqual(await lines(), []);
});

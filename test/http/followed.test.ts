/** Questions on a partial ledger: what it does not hold is read first, on every transport. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { ChannelClient } from '../../src/upstream/channel/channel-client.ts';
import type { ItemOutcome } from '../../src/upstream/channel/follower-client.ts';
import { SocketChannel } from '../../src/upstream/channel/socket/socket-channel.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import {
  ALICE,
  accountOfExchange,
  addStrangers,
  BOB,
  openFollowed,
  until,
  VALIDATOR,
} from './followed.ts';

const ACCOUNT_OF_ALICE = { type: 'clearinghouseState', user: ALICE };
const DEX = { type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: BOB };
const PARTIAL = { type: 'partial' };

function account(user: string, dex = '') {
  return { type: 'account', user, dex, rawUsd: '7.0', positions: [] };
}

function withdrawableOf(body: string): string {
  return JSON.parse(body).withdrawable;
}

test('an account that is unknown is read, and then answered with the time of the read', async (t) => {
  const { follower, ledger, ask, ports } = await openFollowed(t);
  for (const port of [ports.lane, ports.node]) {
    const user = port === ports.lane ? ALICE : BOB;
    const { status, headers, body } = await ask({ ...ACCOUNT_OF_ALICE, user }, {}, port);
    assert.deepEqual([status, withdrawableOf(body)], [200, '12.5']);
    assert.equal(headers.get('ledger-height'), String(ledger.state.height));
    assert.equal(headers.get('account-time'), String(ledger.state.time));
    assert.equal(headers.get('account-source'), undefined);
  }
  const anyAge = Number.POSITIVE_INFINITY;
  assert.deepEqual(follower.wants, [
    { item: { kind: 'account', user: ALICE, dex: '' }, maxAgeMs: anyAge },
    { item: { kind: 'account', user: BOB, dex: '' }, maxAgeMs: anyAge },
  ]);
});

test('an account that is known is answered at once, and the follower hears that it was asked for', async (t) => {
  const { follower, ask } = await openFollowed(t, { first: [PARTIAL, account(ALICE)] });
  for (let asked = 0; asked < 3; asked++) {
    const { status, headers } = await ask(ACCOUNT_OF_ALICE);
    assert.deepEqual([status, headers.get('ledger-height')], [200, '1']);
  }
  await until(() => follower.interests.length > 0);
  const item = { kind: 'account', user: ALICE, dex: '' };
  const [interest] = follower.interests;
  assert.deepEqual(follower.interests, [{ item, count: 3, keyId: interest.keyId }]);
  assert.deepEqual(follower.wants, []);
});

test('on a ledger that is not partial nobody is asked, and answers have no account time', async (t) => {
  const { follower, ask } = await openFollowed(t, { first: [] });
  const { status, headers } = await ask(ACCOUNT_OF_ALICE, { 'Account-Max-Age': '0' });
  assert.deepEqual([status, headers.has('account-time')], [200, false]);
  assert.deepEqual(follower.wants, []);
});

const REFUSALS: readonly [ItemOutcome, number, object][] = [
  [
    { outcome: 'failed', reason: 'the exchange answered 500' },
    502,
    { error: 'upstream_failed', retryAfter: undefined },
  ],
  [
    { outcome: 'busy', reason: 'the budget is spent', retryAfterSeconds: 12 },
    503,
    { error: 'not_ready', retryAfter: '12' },
  ],
];

for (const [outcome, expected, { error, retryAfter }] of REFUSALS as readonly [
  Extract<ItemOutcome, { reason: string }>,
  number,
  { error: string; retryAfter: string | undefined },
][]) {
  test(`a want that is "${outcome.outcome}" is a ${expected} ${error}, on every transport`, async (t) => {
    const { follower, ask, post, ports } = await openFollowed(t);
    follower.scripts.set(ALICE, async () => outcome);
    const message = `the account of ${ALICE} on dex "": ${outcome.reason}`;
    for (const port of [ports.lane, ports.node]) {
      const { status, headers, body } = await ask(ACCOUNT_OF_ALICE, {}, port);
      assert.deepEqual([status, headers.get('retry-after')], [expected, retryAfter]);
      assert.deepEqual(JSON.parse(body), { error, message, code: error, msg: message });
    }
    assert.equal(await post(ACCOUNT_OF_ALICE), `${error}: ${message}`);
  });
}

test('a want that takes longer than the service waits is a 502', async (t) => {
  const { follower, ask } = await openFollowed(t, { settings: { followWait: 50 } });
  follower.scripts.set(ALICE, () => new Promise(() => undefined));
  const { status, body } = await ask(ACCOUNT_OF_ALICE);
  assert.equal(status, 502);
  assert.match(body, /not read within 50 ms/);
});

test('without a follower, what is unknown is a 503', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const { ask } = await openFollowed(t, {
    first: [PARTIAL, account(BOB)],
    wrap: () => new ChannelClient(new SocketChannel(folder)),
  });
  const { status, headers, body } = await ask(ACCOUNT_OF_ALICE);
  assert.deepEqual([status, headers.get('retry-after')], [503, '1']);
  assert.match(body, /no follower is connected/);
  assert.equal((await ask({ ...ACCOUNT_OF_ALICE, user: BOB })).status, 200);
});

test('the answer waits for the height that has the account, and not for ever', async (t) => {
  const { follower, ledger, ask } = await openFollowed(t, { settings: { followWait: 2_000 } });
  follower.scripts.set(ALICE, async (item) => {
    setTimeout(() => void follower.record(item), 50);
    return { outcome: 'recorded', height: 2 };
  });
  follower.scripts.set(BOB, async () => ({ outcome: 'recorded', height: 99 }));
  const { status, headers } = await ask(ACCOUNT_OF_ALICE);
  assert.deepEqual([status, headers.get('ledger-height')], [200, '2']);
  const late = await ask({ ...ACCOUNT_OF_ALICE, user: BOB });
  assert.equal(late.status, 503);
  assert.match(late.body, /"behind".*read into height 99, this replica is at 2/);
  assert.equal(ledger.state.height, 2);
});

test('an account that is older than the request allows is read again', async (t) => {
  const { follower, ledger, ask } = await openFollowed(t, { first: [PARTIAL, account(ALICE)] });
  const firstTime = ledger.state.time;
  await sleep(30);
  const young = await ask(ACCOUNT_OF_ALICE, { 'Account-Max-Age': '60000' });
  assert.equal(young.headers.get('account-time'), String(firstTime));
  const old = await ask(ACCOUNT_OF_ALICE, { 'Account-Max-Age': '20' });
  assert.deepEqual([old.status, withdrawableOf(old.body)], [200, '12.5']);
  assert.ok(Number(old.headers.get('account-time')) > firstTime);
  assert.deepEqual(
    follower.wants.map(({ maxAgeMs }) => maxAgeMs),
    [20],
  );
  // One that cannot be read again is refused: an old account must not pass for a fresh one.
  follower.scripts.set(ALICE, async () => ({ outcome: 'failed', reason: 'gone' }));
  assert.equal((await ask(ACCOUNT_OF_ALICE, { 'Account-Max-Age': '0' })).status, 502);
  assert.equal((await ask(ACCOUNT_OF_ALICE)).status, 200);
});

test('--max-account-age holds for requests that name no age', async (t) => {
  const { follower, ask } = await openFollowed(t, {
    first: [PARTIAL, account(ALICE)],
    settings: { maxAccountAge: 20 },
  });
  await sleep(30);
  assert.equal(withdrawableOf((await ask(ACCOUNT_OF_ALICE)).body), '12.5');
  await sleep(30);
  await ask(ACCOUNT_OF_ALICE, { 'Account-Max-Age': '60000' });
  assert.equal(follower.wants.length, 1);
});

test('an account with time 0 is read before it is answered, whatever its age may be', async (t) => {
  const { follower, ask } = await openFollowed(t, {
    first: [
      PARTIAL,
      account(ALICE),
      { type: 'accountTime', user: ALICE, dex: '', time: 0 },
      { type: 'transfer', user: BOB, dex: '', amount: '1.0' },
    ],
  });
  for (const user of [ALICE, BOB]) {
    const { body } = await ask({ type: 'clearinghouseState', user });
    assert.equal(withdrawableOf(body), '12.5');
  }
  assert.equal(follower.wants.length, 2);
});

/** The exchange's own answer, with a character that is not ASCII. */
const OWN = accountOfExchange('99.0').replace('"coin":"BTC"', '"coin":"é"');

test("an account that is not recorded is the exchange's own answer, without a height", async (t) => {
  const { follower, ask, post, ports } = await openFollowed(t);
  follower.scripts.set(ALICE, async () => ({ outcome: 'upstream', answer: OWN, time: 17 }));
  for (const port of [ports.lane, ports.node]) {
    const { status, headers, body } = await ask(ACCOUNT_OF_ALICE, {}, port);
    assert.deepEqual([status, JSON.parse(body)], [200, JSON.parse(OWN)]);
    assert.equal(headers.get('account-source'), 'upstream');
    assert.equal(headers.get('account-time'), '17');
    assert.deepEqual([headers.has('ledger-height'), headers.has('ledger-time')], [false, false]);
  }
  assert.deepEqual(await post(ACCOUNT_OF_ALICE), {
    type: 'clearinghouseState',
    data: JSON.parse(OWN),
    accountTime: 17,
    accountSource: 'upstream',
  });
});

test('a post waits for the account, and says when it was read', async (t) => {
  const { ledger, post } = await openFollowed(t);
  const payload = (await post(ACCOUNT_OF_ALICE)) as Record<string, unknown>;
  const { height, time } = ledger.state;
  assert.deepEqual([payload['height'], payload['accountTime']], [height, time]);
});

test('a batch wants all that is unknown at once, and lists those that could not be read', async (t) => {
  const { follower, ledger, ask } = await openFollowed(t, { first: [PARTIAL, account(BOB)] });
  const users = Array.from({ length: 20 }, (_, index) => `0x${String(index).padStart(40, '0')}`);
  const [failing, own] = users;
  let inFlight = 0;
  let inFlightMax = 0;
  for (const user of users) {
    follower.scripts.set(user, async (item) => {
      inFlightMax = Math.max(inFlightMax, ++inFlight);
      await sleep(20);
      inFlight--;
      if (user === failing) return { outcome: 'failed', reason: 'gone' };
      if (user === own) return { outcome: 'upstream', answer: OWN, time: 17 };
      return { outcome: 'recorded', height: await recordInTurn(() => follower.record(item)) };
    });
  }
  const question = { type: 'batchClearinghouseStates', users: [BOB, '0x12', ...users] };
  const { status, headers, body } = await ask(question);
  const { successful_states: states, failed_wallets: failed } = JSON.parse(body);
  assert.equal(status, 200);
  assert.deepEqual(
    states.map(([user]: [string]) => user),
    [BOB, ...users.slice(1)],
  );
  assert.deepEqual(states[1], [own, JSON.parse(OWN)]);
  assert.deepEqual(failed, [
    ['0x12', 'got "0x12", expected 0x and 40 hexadecimal digits'],
    [failing, `the account of ${failing} on dex "": gone`],
  ]);
  assert.equal(inFlightMax, users.length);
  // The oldest of all, and not from one height.
  assert.deepEqual(
    [headers.get('account-time'), headers.get('account-source')],
    ['17', 'upstream'],
  );
  assert.equal(headers.has('ledger-height'), false);
  assert.ok(ledger.state.height > 1);
});

test('an account that is taken back while others are read is not answered from what is left of it', async (t) => {
  const { follower, ask } = await openFollowed(t, { first: [PARTIAL, account(BOB)] });
  follower.scripts.set(ALICE, async (item) => {
    await follower.append({ type: 'accountTime', user: BOB, dex: '', time: 0 });
    return follower.record(item);
  });
  const question = { type: 'batchClearinghouseStates', users: [ALICE, BOB] };
  const { headers, body } = await ask(question);
  const { successful_states: states, failed_wallets: failed } = JSON.parse(body);
  assert.deepEqual([states.length, states[0][0]], [1, ALICE]);
  assert.deepEqual(failed, [
    [BOB, `the account of ${BOB} on dex "": not recorded any more, ask again`],
  ]);
  assert.notEqual(headers.get('account-time'), '0');
});

let lastRecord: Promise<unknown> = Promise.resolve();

/** One block after the other. */
async function recordInTurn(record: () => Promise<ItemOutcome>): Promise<number> {
  const recorded = lastRecord.then(record);
  lastRecord = recorded;
  const outcome = await recorded;
  return outcome.outcome === 'recorded' ? outcome.height : 0;
}

test('a batch on all dexes, and a user on all dexes, want the account on each of them', async (t) => {
  const { follower, ask } = await openFollowed(t, { first: [DEX, PARTIAL, account(ALICE)] });
  const all = await ask({ type: 'allDexsClearinghouseState', user: ALICE });
  const states = JSON.parse(all.body).map(([dex, state]: [string, { withdrawable: string }]) => [
    dex,
    state.withdrawable,
  ]);
  assert.deepEqual(states, [
    ['', '7.0'],
    ['xyz', '12.5'],
  ]);
  follower.scripts.set(BOB, (item) =>
    item.kind === 'account' && item.dex === 'xyz'
      ? Promise.resolve({ outcome: 'upstream', answer: OWN, time: 17 })
      : recordInTurn(() => follower.record(item)).then((height) => ({
          outcome: 'recorded',
          height,
        })),
  );
  const users = [ALICE, BOB];
  const batch = await ask({ type: 'batchClearinghouseStates', users, dex: 'ALL_DEXES' });
  const [, [, ofBob]] = JSON.parse(batch.body).successful_states;
  assert.deepEqual(ofBob[1], ['xyz', JSON.parse(OWN)]);
});

test('delegations that are unknown are read, and summed', async (t) => {
  const { follower, ask } = await openFollowed(t);
  const { headers, body } = await ask({ type: 'delegations', user: ALICE });
  assert.deepEqual(JSON.parse(body), [
    { validator: VALIDATOR, amount: '3.0', lockedUntilTimestamp: 0 },
  ]);
  assert.ok(headers.has('account-time'));
  const summary = await ask({ type: 'delegatorSummary', user: ALICE });
  assert.equal(JSON.parse(summary.body).delegated, '3.0');
  assert.deepEqual(
    follower.wants.map(({ item }) => item),
    [{ kind: 'delegations', user: ALICE }],
  );
  follower.scripts.set(BOB, async () => ({ outcome: 'upstream', answer: '[]', time: 17 }));
  assert.equal((await ask({ type: 'delegations', user: BOB })).body, '[]');
  assert.equal((await ask({ type: 'delegatorSummary', user: BOB })).status, 502);
});

test("webData2 has the exchange's own answer in its place", async (t) => {
  const { follower, ask } = await openFollowed(t);
  follower.scripts.set(ALICE, async () => ({ outcome: 'upstream', answer: OWN, time: 17 }));
  const { body, headers } = await ask({ type: 'webData2', user: ALICE });
  assert.deepEqual(JSON.parse(body).clearinghouseState, JSON.parse(OWN));
  assert.equal(headers.get('account-source'), 'upstream');
});

test('questions about nobody are answered at once and have no account time', async (t) => {
  const { follower, ask } = await openFollowed(t);
  const { status, headers } = await ask({ type: 'allMids' });
  assert.deepEqual([status, headers.has('account-time')], [200, false]);
  assert.deepEqual(follower.wants, []);
});

test('many who ask for the same account cause one want', async (t) => {
  const { follower, ask } = await openFollowed(t);
  follower.scripts.set(ALICE, async (item) => {
    // Long enough for all to have come: who comes just before the ledger has it causes another.
    await sleep(1000);
    return follower.record(item);
  });
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(ACCOUNT_OF_ALICE)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    new Array(20).fill(200),
  );
  assert.equal(follower.wants.length, 1);
});

const HOURLY = { weight: 20, periodMs: 3_600_000 };
const FAILED = { outcome: 'failed', reason: 'gone' } as const;

for (const transport of ['lane', 'node'] as const) {
  for (const method of ['POST', 'GET'] as const) {
    test(`any number of questions at once reads as many accounts as the key can pay (${transport}, ${method})`, async (t) => {
      const { follower, ask, query, ports } = await openFollowed(t, { budget: HOURLY });
      const port = ports[transport];
      const { users, allow } = addStrangers(follower, 60);
      const answers = users.map((user) =>
        method === 'GET'
          ? query(`type=clearinghouseState&user=${user}`, port)
          : ask({ ...ACCOUNT_OF_ALICE, user }, {}, port),
      );
      const refused: number[] = [];
      for (const answer of answers) {
        void answer.then(({ status }) => status === 429 && refused.push(status));
      }
      await until(() => refused.length + follower.wants.length === users.length);
      allow();
      const answered = (await Promise.all(answers)).filter(({ status }) => status === 200);
      assert.deepEqual([answered.length, follower.wants.length], [10, 10]);
    });
  }
}

test('a question for which the exchange was not asked costs nothing, an answer its weight', async (t) => {
  const { follower, ask } = await openFollowed(t, { budget: HOURLY });
  follower.scripts.set(ALICE, async () => FAILED);
  const refused = await ask(ACCOUNT_OF_ALICE);
  assert.equal(refused.headers.get('ratelimit-remaining'), '20');
  const answered = await ask({ ...ACCOUNT_OF_ALICE, user: BOB });
  assert.equal(answered.headers.get('ratelimit-remaining'), '18');
});

test('a question for which the exchange was asked in vain costs its weight', async (t) => {
  const { follower, ask } = await openFollowed(t, { budget: HOURLY });
  follower.scripts.set(ALICE, async () => ({ ...FAILED, isSent: true }));
  const { status, headers } = await ask(ACCOUNT_OF_ALICE);
  assert.deepEqual([status, headers.get('ratelimit-remaining')], [502, '18']);
});

test('a read that is late is charged until it is known that the exchange was not asked', async (t) => {
  const { follower, ask, query } = await openFollowed(t, {
    budget: HOURLY,
    settings: { followWait: 50 },
  });
  const ends: ((outcome: ItemOutcome) => void)[] = [];
  const late = () => new Promise<ItemOutcome>((resolve) => ends.push(resolve));
  for (const user of [ALICE, BOB]) follower.scripts.set(user, late);
  const remaining: unknown[] = [];
  for (const user of [ALICE, BOB]) {
    const { status, headers } = await ask({ ...ACCOUNT_OF_ALICE, user });
    remaining.push(status, headers.get('ratelimit-remaining'));
  }
  assert.deepEqual(remaining, [502, '18', 502, '16']);
  ends[0](FAILED);
  ends[1]({ ...FAILED, isSent: true });
  await setImmediate();
  const { headers } = await query('type=nonsense');
  assert.equal(headers.get('ratelimit-remaining'), '17');
});

test('the follower is given the id of the key that asks, and never its secret', async (t) => {
  const settings = { forward: true };
  const { follower, key, ask, query, post } = await openFollowed(t, { settings });
  await ask(ACCOUNT_OF_ALICE);
  await ask({ type: 'userFills', user: ALICE });
  await query(`type=clearinghouseState&user=${BOB}`);
  await post({ type: 'delegations', user: BOB });
  await until(() => follower.interests.length > 0);
  const ids = new Set([...follower.keyIds, ...follower.interests.map(({ keyId }) => keyId)]);
  assert.deepEqual([follower.keyIds.length, ids.size], [4, 1]);
  assert.match([...ids][0], /^[0-9a-f]{10}$/);
  assert.ok(!key.includes([...ids][0]));
});

test('a wrong question is refused before anything is read', async (t) => {
  const { follower, ask } = await openFollowed(t);
  assert.equal((await ask({ ...ACCOUNT_OF_ALICE, dex: 'nodex' })).status, 422);
  assert.equal((await ask(ACCOUNT_OF_ALICE, { 'Account-Max-Age': 'x' })).status, 422);
  assert.deepEqual(follower.wants, []);
});

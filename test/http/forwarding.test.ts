/** With --forward: what the ledger does not hold is asked of the exchange, on every transport. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { ForwardOutcome } from '../../src/upstream/channel/follower-client.ts';
import { ALICE, answerOfExchange, openFollowed } from './followed.ts';

const FORWARD = { settings: { forward: true } };
const FILLS = { type: 'userFills', user: ALICE };

test("a question that the ledger does not hold has the exchange's answer, without a height", async (t) => {
  const { follower, ask, post, ports } = await openFollowed(t, FORWARD);
  const question = { ...FILLS, dex: 'xyz', extra: ['field'] };
  for (const port of [ports.lane, ports.node]) {
    const { status, headers, body } = await ask(question, {}, port);
    assert.deepEqual([status, body], [200, answerOfExchange('userFills')]);
    assert.deepEqual([headers.has('ledger-height'), headers.has('account-time')], [false, false]);
  }
  assert.deepEqual(await post(question), {
    type: 'userFills',
    data: JSON.parse(answerOfExchange('userFills')),
  });
  assert.deepEqual(follower.forwarded, [question, question, question]);
});

test('a minimum height does not hold up what is passed on, nor a question about the past', async (t) => {
  const { follower, ask, ports } = await openFollowed(t, FORWARD);
  const later = { 'Ledger-Min-Height': '999999' };
  for (const port of [ports.lane, ports.node]) {
    assert.equal((await ask(FILLS, later, port)).status, 200);
    const past = await ask({ type: 'meta', atHeight: 1 }, later, port);
    assert.equal(JSON.parse(past.body).error, 'unknown_height');
    assert.equal(JSON.parse((await ask({ type: 'meta' }, later, port)).body).error, 'behind');
  }
  assert.equal(follower.forwarded.length, 2);
});

test('what the ledger holds is answered from it', async (t) => {
  const { follower, ask } = await openFollowed(t, FORWARD);
  for (const type of ['meta', 'allPerpMetas', 'perpDexs', 'exchangeStatus'])
    assert.ok((await ask({ type })).headers.has('ledger-height'), type);
  assert.equal((await ask({ type: 'clearinghouseState', user: ALICE })).status, 200);
  assert.deepEqual(follower.forwarded, []);
});

test('prices and contexts are those of the exchange, by POST, GET and post alike', async (t) => {
  const { follower, ask, query, post, ports } = await openFollowed(t, FORWARD);
  for (const type of ['allMids', 'metaAndAssetCtxs']) {
    const question = { type, dex: 'xyz' };
    const answers = [await ask(question)];
    for (const port of [ports.lane, ports.node]) {
      answers.push(await query(`type=${type}&dex=xyz`, port));
    }
    for (const { status, headers, body } of answers) {
      assert.deepEqual([status, body], [200, answerOfExchange(type)]);
      assert.deepEqual([headers.has('ledger-height'), headers.has('etag')], [false, false]);
    }
    assert.deepEqual(await post(question), { type, data: JSON.parse(answerOfExchange(type)) });
    assert.deepEqual(follower.forwarded.splice(0), new Array(4).fill(question));
  }
});

test('prices and contexts are not those of the ledger where the exchange fails', async (t) => {
  const { follower, ask, query } = await openFollowed(t, FORWARD);
  follower.answerForwarded = async () => ({ outcome: 'failed', reason: 'gone' });
  for (const type of ['allMids', 'metaAndAssetCtxs']) {
    for (const { status, body } of [await ask({ type }), await query(`type=${type}`)]) {
      assert.deepEqual([status, JSON.parse(body).error], [502, 'upstream_failed']);
    }
  }
});

test('without --forward, prices and contexts are what the ledger knows', async (t) => {
  const { follower, ask, query } = await openFollowed(t);
  for (const type of ['allMids', 'metaAndAssetCtxs']) {
    for (const { status, headers } of [await ask({ type }), await query(`type=${type}`)]) {
      assert.deepEqual([status, headers.has('ledger-height')], [200, true]);
    }
  }
  assert.deepEqual(follower.forwarded, []);
});

test('prices and contexts of the past are asked of the archive, not of the exchange', async (t) => {
  const { follower, ask, query } = await openFollowed(t, FORWARD);
  for (const type of ['allMids', 'metaAndAssetCtxs']) {
    for (const reply of [await ask({ type, atHeight: 1 }), await query(`type=${type}&atHeight=1`)])
      assert.match(reply.body, /"unknown_height".*there is no archive/);
  }
  assert.deepEqual(follower.forwarded, []);
});

test('a GET passes questions on as a POST does: numbers and flags by their text', async (t) => {
  const { follower, query } = await openFollowed(t, FORWARD);
  const fills = `type=userFillsByTime&user=${ALICE}&startTime=5&reversed=true&tag=7`;
  for (const text of [fills, 'type=l2Book&coin=BTC&nSigFigs=5']) {
    assert.equal((await query(text)).status, 200);
  }
  assert.deepEqual(follower.forwarded.splice(0), [
    { type: 'userFillsByTime', user: ALICE, startTime: 5, reversed: true, tag: '7' },
    { type: 'l2Book', coin: 'BTC', nSigFigs: 5 },
  ]);
  const wrong = [
    ['type=l2Book&coin=BTC&coin=ETH', 'coin', 'got 2 values in the query, expected one'],
    ['type=l2Book&coin=BTC&nSigFigs=9', 'nSigFigs', 'got "9", expected one of 2, 3, 4, 5'],
    [`${fills}&aggregateByTime=constructor`, 'aggregateByTime', 'got "constructor"'],
    [`type=userFills&user=${ALICE}&outPath=x`, 'outPath', 'got "x", expected none'],
  ];
  for (const [text, field, message] of wrong) {
    const { status, body } = await query(text);
    const refusal = JSON.parse(body);
    assert.deepEqual([status, refusal.field], [422, field]);
    assert.ok(refusal.message.startsWith(`${field}: ${message}`), refusal.message);
  }
  assert.equal(JSON.parse((await query('type=fileSnapshot')).body).error, 'unknown_type');
  assert.deepEqual(follower.forwarded, []);
});

test('a dex that the follower refuses without asking is an unknown dex', async (t) => {
  const { follower, ask } = await openFollowed(t, FORWARD);
  const answer = 'dex: got "nope", expected a perp dex that the exchange lists';
  follower.answerForwarded = async () => ({ outcome: 'refused', reason: answer, field: 'dex' });
  const { status, body } = await ask({ type: 'metaAndAssetCtxs', dex: 'nope' });
  const { error, message, field } = JSON.parse(body);
  assert.deepEqual([status, error, message, field], [422, 'unknown_dex', answer, 'dex']);
});

test('what is always empty here is asked of the exchange', async (t) => {
  const { follower, ask } = await openFollowed(t, FORWARD);
  assert.equal((await ask({ type: 'userAbstraction', user: ALICE })).status, 200);
  assert.deepEqual(follower.forwarded, [{ type: 'userAbstraction', user: ALICE }]);
});

test('wrong questions, other types and those that write files are refused here', async (t) => {
  const { follower, ask } = await openFollowed(t, FORWARD);
  const wrong = await ask({ type: 'userFills', user: '0x12' });
  assert.deepEqual([wrong.status, JSON.parse(wrong.body).error], [422, 'invalid_address']);
  const writing = await ask({ ...FILLS, outPath: '/tmp/x' });
  assert.deepEqual([writing.status, JSON.parse(writing.body).field], [422, 'outPath']);
  for (const type of ['fileSnapshot', 'order', 'constructor']) {
    const { status, body } = await ask({ type, user: ALICE });
    assert.deepEqual([status, JSON.parse(body).error], [422, 'unknown_type']);
  }
  assert.deepEqual(follower.forwarded, []);
});

test('without --forward nothing is forwarded', async (t) => {
  const { follower, ask } = await openFollowed(t);
  const { status, body } = await ask(FILLS);
  assert.deepEqual([status, JSON.parse(body).error], [422, 'unknown_type']);
  assert.deepEqual(follower.forwarded, []);
});

test("the key is charged with the exchange's weight, and with nothing for what was not sent", async (t) => {
  const { follower, ask } = await openFollowed(t, {
    settings: { forward: true },
    budget: { weight: 100, periodMs: 3_600_000 },
  });
  const remaining = async () => (await ask(FILLS)).headers.get('ratelimit-remaining');
  follower.answerForwarded = async () => ({ outcome: 'failed', reason: 'gone' });
  assert.equal(await remaining(), '100');
  // 20, and 1 more for each 20 fills.
  const answer = JSON.stringify(new Array(40).fill(JSON.parse(answerOfExchange('userFills'))[0]));
  follower.answerForwarded = async () => ({ outcome: 'answered', status: 200, answer });
  assert.equal(await remaining(), '78');
  follower.answerForwarded = async ({ type }) => ({
    outcome: 'answered',
    status: 200,
    answer: answerOfExchange(type),
  });
  assert.equal((await ask({ type: 'userRole', user: ALICE })).status, 200);
  const { status } = await ask(FILLS);
  assert.equal(status, 429);
});

test('a long answer passes through a worker byte for byte, weighed by the rows that came with it', async (t) => {
  const { follower, ask, ports } = await openFollowed(t, {
    ...FORWARD,
    budget: { weight: 100, periodMs: 3_600_000 },
  });
  const fill = JSON.parse(answerOfExchange('userFills'))[0];
  const bytes = Buffer.from(JSON.stringify(new Array(8_000).fill(fill)));
  follower.answerForwarded = async () => ({ outcome: 'answered', bytes, rows: 40 });
  const parse = t.mock.method(JSON, 'parse');
  for (const [port, remaining] of [
    [ports.lane, '78'],
    [ports.node, '78'],
  ] as const) {
    const { status, headers, body } = await ask(FILLS, {}, port);
    assert.deepEqual([status, headers.get('ratelimit-remaining')], [200, remaining]);
    assert.ok(Buffer.from(body).equals(bytes));
  }
  // The checks of the tests themselves parse every answer.
  const calls = parse.mock.calls.filter(({ stack }) => !stack.stack?.includes('answer-checks'));
  const longest = Math.max(...calls.map((call) => String(call.arguments[0]).length));
  assert.ok(longest < 1_000, `${longest} characters`);
});

test('a question that the exchange was sent in vain is charged, an answer in full as a debt', async (t) => {
  const { follower, ask } = await openFollowed(t, {
    settings: { forward: true, followWait: 50 },
    budget: { weight: 80, periodMs: 3_600_000 },
  });
  const ends: (() => void)[] = [];
  const remaining: unknown[] = [];
  const failed = { outcome: 'failed', reason: 'gone' } as const;
  const answers: (() => Promise<ForwardOutcome>)[] = [
    async () => ({ ...failed, isSent: true }),
    // Late: nobody knows yet whether it was sent.
    () => new Promise((resolve) => ends.push(() => resolve(failed))),
    () => new Promise((resolve) => ends.push(() => resolve({ ...failed, isSent: true }))),
  ];
  for (const answer of answers) {
    follower.answerForwarded = answer;
    const { status, headers } = await ask(FILLS);
    remaining.push(status, headers.get('ratelimit-remaining'));
  }
  assert.deepEqual(remaining, [502, '60', 502, '40', 502, '20']);
  for (const end of ends) end();
  await setImmediate();
  // 60 of 80 are spent, and 20 of it given back. 20, and 1 more for each 20 fills.
  const bytes = Buffer.from('[]');
  follower.answerForwarded = async () => ({ outcome: 'answered', bytes, rows: 1000 });
  const { headers } = await ask(FILLS);
  assert.equal(headers.get('ratelimit-remaining'), '0');
  // 110 of 80 are spent: 30 are owed, and 20 more are needed, at 80 an hour.
  const { status, headers: refused } = await ask(FILLS);
  assert.equal(status, 429);
  assert.equal(Math.round(Number(refused.get('retry-after')) / 50), 45);
});

test('what the exchange refuses weighs as much as what it answers', async (t) => {
  const { follower, ask } = await openFollowed(t, {
    ...FORWARD,
    budget: { weight: 100, periodMs: 3_600_000 },
  });
  const remaining = async (status: number) => {
    follower.answerForwarded = async () => ({ outcome: 'answered', status, answer: '[]' });
    return (await ask(FILLS)).headers.get('ratelimit-remaining');
  };
  assert.deepEqual([await remaining(200), await remaining(422)], ['80', '60']);
});

test('what the follower refuses without asking names its field and weighs 1', async (t) => {
  const { follower, ask } = await openFollowed(t, {
    ...FORWARD,
    budget: { weight: 100, periodMs: 3_600_000 },
  });
  const answer = 'coin: got "NOPE", expected a market that the exchange lists';
  const refused = { outcome: 'refused', reason: answer, field: 'coin' } as const;
  follower.answerForwarded = async () => refused;
  const { status, headers, body } = await ask({ type: 'l2Book', coin: 'NOPE' });
  const { error, message, field } = JSON.parse(body);
  assert.deepEqual([status, error, message, field], [422, 'invalid_field', answer, 'coin']);
  assert.equal(headers.get('ratelimit-remaining'), '99');
});

test('whether the exchange was asked is not concluded from the field of a refusal', async (t) => {
  const { follower, ask } = await openFollowed(t, {
    ...FORWARD,
    budget: { weight: 100, periodMs: 3_600_000 },
  });
  const reason = 'status 422: no such coin';
  for (const [refused, left, expected] of [
    [{ field: 'coin', isSent: true }, '80', ['coin', `the exchange refused it: ${reason}`]],
    [{}, '79', [undefined, reason]],
  ] as const) {
    follower.answerForwarded = async () => ({ outcome: 'refused', reason, ...refused });
    const { headers, body } = await ask(FILLS);
    const { field, message } = JSON.parse(body);
    assert.deepEqual([field, message], expected);
    assert.equal(headers.get('ratelimit-remaining'), left);
  }
});

test('the refusal of another perpinfo keeps its code and its field', async (t) => {
  const { follower, ask, post, ports } = await openFollowed(t, FORWARD);
  const reason = 'type: got "l2Book", expected meta';
  const named = { reason, field: 'type', code: 'unknown_type' } as const;
  follower.answerForwarded = async () => ({ outcome: 'refused', ...named, isSent: true });
  const expected = ['unknown_type', 'type', `the exchange refused it: ${reason}`];
  for (const port of [ports.lane, ports.node]) {
    const { status, body } = await ask(FILLS, {}, port);
    const { error, field, message } = JSON.parse(body);
    assert.deepEqual([status, error, field, message], [422, ...expected]);
  }
  assert.match(
    JSON.stringify(await post(FILLS)),
    /^"unknown_type: the exchange refused it: type: got/,
  );
});

test('questions in flight have been charged, so that they fit into the budget together', async (t) => {
  const { follower, ask } = await openFollowed(t, {
    ...FORWARD,
    budget: { weight: 100, periodMs: 3_600_000 },
  });
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  follower.answerForwarded = () =>
    answered.then(() => ({ outcome: 'answered', status: 200, answer: '[]' }));
  const asked = Array.from({ length: 8 }, (_, index) => ask({ ...FILLS, startTime: index }));
  const refused = await Promise.race(asked);
  assert.equal(refused.status, 429);
  answer();
  const statuses = (await Promise.all(asked)).map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429, 429]);
});

test('a failure is a 502, a spent budget a 503, no answer in time a 502', async (t) => {
  const { follower, ask } = await openFollowed(t, {
    settings: { forward: true, followWait: 50 },
  });
  follower.answerForwarded = async () => ({ outcome: 'failed', reason: 'gone' });
  const failed = await ask(FILLS);
  assert.deepEqual([failed.status, JSON.parse(failed.body).message], [502, 'gone']);
  follower.answerForwarded = async () => ({
    outcome: 'busy',
    reason: 'spent',
    retryAfterSeconds: 9,
  });
  const busy = await ask(FILLS);
  assert.deepEqual([busy.status, busy.headers.get('retry-after')], [503, '9']);
  follower.answerForwarded = async () => ({
    outcome: 'answered',
    status: 422,
    answer: 'status 422: no',
  });
  const refused = await ask(FILLS);
  assert.equal(refused.status, 422);
  assert.match(refused.body, /the exchange refused it: status 422: no/);
  follower.answerForwarded = () => new Promise(() => undefined);
  const late = await ask(FILLS);
  assert.equal(late.status, 502);
  assert.match(late.body, /has not answered within 50 ms/);
});

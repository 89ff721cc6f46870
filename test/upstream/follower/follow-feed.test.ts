/** The follower of a simulated exchange: what it records, and what it never does. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { BlockError, Refusal } from '../../../src/events/refusal.ts';
import { type Address, formatAddress } from '../../../src/exact/address.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { accountTime, isAccountKnown } from '../../../src/state/partial-ledger.ts';
import { UpstreamError } from '../../../src/upstream/client/upstream-error.ts';
import {
  AnswerText,
  accountOf,
  type ExchangeChoice,
  type Fault,
  FollowedExchange,
  findTraders,
  SECRET,
} from './followed-exchange.ts';
import { market, partialLedger } from './ledgers.ts';

async function follow(t: TestContext, choice?: ExchangeChoice): Promise<FollowedExchange> {
  const exchange = new FollowedExchange(choice);
  t.after(() => exchange.stop());
  await exchange.start();
  return exchange;
}

/** A fault of the answers about one user. */
function inAnswersAbout(user: Address, fault: Fault): Fault {
  return (question, truth) =>
    question.type === 'clearinghouseState' && question['user'] === formatAddress(user)
      ? fault(question, truth)
      : undefined;
}

/** The account's rows: without the figures that marks and time change. */
function rowsOf(exchange: FollowedExchange, user: Address, of: 'ledger' | 'truth'): unknown {
  const question = { type: 'clearinghouseState', user: formatAddress(user) };
  return readRows(JSON.parse(answerQuestion(exchange[of], question)));
}

/** Those that the exchange told at the time that the ledger has for the account. */
function toldRowsOf(exchange: FollowedExchange, user: Address): unknown {
  const time = accountTime(exchange.ledger, user, 0);
  const told = exchange.told.get(`${formatAddress(user)}@${time}`);
  assert.ok(told !== undefined, `nothing was told at ${time}`);
  return readRows(told);
}

function readRows(answer: ReturnType<typeof JSON.parse>): unknown {
  return {
    cash: answer.crossMarginSummary.totalRawUsd,
    positions: answer.assetPositions.map(({ position }: never) => {
      const { coin, szi, entryPx, leverage, cumFunding } = position;
      const { type, value } = leverage as { type: string; value: number };
      return { coin, szi, entryPx, type, value, cumFunding };
    }),
  };
}

test('an account that is wanted is read, checked and recorded, with its time', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  const outcome = await exchange.readItem(accountOf(user));
  assert.deepEqual(outcome, { outcome: 'recorded', height: exchange.ledger.height });
  assert.deepEqual(rowsOf(exchange, user, 'ledger'), rowsOf(exchange, user, 'truth'));
  const time = accountTime(exchange.ledger, user, 0);
  assert.ok(time > 0 && time <= exchange.truth.time, `${time}`);
});

test('the first block makes the ledger partial, and what nobody wants stays unknown', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  await exchange.until(() => exchange.lines.length > 0);
  assert.match(exchange.lines[0], /"events":\[\{"type":"partial"\}/);
  assert.equal(isAccountKnown(exchange.ledger, user, 0), false);
});

test('blocks carry the time of the exchange, and are an interval apart', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  await exchange.advance(5_000);
  const times = exchange.lines.map((line) => JSON.parse(line).time);
  assert.ok(times.length > 3);
  for (const [index, time] of times.entries()) {
    assert.ok(time <= exchange.truth.time && time >= (times[index - 1] ?? 0), `${time}`);
  }
  for (const [index, ms] of exchange.blockMs.entries()) {
    assert.ok(index === 0 || ms - exchange.blockMs[index - 1] >= 100, `${ms}`);
  }
});

test('a known account is not read again for a client to whom its age does not matter', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  const before = exchange.countAsked('clearinghouseState', formatAddress(user));
  await exchange.readItem(accountOf(user));
  assert.equal(exchange.countAsked('clearinghouseState', formatAddress(user)), before);
  await exchange.advance(3_000);
  const outcome = await exchange.readItem(accountOf(user), 1_000);
  assert.equal(outcome.outcome, 'recorded');
  assert.ok(exchange.countAsked('clearinghouseState', formatAddress(user)) > before);
  assert.ok(exchange.now - accountTime(exchange.ledger, user, 0) <= 2_000);
});

test('those who want an account at the same time share one reading', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  const outcomes = [1, 2, 3].map(() => exchange.feed.readItem(accountOf(user), 0, 'a key'));
  await exchange.advance(1_000);
  const [first, ...others] = await Promise.all(outcomes);
  for (const other of others) assert.deepEqual(other, first);
  assert.equal(exchange.countAsked('clearinghouseState', formatAddress(user)), 2);
});

test('the answer about another account is never recorded', async (t) => {
  const exchange = await follow(t);
  const [user, other] = findTraders(exchange.truth);
  let reads = 0;
  exchange.fault = inAnswersAbout(user, (question) =>
    // As a server that mixes up its answers now and then.
    reads++ % 2 === 0 ? exchange.answer({ ...question, user: formatAddress(other) }) : undefined,
  );
  for (let round = 0; round < 5; round++) {
    await exchange.readItem(accountOf(user), 0);
    await exchange.advance(1_000);
    if (!isAccountKnown(exchange.ledger, user, 0)) continue;
    assert.notDeepEqual(rowsOf(exchange, user, 'ledger'), rowsOf(exchange, other, 'truth'));
  }
  exchange.fault = () => undefined;
  await exchange.readItem(accountOf(user), 0);
  assert.deepEqual(rowsOf(exchange, user, 'ledger'), toldRowsOf(exchange, user));
});

test('an answer that contradicts itself once is asked for again', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  let reads = 0;
  exchange.fault = inAnswersAbout(user, (_question, truth) => {
    if (reads++ > 0) return undefined;
    truth.assetPositions[0].position.marginUsed = '1.0';
    return truth;
  });
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
  assert.deepEqual(rowsOf(exchange, user, 'ledger'), rowsOf(exchange, user, 'truth'));
  assert.equal(exchange.feed.status().counters.mismatches['marginUsed'], 1);
  assert.match(exchange.log.join('\n'), /not recorded, marginUsed of \w+: got 1.0, expected /);
});

test("an account that our rules do not reproduce is the upstream's own answer", async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  exchange.fault = inAnswersAbout(user, (_question, truth) => {
    truth.crossMaintenanceMarginUsed = '1.0';
    return truth;
  });
  const outcome = await exchange.readItem(accountOf(user));
  assert.equal(outcome.outcome, 'upstream');
  const answer = outcome.outcome === 'upstream' ? JSON.parse(outcome.answer) : undefined;
  assert.equal(answer.crossMaintenanceMarginUsed, '1.0');
  assert.equal(isAccountKnown(exchange.ledger, user, 0), false);

  const before = exchange.countAsked('clearinghouseState', formatAddress(user));
  assert.deepEqual(await exchange.readItem(accountOf(user)), outcome);
  assert.equal(exchange.countAsked('clearinghouseState', formatAddress(user)), before);
});

test("the upstream's own answer is given on as it was written, to the last character", async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  const extra = '{ "sequence": 9007199254740993, "ratio": 1e400,';
  exchange.fault = inAnswersAbout(user, (_question, truth) => {
    truth.crossMaintenanceMarginUsed = '1.0';
    return new AnswerText(JSON.stringify(truth).replace('{', extra));
  });
  const outcome = await exchange.readItem(accountOf(user));
  assert.ok(outcome.outcome === 'upstream' && outcome.answer.startsWith(extra), String(outcome));
});

test('a recorded account that no longer checks counts as never read, until it does', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  exchange.fault = inAnswersAbout(user, (_question, truth) => {
    truth.crossMaintenanceMarginUsed = '1.0';
    return truth;
  });
  assert.equal((await exchange.readItem(accountOf(user), 0)).outcome, 'upstream');
  assert.equal(accountTime(exchange.ledger, user, 0), 0);
  exchange.fault = () => undefined;
  await exchange.advance(1_100);
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
  assert.ok(accountTime(exchange.ledger, user, 0) > 0);
});

test('an old answer of a server that has stalled changes nothing', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  const question = { type: 'clearinghouseState', user: formatAddress(user), dex: '' };
  const old = exchange.answer(question);
  await exchange.advance(10_000);
  await exchange.readItem(accountOf(user));
  const time = accountTime(exchange.ledger, user, 0);
  const rows = rowsOf(exchange, user, 'ledger');
  exchange.fault = inAnswersAbout(user, () => old);
  await exchange.readItem(accountOf(user), 0);
  assert.equal(accountTime(exchange.ledger, user, 0), time);
  assert.deepEqual(rowsOf(exchange, user, 'ledger'), rows);
});

test('what was read while the time had leapt is not given as new once it is right again', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  exchange.fault = ({ type }, truth) =>
    type === 'clearinghouseState' ? { ...truth, time: truth.time + 240_000 } : undefined;
  await exchange.advance(25_000);
  assert.equal((await exchange.readItem(accountOf(user), 0)).outcome, 'recorded');
  const time = accountTime(exchange.ledger, user, 0);
  assert.ok(time > exchange.truth.time);
  exchange.fault = () => undefined;
  const reason = 'the answer is older than one that the exchange has given before';
  // Until the estimate of the time has forgotten the leap, and after that.
  for (let round = 0; round < 4; round++) {
    await exchange.advance(50_000);
    const outcome = await exchange.readItem(accountOf(user), 1_000);
    assert.deepEqual(outcome, { outcome: 'failed', reason, isSent: true });
  }
  assert.equal(exchange.log.filter((line) => line.includes(reason)).length, 1);
  await exchange.advance(60_000);
  assert.equal((await exchange.readItem(accountOf(user), 1_000)).outcome, 'recorded');
  assert.ok(accountTime(exchange.ledger, user, 0) > time);
});

test('an older answer does not fail who asked if a newer one was pushed meanwhile', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  const question = { type: 'clearinghouseState', user: formatAddress(user), dex: '' };
  await exchange.readItem(accountOf(user));
  await exchange.advance(5_000);
  const old = exchange.answer(question);
  await exchange.advance(5_000);
  exchange.fault = inAnswersAbout(user, () => {
    const state = exchange.answer(question);
    const data = { user: question.user, dex: '', clearinghouseState: state };
    exchange.handler?.message('clearinghouseState', data);
    return old;
  });
  await exchange.readItem(accountOf(user), 0);
  await exchange.advance(5_000);
  assert.equal((await exchange.readItem(accountOf(user), 0)).outcome, 'recorded');
});

test('an answer of time 0 is refused for its time, in one line', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  exchange.fault = inAnswersAbout(user, (_question, truth) => ({ ...truth, time: 0 }));
  const outcome = await exchange.readItem(accountOf(user));
  const reason = 'time: got 0, expected a whole number from 1 to';
  assert.ok(outcome.outcome === 'failed' && outcome.reason.startsWith(reason), String(outcome));
  assert.equal(exchange.log.filter((line) => line.includes(reason)).length, 1);
  assert.equal(exchange.feed.status().counters.mismatches['time'], 2);
});

test('an answer from the future is not believed', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  let reads = 0;
  exchange.fault = inAnswersAbout(user, (_question, truth) =>
    reads++ === 0 ? { ...truth, time: truth.time + 200_000 } : undefined,
  );
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
  assert.ok(accountTime(exchange.ledger, user, 0) <= exchange.truth.time);
  assert.ok(exchange.ledger.time <= exchange.truth.time);
});

for (const kind of ['network', 'timeout', 'server', 'malformed', 'refused', 'down'] as const) {
  test(`an upstream error (${kind}) fails what was wanted, and the feed goes on`, async (t) => {
    const exchange = await follow(t);
    const [user] = findTraders(exchange.truth);
    exchange.fault = inAnswersAbout(user, () => {
      throw new UpstreamError(kind, 'as the test wants');
    });
    const isSent = kind === 'down' ? {} : { isSent: true };
    const expected = { outcome: 'failed', reason: 'as the test wants', ...isSent };
    assert.deepEqual(await exchange.readItem(accountOf(user)), expected);
    exchange.fault = () => undefined;
    assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
  });
}

test('a spent budget is told with the time after which to ask again', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  exchange.fault = inAnswersAbout(user, () => {
    throw new UpstreamError('busy', 'spent', { retryAfterMs: 12_300 });
  });
  const expected = { outcome: 'busy', reason: 'spent', retryAfterSeconds: 13 };
  assert.deepEqual(await exchange.readItem(accountOf(user)), expected);
});

test('answers of a wrong shape fail, and end nothing', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  for (const wrong of [null, [], 'ok', {}, { time: 1 }, 12]) {
    exchange.fault = (question) =>
      question['user'] === formatAddress(user) || question.type !== 'clearinghouseState'
        ? wrong
        : undefined;
    const outcome = await exchange.readItem(accountOf(user));
    assert.equal(outcome.outcome, 'failed', JSON.stringify(wrong));
    await exchange.advance(61_000);
  }
  exchange.fault = () => undefined;
  // Markets that could not be read are not tried again at once.
  await exchange.advance(3_000);
  assert.equal((await exchange.readItem(accountOf(user), 0)).outcome, 'recorded');
});

test('a dex that cannot be read leaves the others as they are', async (t) => {
  const exchange = new FollowedExchange();
  t.after(() => exchange.stop());
  exchange.fault = ({ type, dex }, truth) => {
    if (type === 'allPerpMetas') return [...truth.slice(0, -1), null];
    return type === 'meta' && dex !== '' ? null : undefined;
  };
  await exchange.start();
  const [user] = findTraders(exchange.truth);
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
  assert.ok(exchange.log.some((line) => /allPerpMetas\[\d\] is not listed here: /.test(line)));
});

for (const [how, spoil] of [
  [
    'refused',
    () => {
      throw new UpstreamError('refused', 'status 403', { status: 403 });
    },
  ],
  ['malformed', () => [null]],
] as const) {
  test(`the metas of all dexes, ${how}, are asked for again after minutes`, async (t) => {
    const exchange = new FollowedExchange();
    t.after(() => exchange.stop());
    let isWrong = true;
    exchange.fault = ({ type }) => (type === 'allPerpMetas' && isWrong ? spoil() : undefined);
    await exchange.start();
    await exchange.advance(240_000);
    assert.equal(exchange.countAsked('allPerpMetas'), 1);
    isWrong = false;
    await exchange.advance(80_000);
    assert.equal(exchange.countAsked('allPerpMetas'), 2);
    const before = exchange.countAsked('meta');
    await exchange.advance(61_000);
    assert.deepEqual(
      [exchange.countAsked('allPerpMetas'), exchange.countAsked('meta') - before],
      [3, 0],
    );
    assert.equal(exchange.log.filter((line) => line.includes('allPerpMetas')).length, 1);
  });
}

test('a list of dexes that is refused once leaves those that are known', async (t) => {
  const exchange = await follow(t);
  const { name: dex } = exchange.truth.markets.dexes[1];
  exchange.fault = ({ type }) => {
    if (type === 'perpDexs') throw new UpstreamError('refused', 'status 422', { status: 422 });
    return undefined;
  };
  await exchange.advance(61_000);
  exchange.feed.noteInterest([
    { item: { kind: 'account', user: `0x${'1'.repeat(40)}`, dex }, count: 1, keyId: 'a' },
  ]);
  const before = exchange.countAsked('metaAndAssetCtxs');
  await exchange.advance(40_000);
  const asked = exchange.asked.slice(-20).filter(({ question }) => question['dex'] === dex);
  assert.ok(asked.length > 0 && exchange.countAsked('metaAndAssetCtxs') > before);
});

test('markets that cannot be read are asked for less and less often', async (t) => {
  const exchange = new FollowedExchange();
  t.after(() => exchange.stop());
  exchange.fault = ({ type }) => (type === 'perpDexs' ? [null, null] : undefined);
  const [user] = findTraders(exchange.truth);
  for (let second = 0; second < 120; second++) {
    await exchange.readItem(accountOf(user), 0);
    await exchange.advance(1_000);
  }
  assert.ok(exchange.countAsked('perpDexs') < 20, `${exchange.countAsked('perpDexs')} times`);
});

test('an event that the ledger refuses is left out, and the rest is recorded', async (t) => {
  const exchange = await follow(t);
  const [user, other] = findTraders(exchange.truth);
  exchange.refuse = (line) => {
    const { height, events } = JSON.parse(line);
    const index = events.findIndex(
      (event: { user?: string; type: string }) =>
        event.type === 'account' && event.user === formatAddress(user),
    );
    if (index === -1) return undefined;
    return new BlockError({ height, index }, new Refusal('user', 'it', 'another one'));
  };
  const wanted = [user, other].map((one) => exchange.feed.readItem(accountOf(one), 0, 'a key'));
  await exchange.advance(2_000);
  const [refused, recorded] = await Promise.all(wanted);
  assert.equal(refused.outcome, 'failed');
  assert.equal(recorded.outcome, 'recorded');
  assert.ok(isAccountKnown(exchange.ledger, other, 0));
});

test('delegations are recorded, an empty list too, and only if two answers agree', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  const item = { kind: 'delegations', user: formatAddress(user) } as const;
  assert.equal((await exchange.readItem(item)).outcome, 'recorded');
  const question = { type: 'delegations', user: item.user };
  assert.equal(answerQuestion(exchange.ledger, question), answerQuestion(exchange.truth, question));
  assert.equal(exchange.countAsked('delegations', item.user), 2);
});

test('an account is read again when its age reaches the sweep, and its time advances', async (t) => {
  const exchange = await follow(t, { settings: { sweepMs: 10_000 } });
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  const time = accountTime(exchange.ledger, user, 0);
  await exchange.advance(15_000);
  assert.ok(accountTime(exchange.ledger, user, 0) >= time + 9_000);
  assert.deepEqual(rowsOf(exchange, user, 'ledger'), toldRowsOf(exchange, user));
});

test('an account that nobody asks for is no longer read, and asking wakes it', async (t) => {
  const exchange = await follow(t, { settings: { sweepMs: 5_000, forgetMs: 20_000 } });
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  await exchange.advance(60_000);
  const forgotten = accountTime(exchange.ledger, user, 0);
  assert.ok(exchange.now - forgotten > 20_000);
  exchange.feed.noteInterest([{ item: accountOf(user), count: 1, keyId: 'a' }]);
  await exchange.advance(3_000);
  assert.ok(accountTime(exchange.ledger, user, 0) > forgotten);
});

test('a follower goes on with the accounts that an earlier one has read', async (t) => {
  const first = await follow(t);
  const [user] = findTraders(first.truth);
  await first.readItem(accountOf(user));
  await first.stop();
  const { ledger, lines, simulator, clock } = first;
  const time = accountTime(ledger, user, 0);
  const second = await follow(t, { ledger, lines, simulator, clock });
  await second.advance(70_000);
  assert.ok(accountTime(ledger, user, 0) > time);
  assert.equal(lines.filter((line) => line.includes('"partial"')).length, 1);
});

test('a trade has the account read, at once and not again', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  const name = formatAddress(user);
  await exchange.readItem(accountOf(user));
  await exchange.advance(5_000);
  const before = exchange.countAsked('clearinghouseState', name);
  const users = [name.toUpperCase().replace('0X', '0x'), formatAddress(user)];
  const trade = { coin: 'BTC', side: 'B', px: '1.0', sz: '1.0', hash: '', tid: 1, users };
  exchange.handler?.message('trades', [{ ...trade, time: exchange.truth.time }]);
  await exchange.advance(500);
  assert.equal(exchange.countAsked('clearinghouseState', name), before + 1);
  assert.equal(exchange.asked.at(-1)?.priority, 'trade');
  exchange.handler?.message('trades', [{ ...trade, time: exchange.truth.time - 10_000 }]);
  await exchange.advance(3_000);
  assert.equal(exchange.countAsked('clearinghouseState', name), before + 1);
  assert.deepEqual(rowsOf(exchange, user, 'ledger'), toldRowsOf(exchange, user));
});

test('after a full hour accounts with positions are read again', async (t) => {
  const exchange = await follow(t, { settings: { sweepMs: 86_400_000, forgetMs: 86_400_000 } });
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  await exchange.advance(2_000);
  exchange.hasBlocks = false;
  const before = exchange.countAsked('clearinghouseState', formatAddress(user));
  exchange.simulator.next(
    exchange.truth.time + 3_600_000 - (exchange.truth.time % 3_600_000) + 3000,
  );
  await exchange.advance(10_000);
  const after = exchange.countAsked('clearinghouseState', formatAddress(user));
  assert.ok(after > before);
  assert.equal(exchange.asked.filter(({ priority }) => priority === 'hour').length, after - before);
  await exchange.advance(10_000);
  assert.equal(exchange.countAsked('clearinghouseState', formatAddress(user)), after);
});

test('the users who are asked for most are subscribed to, and what is pushed is recorded', async (t) => {
  const exchange = await follow(t, { settings: { usersMax: 1 } });
  const [user, other] = findTraders(exchange.truth);
  for (const one of [user, other]) await exchange.readItem(accountOf(one));
  exchange.feed.noteInterest([{ item: accountOf(other), count: 50, keyId: 'a' }]);
  exchange.handler?.opened();
  await exchange.advance(2_500);
  const subscribed = exchange.subscriptions.filter(({ type }) => type === 'clearinghouseState');
  assert.deepEqual(subscribed, [{ type: 'clearinghouseState', user: formatAddress(other) }]);

  await exchange.advance(3_000);
  const question = { type: 'clearinghouseState', user: formatAddress(other), dex: '' };
  const state = exchange.answer(question);
  const data = { user: formatAddress(other), dex: '', clearinghouseState: state };
  exchange.handler?.message('clearinghouseState', data);
  await exchange.readItem(accountOf(other), 1_000);
  assert.ok(accountTime(exchange.ledger, other, 0) >= state.time);
});

test('pushed states that change nothing are recorded twice a minute, and when a client wants one', async (t) => {
  const exchange = await follow(t, { settings: { usersMax: 1 } });
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  exchange.hasBlocks = false;
  const question = { type: 'clearinghouseState', user: formatAddress(user), dex: '' };
  const state = exchange.answer(question);
  const timeAfter = async (ms: number) => {
    const clearinghouseState = { ...state, time: state.time + ms };
    const data = { user: formatAddress(user), dex: '', clearinghouseState };
    exchange.handler?.message('clearinghouseState', data);
    await exchange.advance(200);
    return accountTime(exchange.ledger, user, 0) - state.time;
  };
  const first = await timeAfter(1);
  await exchange.advance(2_000);
  const read = exchange.countAsked('clearinghouseState', formatAddress(user));
  assert.equal(await timeAfter(2_000), first);
  assert.equal((await exchange.readItem(accountOf(user), 1_500)).outcome, 'recorded');
  assert.equal(accountTime(exchange.ledger, user, 0) - state.time, 2_000);
  assert.equal(exchange.countAsked('clearinghouseState', formatAddress(user)), read);
  await exchange.advance(31_000);
  assert.equal(await timeAfter(33_000), 33_000);
});

test('a pushed state is recorded for the user that it names, and no other', async (t) => {
  const exchange = await follow(t, { settings: { usersMax: 1 } });
  const [user, other] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  await exchange.advance(2_000);
  const rows = rowsOf(exchange, user, 'ledger');
  const question = { type: 'clearinghouseState', user: formatAddress(other), dex: '' };
  const data = {
    user: formatAddress(other),
    dex: '',
    clearinghouseState: exchange.answer(question),
  };
  exchange.handler?.message('clearinghouseState', data);
  await exchange.advance(500);
  assert.deepEqual(rowsOf(exchange, user, 'ledger'), rows);
  assert.equal(isAccountKnown(exchange.ledger, other, 0), false);
});

test('a state of all dexes is recorded although other elements of the message are odd', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  await exchange.advance(3_000);
  const question = { type: 'clearinghouseState', user: formatAddress(user), dex: '' };
  const state = exchange.answer(question);
  const clearinghouseStates = [null, ['abc'], ['', state], [1, state]];
  const data = { user: question.user, clearinghouseStates };
  exchange.handler?.message('allDexsClearinghouseState', data);
  await exchange.readItem(accountOf(user), 1_000);
  assert.equal(accountTime(exchange.ledger, user, 0), state.time);
  assert.equal(exchange.feed.status().counters.mismatches['clearinghouseStates'], 3);
});

test('trades are subscribed to in the markets that the upstream trades, not in those of the ledger', async (t) => {
  const markets = [market('FOREIGN'), market('BTC')];
  const ledger = partialLedger(...markets);
  const exchange = new FollowedExchange({ ledger });
  t.after(() => exchange.stop());
  exchange.fault = ({ type }, truth) => {
    if (type !== 'allPerpMetas') return undefined;
    truth[0].universe[1].isDelisted = true;
    return truth;
  };
  await exchange.start();
  exchange.handler?.opened();
  exchange.confirm();
  await exchange.advance(1_000);
  const universe = exchange.truth.markets.markets.filter(({ dexIndex }) => dexIndex === 0);
  const [, delisted] = universe;
  assert.deepEqual(
    exchange.subscriptions.flatMap(({ type, coin }) => (type === 'trades' ? coin : [])),
    universe.filter((one) => one !== delisted).map(({ coin }) => coin),
  );
});

test('pushed messages of any shape end nothing', async (t) => {
  const exchange = await follow(t);
  for (const channel of [
    'trades',
    'fastAssetCtxs',
    'allDexsAssetCtxs',
    'clearinghouseState',
    'x',
  ]) {
    for (const data of [null, [], {}, 'x', [null], { BTC: 1 }, { ctxs: [[1]] }, { user: 1 }]) {
      exchange.handler?.message(channel, data);
    }
  }
  await exchange.advance(1_000);
  const [user] = findTraders(exchange.truth);
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
});

test('the lines of the push connection are bounded as all others are', async (t) => {
  const exchange = await follow(t);
  const before = exchange.log.length;
  for (let index = 0; index < 10_000; index++) exchange.pushLog?.warn(`refuses: no ${index}`);
  await exchange.advance(61_000);
  exchange.pushLog?.warn('refuses: no more');
  assert.ok(exchange.log.length - before < 40, `${exchange.log.length - before} lines`);
  assert.match(exchange.log.join('\n'), /9\d{3} lines like these left out/);
});

test('marks that are pushed are recorded, and then not asked for', async (t) => {
  const exchange = await follow(t, { settings: { marksEveryMs: 0 } });
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  for (let round = 0; round < 3; round++) {
    exchange.handler?.message('fastAssetCtxs', { BTC: { markPx: String(70_000 + round) } });
    await exchange.advance(1_000);
  }
  const index = exchange.ledger.markets.findMarket('BTC') ?? -1;
  const { priceDecimals } = exchange.ledger.markets.markets[index];
  assert.equal(exchange.ledger.markets.markPrice(index), 70_002 * 10 ** priceDecimals);
  const before = exchange.countAsked('metaAndAssetCtxs');
  await exchange.advance(2_000);
  assert.equal(exchange.countAsked('metaAndAssetCtxs'), before);
});

function heldCoin(exchange: FollowedExchange, user: Address): string {
  const question = { type: 'clearinghouseState', user: formatAddress(user) };
  return JSON.parse(answerQuestion(exchange.truth, question)).assetPositions[0].position.coin;
}

/** The mark of the ledger, in the smallest unit of the coin's prices. */
function markOf({ ledger }: FollowedExchange, coin: string): number {
  return ledger.markets.markPrice(ledger.markets.findMarket(coin) ?? -1);
}

test('marks without a position are recorded once a minute, those of a position at once', async (t) => {
  const exchange = await follow(t);
  exchange.hasBlocks = false;
  const [user] = findTraders(exchange.truth);
  const held = heldCoin(exchange, user);
  await exchange.advance(2_000);
  const first = markOf(exchange, held);
  exchange.handler?.message('fastAssetCtxs', { [held]: { markPx: '77' } });
  await exchange.advance(2_000);
  assert.equal(markOf(exchange, held), first);
  await exchange.readItem(accountOf(user));
  const index = exchange.ledger.markets.findMarket(held) ?? -1;
  const unit = 10 ** exchange.ledger.markets.markets[index].priceDecimals;
  assert.equal(markOf(exchange, held), 77 * unit);
  exchange.handler?.message('fastAssetCtxs', { [held]: { markPx: '78' } });
  await exchange.advance(200);
  assert.equal(markOf(exchange, held), 78 * unit);
  const other = exchange.truth.markets.markets.find(({ coin, dexIndex }) => {
    const question = { type: 'clearinghouseState', user: formatAddress(user) };
    return dexIndex === 0 && !answerQuestion(exchange.truth, question).includes(`"${coin}"`);
  });
  assert.ok(other !== undefined);
  const before = markOf(exchange, other.coin);
  const push = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      exchange.handler?.message('fastAssetCtxs', { [other.coin]: { markPx: '9' } });
      await exchange.advance(1_000);
    }
  };
  await push(2);
  // The others come with blocks that are written anyway, such as those of the time.
  exchange.hasBlocks = true;
  assert.equal(markOf(exchange, other.coin), before);
  await push(60);
  assert.equal(markOf(exchange, other.coin), 9 * 10 ** other.priceDecimals);
});

test('without any other source, marks come from the accounts that are read', async (t) => {
  const exchange = new FollowedExchange();
  t.after(() => exchange.stop());
  exchange.fault = ({ type }) => {
    if (type === 'metaAndAssetCtxs') {
      throw new UpstreamError('refused', 'status 422', { status: 422 });
    }
    return undefined;
  };
  await exchange.start();
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  assert.deepEqual(rowsOf(exchange, user, 'ledger'), toldRowsOf(exchange, user));
  assert.ok(exchange.ledger.markets.markets.length > 0);
  await exchange.until(() => exchange.feed.status().ages.marks !== null);
});

test('a refusal of marks that may pass is tried again soon, and /health says that none came', async (t) => {
  const exchange = new FollowedExchange();
  t.after(() => exchange.stop());
  let isRefused = true;
  exchange.fault = ({ type }) => {
    if (type !== 'metaAndAssetCtxs' || !isRefused) return undefined;
    throw new UpstreamError('refused', 'status 403', { status: 403 });
  };
  await exchange.advance(20_000);
  const { isHealthy, reason } = exchange.feed.status();
  assert.equal(isHealthy, false);
  assert.match(reason, /^none of its markets has a mark yet: (dex \w+: )?status 403$/);
  const asked = exchange.countAsked('metaAndAssetCtxs');
  assert.ok(asked < 8 * exchange.truth.markets.dexes.length, `${asked} times`);
  assert.equal(exchange.log.filter((line) => line.includes('status 403')).length < 5, true);
  isRefused = false;
  await exchange.until(() => exchange.feed.status().isHealthy, 60_000);
  assert.ok(exchange.ledger.markets.markets.length > 0);
});

test('a question for marks that has worked is never taken for an unknown one', async (t) => {
  const exchange = await follow(t);
  await exchange.advance(10_000);
  exchange.fault = ({ type }) => {
    if (type !== 'metaAndAssetCtxs') return undefined;
    throw new UpstreamError('refused', 'status 422', { status: 422 });
  };
  await exchange.advance(10_000);
  exchange.fault = () => undefined;
  const before = exchange.countAsked('metaAndAssetCtxs');
  await exchange.advance(30_000);
  assert.ok(exchange.countAsked('metaAndAssetCtxs') > before);
});

test('the age of marks is that of the oldest that is needed', async (t) => {
  const exchange = await follow(t);
  const dex = exchange.truth.markets.dexes[1].name;
  exchange.feed.noteInterest([
    { item: { kind: 'account', user: `0x${'1'.repeat(40)}`, dex }, count: 1, keyId: 'a' },
  ]);
  await exchange.advance(30_000);
  exchange.fault = (question) => {
    if (question.type !== 'metaAndAssetCtxs' || question['dex'] !== dex) return undefined;
    throw new UpstreamError('server', 'status 500', { status: 500 });
  };
  await exchange.advance(60_000);
  assert.ok((exchange.feed.status().ages.marks ?? 0) > 50_000, 'the other dex does not hide it');
});

test('the follower says what it is about, and never where the upstream is in full', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  await exchange.advance(5_000);
  const status = exchange.feed.status();
  assert.equal(status.upstream, 'http://exchange');
  assert.equal(status.followed, 1);
  assert.deepEqual(status.budget, { limit: 1200, left: 1000 });
  assert.ok((status.ages.accountsMax ?? -1) >= 1_000, JSON.stringify(status.ages));
  const { marks, otherMarks } = status.ages;
  assert.ok(marks !== null && otherMarks !== null && otherMarks >= marks);
});

test('when the upstream is gone, ages grow, and the follower recovers by itself', async (t) => {
  const exchange = await follow(t, { settings: { sweepMs: 5_000 } });
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  exchange.fault = () => {
    throw new UpstreamError('network', 'connect ECONNREFUSED');
  };
  await exchange.advance(30_000);
  const { isHealthy, ages } = exchange.feed.status();
  assert.equal(isHealthy, false);
  assert.ok((ages.accountsMax ?? 0) >= 25_000, JSON.stringify(ages));
  const { time } = exchange.ledger;
  exchange.fault = () => undefined;
  await exchange.until(() => exchange.feed.status().isHealthy, 70_000);
  await exchange.until(() => (exchange.feed.status().ages.accountsMax ?? 0) < 6_000, 70_000);
  assert.ok(exchange.ledger.time > time);
});

test('markets are listed in the order of the exchange, on every dex', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  await exchange.advance(2_000);
  assert.ok(exchange.truth.markets.dexes.length > 1);
  for (const { name: dex } of exchange.truth.markets.dexes) {
    const [ours, theirs] = [exchange.ledger, exchange.truth].map((state) =>
      answerQuestion(state, { type: 'meta', dex }),
    );
    assert.equal(ours, theirs);
  }
});

for (const isPushed of [false, true]) {
  const how = isPushed ? 'pushed' : 'asked for';
  test(`a dex that can be read only later has the order of the exchange, marks ${how}`, async (t) => {
    const exchange = new FollowedExchange();
    t.after(() => exchange.stop());
    const { name: late } = exchange.truth.markets.dexes[1];
    let isUnreadable = true;
    exchange.fault = ({ type, dex }) => {
      if (!isUnreadable) return undefined;
      if (type === 'allPerpMetas')
        throw new UpstreamError('refused', 'status 422', { status: 422 });
      return type === 'meta' && dex === late ? null : undefined;
    };
    // What a connection pushes after its first message is what has changed.
    const push = (coins: readonly string[]) => {
      const marks = coins.map((coin) => [coin, { markPx: '1.0' }]);
      exchange.handler?.message('fastAssetCtxs', Object.fromEntries(marks));
    };
    const coins = exchange.truth.markets.markets.map(({ coin }) => coin);
    await exchange.until(() => exchange.subscriptions.length > 0);
    if (isPushed) {
      exchange.handler?.opened();
      push(coins);
    }
    await exchange.start();
    for (let second = 0; second < 90; second++) {
      if (second === 30) {
        isUnreadable = false;
        // Markets are read again for an account that names unknown ones; marks are not due then.
        const [user] = findTraders(exchange.truth);
        await exchange.advance(3_500);
        if (isPushed) await exchange.readItem(accountOf(user, late), 0);
      }
      await exchange.advance(1_000);
      if (isPushed) push(['BTC', coins.at(-1) ?? '']);
    }
    const [ours, theirs] = [exchange.ledger, exchange.truth].map(({ markets }) =>
      markets.markets.filter(({ coin }) => coin.startsWith(`${late}:`)).map(({ coin }) => coin),
    );
    assert.ok(theirs.length > 1);
    assert.deepEqual(ours, theirs);
    const metaMs = (beforeMs: number) =>
      exchange.asked
        .filter(({ question }) => question.type === 'meta' && question['dex'] === late)
        .findLast(({ atMs }) => atMs <= beforeMs)?.atMs ?? 0;
    const marksMs = exchange.asked.find(
      ({ question }) => question.type === 'metaAndAssetCtxs' && question['dex'] === late,
    )?.atMs;
    assert.ok(marksMs !== undefined && marksMs - metaMs(marksMs) < 200, 'at once');
  });
}

test('an account that came before the markets is recorded soon after they can be read', async (t) => {
  const exchange = new FollowedExchange();
  t.after(() => exchange.stop());
  const [user] = findTraders(exchange.truth);
  let isGone = true;
  exchange.fault = ({ type }) => {
    if (isGone && ['perpDexs', 'meta', 'allPerpMetas'].includes(type)) {
      throw new UpstreamError('server', 'status 500');
    }
    return undefined;
  };
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'upstream');
  // Long enough for whoever reads markets at an interval to wait for a minute.
  await exchange.advance(120_000);
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'upstream');
  isGone = false;
  await exchange.advance(3_000);
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
});

test('a trade that cannot be read has all accounts read, since it may be of any', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  await exchange.readItem(accountOf(user));
  await exchange.advance(5_000);
  const coins = exchange.subscriptions.filter(({ type }) => type === 'trades');
  assert.ok(coins.length > 0);
  for (const subscription of coins) exchange.handler?.acknowledged(subscription);
  await exchange.advance(5_000);
  const before = exchange.countAsked('clearinghouseState', formatAddress(user));
  exchange.handler?.message('trades', [null]);
  await exchange.advance(2_000);
  assert.ok(exchange.countAsked('clearinghouseState', formatAddress(user)) > before);
});

test('a secret that the server repeats in its answers reaches no client and no report', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  exchange.fault = (question, truth) => {
    if (question.type === 'perpDexs') return [...truth, { name: `/${SECRET}/info` }];
    if (question.type !== 'clearinghouseState') return undefined;
    truth.marginSummary.accountValue = `/${SECRET}/info`;
    return truth;
  };
  await exchange.advance(65_000);
  const outcome = JSON.stringify(await exchange.readItem(accountOf(user)));
  const status = JSON.stringify(exchange.feed.status());
  assert.deepEqual([outcome.includes(SECRET), outcome.includes('/***/info')], [false, true]);
  assert.deepEqual([status.includes(SECRET), status.includes('/***/info')], [false, true]);
});

test('two answers about others, with a true one between them, are not believed', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  const nobody = `0x${'0'.repeat(39)}1`;
  const answers = ['of nobody', 'not explained', 'of nobody'];
  exchange.fault = (question, truth) => {
    if (question.type === 'userAbstraction') throw new UpstreamError('refused', 'status 422');
    if (question.type !== 'clearinghouseState' || question['user'] !== formatAddress(user)) {
      return undefined;
    }
    const answer = answers.shift();
    if (answer === 'of nobody') return exchange.answer({ ...question, user: nobody });
    if (answer === undefined) return undefined;
    for (const { position } of truth.assetPositions) position.liquidationPx = '1.0';
    return truth;
  };
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
  assert.deepEqual(rowsOf(exchange, user, 'ledger'), rowsOf(exchange, user, 'truth'));
  assert.deepEqual(answers, []);
});

test('a question about a coin that the exchange does not list is refused without asking', async (t) => {
  const exchange = await follow(t);
  await exchange.until(() => exchange.ledger.markets.markets.length > 0);
  const { outcome, ...rest } = await exchange.feed.forward(
    { type: 'l2Book', coin: 'NOPE' },
    'a key',
  );
  const reason = 'coin: got "NOPE", expected a market that the exchange lists';
  assert.deepEqual({ outcome, ...rest }, { outcome: 'refused', reason, field: 'coin' });
  assert.ok(!exchange.asked.some(({ question }) => question.type === 'l2Book'));
});

test('an account is read for all keys that want it, so that the first of them to have its turn gets it', async (t) => {
  const exchange = await follow(t);
  const [user] = findTraders(exchange.truth);
  const wanted = ['one', 'other', 'one'].map((key) =>
    exchange.feed.readItem(accountOf(user), 0, key),
  );
  await exchange.advance(1_000);
  for (const { outcome } of await Promise.all(wanted)) assert.equal(outcome, 'recorded');
  const named = formatAddress(user);
  const reads = exchange.asked.filter(
    ({ question, priority }) => question['user'] === named && priority === 'asked',
  );
  assert.ok(reads.length > 0);
  for (const { waitingKeys } of reads)
    assert.deepEqual([...(waitingKeys?.keyIds ?? [])], ['one', 'other']);
});

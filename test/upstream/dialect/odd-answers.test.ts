/**
 * Odd values in all answers and frames of an exchange: nothing throws or hangs, what is refused is named,
 * and nothing that is recorded is wrong.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatAddress } from '../../../src/exact/address.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { Random } from '../../../src/simulator/random.ts';
import { accountTime } from '../../../src/state/partial-ledger.ts';
import type { StateView } from '../../../src/state/state.ts';
import { readAccountAnswer } from '../../../src/upstream/dialect/account-answer.ts';
import { checkAccount } from '../../../src/upstream/dialect/account-check.ts';
import { readPushedAccounts } from '../../../src/upstream/dialect/account-shape.ts';
import { readAuctionAnswer } from '../../../src/upstream/dialect/auction-answer.ts';
import { readDelegationsAnswer } from '../../../src/upstream/dialect/delegations-answer.ts';
import { DialectError } from '../../../src/upstream/dialect/dialect.ts';
import {
  readAllDexsAssetCtxs,
  readMetaAndAssetCtxs,
} from '../../../src/upstream/dialect/mark-answers.ts';
import {
  readAllPerpMetas,
  readMeta,
  readPerpDexs,
} from '../../../src/upstream/dialect/market-answers.ts';
import { createDirectory } from '../../../src/upstream/dialect/market-directory.ts';
import { readTrades } from '../../../src/upstream/dialect/trade-message.ts';
import { readFastFrame } from '../../../src/upstream/follower/markets/fast-frame.ts';
import { SEED, SEED_NOTE } from '../../../tools/harness/seed.ts';
import { ALSO_LONG, scale } from '../../scale.ts';
import { accountOf, FollowedExchange, findTraders } from '../follower/followed-exchange.ts';
import { mustRead } from '../follower/ledgers.ts';
import { makeOdd, ODD_AMOUNTS } from './odd-values.ts';

const VALUES = scale(1_500, 3_000, 20_000);
const RUNS = scale(4, 8, 60);
/** Far more than any of them takes, so that only a hang is found. */
const VALUE_MS_MAX = 5_000;
const TIME_LIMIT = { ...ALSO_LONG, timeout: 300_000 };

type Json = ReturnType<typeof JSON.parse>;
type Readers = Readonly<Record<string, readonly [truth: Json, read: (json: Json) => unknown]>>;

/** Each reader with an answer that it reads. */
function listReaders(exchange: FollowedExchange): Readers {
  const [trader] = findTraders(exchange.truth);
  const user = formatAddress(trader);
  const ask = (type: string, fields: object = {}) => exchange.answer({ type, ...fields });
  const [dexs, metas] = [ask('perpDexs'), ask('allPerpMetas')];
  const dexes = mustRead(readPerpDexs(dexs));
  const listing = { dexes, metas: mustRead(readAllPerpMetas(metas, dexes)) };
  const directory = createDirectory(exchange.ledger, listing);
  const account = ask('clearinghouseState', { user, dex: '' });
  const contexts = ask('metaAndAssetCtxs', { dex: '' });
  const marks: Record<string, unknown> = {};
  for (const [index, { name }] of contexts[0].universe.entries()) marks[name] = contexts[1][index];
  const time = exchange.truth.time;
  const trades = [{ coin: 'BTC', side: 'A', px: '1.0', sz: '1.0', time, users: [user, user] }];
  return {
    perpDexs: [dexs, readPerpDexs],
    meta: [metas[0], readMeta],
    allPerpMetas: [
      metas,
      (json) => {
        const read = readAllPerpMetas(json, dexes);
        return read instanceof DialectError
          ? read
          : createDirectory(exchange.ledger, { dexes, metas: read });
      },
    ],
    clearinghouseState: [
      account,
      (json) => {
        const reading = readAccountAnswer(json, { dex: '', directory, collateral: 0 });
        return reading instanceof DialectError ? reading : checkAccount(reading, directory);
      },
    ],
    metaAndAssetCtxs: [contexts, (json) => readMetaAndAssetCtxs(json, '', directory)],
    fastAssetCtxs: [marks, (json) => readFastFrame(json, directory)],
    allDexsAssetCtxs: [
      { ctxs: [['', contexts[1]]] },
      (json) => readAllDexsAssetCtxs(json, directory),
    ],
    trades: [trades, readTrades],
    pushed: [{ user, dex: '', clearinghouseState: account }, readPushedAccounts],
    delegations: [ask('delegations', { user }), (json) => readDelegationsAnswer(json, trader)],
    perpDeployAuctionStatus: [
      ask('perpDeployAuctionStatus'),
      (json) => readAuctionAnswer(json, time),
    ],
  };
}

test(`readers refuse odd values by name, and throw nothing ${SEED_NOTE}`, TIME_LIMIT, async (t) => {
  const exchange = new FollowedExchange();
  t.after(() => exchange.stop());
  await exchange.start();
  const readers = Object.entries(listReaders(exchange));
  fc.assert(
    fc.property(fc.integer({ min: 0 }), fc.nat(readers.length - 1), (seed, index) => {
      const [name, [truth, read]] = readers[index];
      const { json, where, isOddAmount } = makeOdd(
        structuredClone(truth),
        new Random(String(seed)),
      );
      const startedMs = performance.now();
      const result = read(json);
      const tookMs = performance.now() - startedMs;
      assert.ok(tookMs < VALUE_MS_MAX, `${name}: ${where}: ${tookMs} ms`);
      if (!(result instanceof DialectError)) {
        // Of an account, each amount is one that others follow from, or it has its own form.
        const isTaken = name === 'clearinghouseState' && isOddAmount;
        assert.ok(!isTaken || (result as unknown[]).length > 0, `${where} is taken as an amount`);
        return;
      }
      assert.ok(result.mismatch.field.length > 0 && result.mismatch.field.length < 200, where);
      assert.ok(result.message.length < 2_000, `${name}: ${where}`);
    }),
    { seed: SEED, numRuns: VALUES },
  );
});

/** Puts a text in place of each decimal in turn. */
function* replaceEach(json: Json, text: string, whole = json): Generator<Json> {
  for (const [key, value] of Object.entries(json)) {
    if (typeof value === 'object' && value !== null) yield* replaceEach(value, text, whole);
    if (typeof value !== 'string' || !/^-?\d+\.\d+$/.test(value)) continue;
    json[key] = text;
    yield { key, answer: whole };
    json[key] = value;
  }
}

test('no odd text is taken as any amount of an account', TIME_LIMIT, async (t) => {
  const exchange = new FollowedExchange();
  t.after(() => exchange.stop());
  await exchange.start();
  const [account, read] = listReaders(exchange)['clearinghouseState'];
  let tried = 0;
  for (const text of ODD_AMOUNTS) {
    for (const { key, answer } of replaceEach(structuredClone(account), text)) {
      const result = read(answer);
      const isRefused = result instanceof DialectError || (result as unknown[]).length > 0;
      assert.ok(isRefused, `${key}: ${text} is taken as an amount`);
      tried++;
    }
  }
  assert.ok(tried > 20 * ODD_AMOUNTS.length, String(tried));
});

/** All that was true of marks and markets at some time. */
class Truths {
  readonly #marks = new Map<string, Set<number>>();

  note({ markets }: StateView): void {
    for (const [index, { coin }] of markets.markets.entries()) {
      const known = this.#marks.get(coin) ?? new Set();
      this.#marks.set(coin, known.add(markets.markPrice(index)));
    }
  }

  /** Markets and marks of the ledger that the exchange never had. */
  findWrong({ markets }: StateView, truth: StateView): string[] {
    return markets.markets.flatMap((market, index) => {
      const { coin, sizeDecimals, tiers, onlyIsolated } = market;
      const place = truth.markets.findMarket(coin);
      const real = place === undefined ? undefined : truth.markets.markets[place];
      const terms = JSON.stringify({ sizeDecimals, tiers, onlyIsolated }, bigintAsText);
      const { sizeDecimals: decimals, tiers: table, onlyIsolated: isOnly } = real ?? market;
      const expected = JSON.stringify(
        { sizeDecimals: decimals, tiers: table, onlyIsolated: isOnly },
        bigintAsText,
      );
      const hasMark = this.#marks.get(coin)?.has(markets.markPrice(index)) === true;
      return real !== undefined && terms === expected && hasMark ? [] : [`${coin}: ${terms}`];
    });
  }
}

function bigintAsText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/** What an answer says of an account, in an order of its own: that of markets is another matter. */
function rowsOf(answer: Json): unknown {
  const positions: { coin: string }[] = answer.assetPositions.map(({ position }: Json) => {
    const { coin, szi, entryPx, leverage, cumFunding } = position;
    return { coin, szi, entryPx, type: leverage.type, value: leverage.value, cumFunding };
  });
  positions.sort((first, second) => (first.coin < second.coin ? -1 : 1));
  return { cash: answer.crossMarginSummary.totalRawUsd, positions };
}

async function followOdd(seed: string): Promise<void> {
  const random = new Random(seed);
  const exchange = new FollowedExchange({ settings: { sweepMs: 2_000, usersMax: 2 } });
  const made: string[] = [];
  const odd = (name: string, json: Json): Json => {
    const changed = makeOdd(json, random);
    made.push(`${name}: ${changed.where}`);
    return changed.json;
  };
  const truths = new Truths();
  truths.note(exchange.truth);
  exchange.fault = ({ type }, truth) => (random.chance(0.5) ? odd(type, truth) : undefined);
  const users = findTraders(exchange.truth).slice(0, 3);
  try {
    for (let second = 0; second < 30; second++) {
      for (const user of users) void exchange.feed.readItem(accountOf(user), 1_000, 'a key');
      exchange.handler?.opened();
      await exchange.advance(1_000);
      truths.note(exchange.truth);
      for (const [name, [truth]] of Object.entries(listReaders(exchange))) {
        if (exchange.subscriptions.some(({ type }) => type === name)) {
          exchange.handler?.message(name, odd(name, structuredClone(truth)));
        }
      }
    }
    exchange.fault = () => undefined;
    for (const user of users) {
      const outcome = await exchange.readItem(accountOf(user), 0);
      truths.note(exchange.truth);
      assert.ok(['recorded', 'upstream'].includes(outcome.outcome), JSON.stringify(outcome));
      const time = accountTime(exchange.ledger, user, 0);
      if (time === 0) continue;
      const question = { type: 'clearinghouseState', user: formatAddress(user) };
      const told = exchange.told.get(`${question.user}@${time}`);
      const held = JSON.parse(answerQuestion(exchange.ledger, question));
      assert.deepEqual(rowsOf(held), rowsOf(told));
    }
    assert.deepEqual(truths.findWrong(exchange.ledger, exchange.truth), []);
    assert.ok(!exchange.log.some((line) => line.includes('a bug')), exchange.log.join('\n'));
    assert.ok(made.length > 20, String(made.length));
  } catch (error) {
    (error as Error).message += `\nseed ${seed}, odd: ${made.join('\n')}`.slice(0, 6_000);
    throw error;
  } finally {
    await exchange.stop();
  }
}

test(
  `a follower of odd answers and frames records nothing wrong ${SEED_NOTE}`,
  TIME_LIMIT,
  async () => {
    for (let run = 0; run < RUNS; run++) await followOdd(`${SEED} ${run}`);
  },
);

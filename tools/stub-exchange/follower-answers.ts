/**
 * Compares the answers of a follower with the truth. An account's rows must be equal to the last
 * digit to those at its Account-Time, and its figures must be equal to those that a second
 * implementation computes at the answer's marks.
 */

import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { currentGas } from '../../src/state/auction.ts';
import { readDecimal, writeDecimal } from '../naive-twin/naive-decimal.ts';
import { figureAccount, writeFigures } from '../naive-twin/naive-figures.ts';
import { createNaiveState, keyOf, type NaiveState } from '../naive-twin/naive-state.ts';
import type { Json, Question } from './dialect-answers.ts';
import type { TrueAccount, Truth } from './truth.ts';

export interface FollowerAnswer {
  readonly question: Question;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/**
 * By how much a mark may be older than the account, in milliseconds of the exchange. Pushed marks
 * have no time, so they are used for some seconds after the last message, and messages may be lost.
 */
const MARK_SLACK_MS = 15_000;

export interface CheckOptions {
  readonly markSlackMs?: number;
}

/** Lists and auctions have no time, so the time of their block differs by up to a round trip. */
const UNTIMED_SLACK_MS = 5000;
/** The maximum age of the markets, which are read every minute. */
const MARKETS_AGE_MS = 90_000;

type Check = (truth: Truth, told: FollowerAnswer, options: CheckOptions) => void;

const CHECKS: Readonly<Record<string, Check>> = {
  clearinghouseState: checkAccount,
  delegations: checkDelegations,
  perpDeployAuctionStatus: checkAuction,
};

/** Checks an answer of the follower; throws if the answer is not true. */
export function checkFollowerAnswer(
  truth: Truth,
  told: FollowerAnswer,
  options: CheckOptions = {},
): void {
  assert.equal(told.status, 200, told.body);
  CHECKS[told.question.type](truth, told, options);
}

function headerOf({ headers, question }: FollowerAnswer, name: string): number {
  const value = Number(headers[name]);
  assert.ok(Number.isSafeInteger(value) && value > 0, `${name} of ${JSON.stringify(question)}`);
  return value;
}

function checkAccount(
  truth: Truth,
  told: FollowerAnswer,
  { markSlackMs = MARK_SLACK_MS }: CheckOptions,
): void {
  const accountTime = headerOf(told, 'account-time');
  const ledgerTime = headerOf(told, 'ledger-time');
  assert.ok(accountTime <= ledgerTime, `Account-Time ${accountTime} after ${ledgerTime}`);
  assert.ok(truth.isBlockTime(accountTime), `the exchange never said ${accountTime}`);
  const user = String(told.question['user']).toLowerCase();
  const dex = String(told.question['dex'] ?? '');
  const answer = sortPositions(JSON.parse(told.body));
  const rows = truth.accountAt(user, dex, accountTime);
  const marks = readMarks(truth, answer, accountTime - markSlackMs);
  const expected = computeAnswers(truth, { user, dex, rows, marks, ledgerTime });
  const where = `${user} on "${dex}" at ${accountTime}, ledger ${ledgerTime}`;
  const [first] = expected;
  if (expected.some((one) => isSameAnswer(answer, one))) return;
  if (rows.account.collateral > 0n) alignPrices(answer, first);
  if (isNothingFree(truth, { user, dex, rows, accountTime })) {
    answer.withdrawable = first.withdrawable;
  }
  assert.deepEqual(answer, first, where);
}

/**
 * Sorts positions by coin. A follower lists markets in the exchange's order if all have a price,
 * and otherwise in the order in which the prices arrive.
 */
function sortPositions(account: Json): Json {
  account.assetPositions.sort((one: Json, other: Json) =>
    one.position.coin < other.position.coin ? -1 : 1,
  );
  return account;
}

function isSameAnswer(answer: Json, expected: Json): boolean {
  return JSON.stringify(answer) === JSON.stringify(expected);
}

/**
 * Returns the prices from which the answer's position values result. Each price must have been true
 * at some time after `since`.
 */
function readMarks(truth: Truth, answer: Json, since: number): Map<string, bigint> {
  const marks = new Map<string, bigint>();
  for (const { position } of answer.assetPositions) {
    const { coin, szi, positionValue } = position;
    const market = truth.markets.get(coin);
    assert.ok(market, `the exchange has no ${coin}`);
    const size = readDecimal(szi.replace('-', ''), market.szDecimals);
    const value = readDecimal(positionValue, 6);
    assert.ok(size !== undefined && value !== undefined, `${szi} of ${coin}: ${positionValue}`);
    const mark = value / size;
    const true_ = market.mark.between(since, Number.POSITIVE_INFINITY);
    assert.ok(true_.includes(mark), `${coin}: mark ${mark} was not true since ${since}`);
    marks.set(coin, mark);
  }
  return marks;
}

/**
 * The tolerance for a price with ten decimals, because its last decimal is rounded on both sides.
 */
const PRICE_SLACK = 2e-10;

/**
 * Aligns the liquidation prices of the two answers. A collateral that was computed from prices is
 * only as exact as the printed prices: if all positions are large, a price that is computed from
 * this collateral may differ in its last digit.
 */
function alignPrices(answer: Json, expected: Json): void {
  for (const [index, { position }] of answer.assetPositions.entries()) {
    const { liquidationPx } = expected.assetPositions[index].position;
    const isNear = Math.abs(Number(position.liquidationPx) - Number(liquidationPx)) <= PRICE_SLACK;
    if (isNear && position.liquidationPx !== null) position.liquidationPx = liquidationPx;
  }
}

interface Valuation {
  readonly user: string;
  readonly dex: string;
  readonly rows: TrueAccount;
  readonly marks: ReadonlyMap<string, bigint>;
  readonly ledgerTime: number;
}

/**
 * Returns the answer for each moment at which a follower may have read the tiers, the newest moment
 * first.
 */
function computeAnswers(truth: Truth, valuation: Valuation): Json[] {
  const { ledgerTime } = valuation;
  return listMarketTimes(truth, valuation).map((marketsTime) => {
    const state = createRows(truth, valuation, marketsTime);
    const figures = figureAccount(state, valuation.user, valuation.dex);
    return sortPositions(JSON.parse(writeFigures(figures, ledgerTime)));
  });
}

/**
 * Returns the moments at which tiers of the account's markets changed, and the earliest possible
 * moment.
 */
function listMarketTimes(truth: Truth, { rows, ledgerTime }: Valuation): number[] {
  const since = ledgerTime - MARKETS_AGE_MS;
  const changes = Object.keys(rows.holdings).flatMap(
    (coin) => truth.markets.get(coin)?.tiers.changesSince(since) ?? [],
  );
  return [...new Set([since, ...changes])].sort((one, other) => other - one);
}

/** Creates a ledger with the rows of one account, at the given marks. */
function createRows(truth: Truth, valuation: Valuation, marketsTime: number): NaiveState {
  const { user, dex, rows, marks } = valuation;
  const state = createNaiveState();
  for (const [
    coin,
    { dex: marketDex, szDecimals, onlyIsolated, tiers: history },
  ] of truth.markets) {
    const mark = marks.get(coin);
    if (mark === undefined) continue;
    const tiers = history.at(marketsTime) ?? history.first;
    const terms = { dex: marketDex, szDecimals, onlyIsolated, tiers: [...tiers] };
    state.markets.set(coin, { ...terms, markPx: mark });
  }
  state.accounts.set(keyOf(user, dex), { ...rows.account, time: 0 });
  for (const [coin, holding] of Object.entries(rows.holdings)) {
    // A position that the answer does not list has no mark. The comparison reports this position as
    // missing.
    if (marks.has(coin)) state.holdings.set(keyOf(user, coin), holding);
  }
  assertSameCoins(rows, marks, user);
  return state;
}

function assertSameCoins(
  { holdings }: TrueAccount,
  marks: ReadonlyMap<string, bigint>,
  user: string,
): void {
  assert.deepEqual([...marks.keys()].sort(), Object.keys(holdings).sort(), `positions of ${user}`);
}

/**
 * True if nothing was withdrawable when the account was read: answers then do not show how much the
 * orders reserve.
 */
function isNothingFree(
  truth: Truth,
  { accountTime, ...account }: Omit<Valuation, 'marks' | 'ledgerTime'> & { accountTime: number },
): boolean {
  const marks = new Map<string, bigint>();
  for (const coin of Object.keys(account.rows.holdings)) {
    marks.set(coin, truth.markets.get(coin)?.mark.at(accountTime) ?? 0n);
  }
  const valuation = { ...account, marks, ledgerTime: accountTime };
  const state = createRows(truth, valuation, accountTime);
  const { withdrawable } = figureAccount(state, account.user, account.dex);
  return withdrawable.numerator === 0n;
}

function checkDelegations(truth: Truth, told: FollowerAnswer): void {
  const time = headerOf(told, 'account-time');
  const user = String(told.question['user']).toLowerCase();
  const answer = JSON.stringify(JSON.parse(told.body));
  // A list is at least as new as its time: it may have arrived long after its request.
  const range = [time - UNTIMED_SLACK_MS, Number.POSITIVE_INFINITY] as const;
  const true_ = truth.delegationsBetween(user, ...range).map((list) => JSON.stringify(list));
  assert.ok(true_.includes(answer), `${user} at ${time}: ${answer}, not one of ${true_}`);
}

function checkAuction(truth: Truth, told: FollowerAnswer): void {
  const time = headerOf(told, 'ledger-time');
  const auctions = truth.auction.between(time - MARKETS_AGE_MS, Number.POSITIVE_INFINITY);
  const true_ = auctions.map((auction) =>
    auction === null
      ? null
      : {
          startTimeSeconds: auction.startTimeSeconds,
          durationSeconds: auction.durationSeconds,
          startGas: writeDecimal(auction.startGas, 8),
          currentGas: writeDecimal(auction.endGas ?? currentGas(auction, time), 8),
          endGas: auction.endGas === undefined ? null : writeDecimal(auction.endGas, 8),
        },
  );
  const answer = JSON.parse(told.body);
  assert.ok(
    true_.some((one) => isSameAnswer(answer, one)),
    `auction at ${time}: ${told.body}, not one of ${JSON.stringify(true_)}`,
  );
}

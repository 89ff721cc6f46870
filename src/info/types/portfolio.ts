/**
 * `portfolio`: value, profit and volume of a user over a day, a week, a month and all time, in the
 * form that clients know. The ledger has no spot balances, so the figures with and without spot are
 * equal.
 */

import { USD_DECIMALS } from '../../events/fields.ts';
import type { Address } from '../../exact/address.ts';
import { add, type Exact, formatUnits, subtract } from '../../exact/decimal.ts';
import { findAccount } from '../../state/accounts.ts';
import { accountTotals } from '../../state/figures/account-totals.ts';
import type { ArchiveSteps } from '../archive/archive-answer.ts';
import type { HistoryView, PastView } from '../archive/history-view.ts';
import { WEIGHT_SHARES } from '../archive/surcharge.ts';
import { countPoints, listPoints } from '../archive/time-range.ts';
import { addressField } from '../fields/address-field.ts';
import type { ArchiveQuestionType } from '../question-type.ts';
import {
  amount,
  anyText,
  choiceOf,
  decimalText,
  listOf,
  object,
  openObject,
  tuple,
  wholeNumber,
} from '../schema.ts';

const fields = { user: addressField };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The number of points in the series of all time. */
const ALL_TIME_POINTS = 100;

/** The length and the step of each period, in milliseconds. For all time, they are undefined. */
const PERIODS = [
  { name: 'day', perpName: 'perpDay', lengthMs: DAY_MS, stepMs: HOUR_MS / 2 },
  { name: 'week', perpName: 'perpWeek', lengthMs: 7 * DAY_MS, stepMs: 2 * HOUR_MS },
  { name: 'month', perpName: 'perpMonth', lengthMs: 30 * DAY_MS, stepMs: 8 * HOUR_MS },
  { name: 'allTime', perpName: 'perpAllTime', lengthMs: undefined, stepMs: undefined },
] as const;

const NAMES = [...PERIODS.map(({ name }) => name), ...PERIODS.map(({ perpName }) => perpName)];

const pointsSchema = listOf(tuple(wholeNumber, amount));
const periodSchema = object({
  accountValueHistory: pointsSchema,
  pnlHistory: pointsSchema,
  vlm: amount,
});

const upstreamPointsSchema = listOf(tuple(wholeNumber, decimalText));
const upstreamPeriodSchema = openObject({
  ...{ accountValueHistory: upstreamPointsSchema, pnlHistory: upstreamPointsSchema },
  vlm: decimalText,
});

const EXAMPLE_PERIOD = {
  accountValueHistory: [
    [1758556800000, '850.0'],
    [1758560400000, '851.2'],
  ],
  pnlHistory: [
    [1758556800000, '0.0'],
    [1758560400000, '1.2'],
  ],
  vlm: '4117.7078',
};

export const portfolio: ArchiveQuestionType<typeof fields> = {
  source: 'archive',
  type: 'portfolio',
  group: 'history',
  summary:
    "A user's value, profit and traded volume over a day, a week, a month and the whole archive, " +
    'over all dexes. The ledger has no spot balances, so both kinds of periods have only perpetuals.',
  weight: 20,
  shares: ['point', 'mark', 'change'],
  fields,
  answerSchema: listOf(tuple(choiceOf(...NAMES), periodSchema)),
  example: {
    question: { type: 'portfolio', user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2' },
    answer: NAMES.map((name) => [name, EXAMPLE_PERIOD]),
  },
  hasCsv: false,
  upstreamFirst: { answerSchema: listOf(tuple(anyText, upstreamPeriodSchema)) },
  *answer(history, { user }, format): ArchiveSteps {
    const { firstTime, last, lastTime } = history.range();
    const periods = PERIODS.map((period) => rangeOf(period, firstTime, lastTime));
    const points = periods.reduce((sum, { step, ...range }) => sum + countPoints(range, step), 0);
    yield points * WEIGHT_SHARES.point;
    const answers: string[] = [];
    for (const period of periods) answers.push(yield* formatPeriod(history, user, period));
    const texts = NAMES.map((name, index) => `["${name}",${answers[index % PERIODS.length]}]`);
    const body = `[${texts.join(',')}]`;
    return { body, format, height: last, time: lastTime, isFixed: false, accountTime: -1 };
  },
};

interface PeriodRange {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

function rangeOf(
  { lengthMs, stepMs }: (typeof PERIODS)[number],
  firstTime: number,
  lastTime: number,
): PeriodRange {
  const from = Math.max(firstTime, lengthMs === undefined ? firstTime : lastTime - lengthMs);
  const step = stepMs ?? Math.max(1, Math.ceil((lastTime - from) / ALL_TIME_POINTS));
  return { from, to: lastTime, step };
}

interface Sums {
  readonly value: Exact;
  /** The value minus the transfers. */
  readonly profit: Exact;
  readonly volume: Exact;
}

function* formatPeriod(
  history: HistoryView,
  user: Address,
  { from, to, step }: PeriodRange,
): Generator<number, string, void> {
  const values: string[] = [];
  const profits: string[] = [];
  const dexes = history.dexesOf(user);
  let past: PastView | undefined;
  let opening: Sums | undefined;
  const volumeBefore = findVolumeBefore(history, user, from);
  let volume: Exact = 0;
  for (const { height, time } of listPoints(history, { from, to }, step)) {
    if (height === undefined) continue;
    if (past === undefined) past = loadAccounts(history.at(height), user, dexes);
    else past.moveTo(height);
    const sums = sumAccounts(past, user, dexes);
    yield 0;
    if (sums === undefined) continue;
    opening ??= sums;
    volume = subtract(sums.volume, volumeBefore);
    const profit = subtract(sums.profit, opening.profit);
    values.push(`[${time},"${formatUnits(sums.value, USD_DECIMALS)}"]`);
    profits.push(`[${time},"${formatUnits(profit, USD_DECIMALS)}"]`);
  }
  past?.release();
  return (
    `{"accountValueHistory":[${values.join(',')}],"pnlHistory":[${profits.join(',')}]` +
    `,"vlm":"${formatUnits(volume, USD_DECIMALS)}"}`
  );
}

/**
 * Returns the volume before a period. A period that starts at the first time of the archive
 * includes the first block.
 */
function findVolumeBefore(history: HistoryView, user: Address, from: number): Exact {
  const { first, firstTime } = history.range();
  const height = from <= firstTime ? first - 1 : (history.heightAt(from) ?? first - 1);
  let volume: Exact = 0;
  for (const dexIndex of history.dexesOf(user)) {
    volume = add(volume, history.sumsAt({ user, dexIndex }, height).volume);
  }
  return volume;
}

function loadAccounts(past: PastView, user: Address, dexes: readonly number[]): PastView {
  for (const dexIndex of dexes) past.load({ kind: 'account', user, dexIndex });
  return past;
}

/**
 * Returns undefined as long as a partial ledger does not know the user, because an unknown value is
 * not zero.
 */
function sumAccounts(past: PastView, user: Address, dexes: readonly number[]): Sums | undefined {
  const { state } = past;
  let sums: Sums = { value: 0, profit: 0, volume: 0 };
  let isKnown = !state.isPartial;
  for (const dexIndex of dexes) {
    const account = findAccount(state, state.addresses.find(user), dexIndex);
    if (account === 0) continue;
    isKnown = true;
    const { accountValue } = accountTotals(state, account);
    const { netTransfers, volume } = past.sumsOf(user, dexIndex);
    sums = {
      value: add(sums.value, accountValue),
      profit: add(sums.profit, subtract(accountValue, netTransfers)),
      volume: add(sums.volume, volume),
    };
  }
  return isKnown ? sums : undefined;
}

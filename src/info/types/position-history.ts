/** `positionHistory`: every block that changed a position. */

import { USD_DECIMALS } from '../../events/fields.ts';
import { divideFloor, formatUnits } from '../../exact/decimal.ts';
import type { Market } from '../../state/markets/markets.ts';
import type { ArchiveSteps } from '../archive/archive-answer.ts';
import type { HistoryView, PositionChange } from '../archive/history-view.ts';
import { WEIGHT_SHARES } from '../archive/surcharge.ts';
import { heightsOf, POINTS_MAX, readTimeRange, timeRangeFields } from '../archive/time-range.ts';
import { addressField } from '../fields/address-field.ts';
import type { Field } from '../fields/field.ts';
import type { ArchiveQuestionType } from '../question-type.ts';
import { wrongValue } from '../request-error.ts';
import { amount, anyText, choiceOf, listOf, object, wholeNumber } from '../schema.ts';

const ledgerCoinField: Field<string> = {
  description: 'the name of a coin, as meta lists it',
  schema: { type: 'string' },
  read(name, value) {
    if (typeof value === 'string') return value;
    return wrongValue(name, value, 'the name of a coin as text');
  },
};

const fields = { user: addressField, coin: ledgerCoinField, ...timeRangeFields };

export const positionHistory: ArchiveQuestionType<typeof fields> = {
  source: 'archive',
  type: 'positionHistory',
  group: 'history',
  summary:
    `The first ${POINTS_MAX} blocks that changed a user's position in a coin, with the position ` +
    'after the block, the mark price of the block, and the types of the events that changed it.',
  weight: 20,
  shares: ['change', 'row'],
  fields,
  answerSchema: listOf(
    object({
      height: wholeNumber,
      time: wholeNumber,
      szi: amount,
      entryPx: amount,
      entryNtl: amount,
      markPx: amount,
      leverage: object({ type: choiceOf('cross', 'isolated'), value: wholeNumber }),
      fundingSinceOpen: amount,
      causes: listOf(anyText),
    }),
  ),
  example: {
    question: {
      type: 'positionHistory',
      user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2',
      coin: 'BTC',
      from: 1758556800000,
      to: 1758560400000,
    },
    answer: [
      {
        height: 17,
        time: 1758556816000,
        szi: '0.04226',
        entryPx: '97437.4',
        entryNtl: '4117.7078',
        markPx: '97435.0',
        leverage: { type: 'isolated', value: 20 },
        fundingSinceOpen: '0.0',
        causes: ['fill'],
      },
    ],
  },
  hasCsv: true,
  *answer(history, { user, coin, from, to }, format): ArchiveSteps {
    const range = readTimeRange(history, { from, to });
    const { last, lastTime } = history.range();
    const heights = heightsOf(history, range);
    // If the range contains no block, the coin is looked up at the last height.
    const end = heights.to < heights.from ? last : heights.to;
    const { market, index } = findMarketAt(history, end, coin);
    const rows: Row[] = [];
    const account = { user, dexIndex: market.dexIndex };
    for (const change of history.positionChanges(account, index, heights)) {
      if (change !== undefined) rows.push(describeChange(history, change, market, index));
      yield change === undefined ? 0 : WEIGHT_SHARES.row;
      if (rows.length === POINTS_MAX) break;
    }
    const body = format === 'csv' ? toCsv(rows) : JSON.stringify(rows);
    const { isFixed } = range;
    return { body, format, height: last, time: lastTime, isFixed, accountTime: -1 };
  },
};

function findMarketAt(history: HistoryView, height: number, coin: string) {
  const past = history.at(height);
  const { markets } = past.state;
  const index = markets.findMarket(coin);
  past.release();
  if (index !== undefined) return { index, market: markets.markets[index] };
  throw wrongValue('coin', coin, 'a coin that meta lists');
}

function describeChange(
  history: HistoryView,
  change: PositionChange,
  { sizeDecimals, priceDecimals }: Market,
  index: number,
) {
  const { height, size, entryNotional, isIsolated, leverage } = change;
  const entryPrice = size === 0 ? 0 : divideFloor(entryNotional, Math.abs(size));
  return {
    height,
    time: history.timeOf(height),
    szi: formatUnits(size, sizeDecimals),
    entryPx: formatUnits(entryPrice, priceDecimals),
    entryNtl: formatUnits(entryNotional, USD_DECIMALS),
    markPx: formatUnits(history.markOf(index, height), priceDecimals),
    leverage: { type: isIsolated ? 'isolated' : 'cross', value: leverage },
    fundingSinceOpen: formatUnits(change.fundingSinceOpen, USD_DECIMALS),
    causes: change.causes,
  };
}

type Row = ReturnType<typeof describeChange>;

const CSV_COLUMNS = [
  ...['height', 'time', 'szi', 'entryPx', 'entryNtl', 'markPx', 'leverageType', 'leverage'],
  ...['fundingSinceOpen', 'causes'],
];

function toCsv(rows: readonly Row[]): string {
  const lines = rows.map((row) => [
    ...[row.height, row.time, row.szi, row.entryPx, row.entryNtl, row.markPx],
    ...[row.leverage.type, row.leverage.value, row.fundingSinceOpen, row.causes.join(' ')],
  ]);
  return [CSV_COLUMNS, ...lines].map((line) => `${line.join(',')}\r\n`).join('');
}

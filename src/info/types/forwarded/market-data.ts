/** Books, candles, trades and funding rates, which only the upstream has. */

import {
  candlesField,
  coinField,
  DEX_FIELDS,
  mantissaField,
  NO_FIELDS,
  optional,
  PERIOD_FIELDS,
  significantFiguresField,
} from '../../fields/market-fields.ts';
import {
  anyText,
  choiceOf,
  decimalText,
  listOf,
  openObject,
  orNull,
  tuple,
  wholeNumber,
} from '../../schema.ts';
import { LIGHT, PER_20_OF_500, PER_60_OF_5000 } from '../../upstream-cost.ts';
import { declareForwarded } from './declare-forwarded.ts';

const side = choiceOf('A', 'B');
const level = openObject({ px: decimalText, sz: decimalText, n: wholeNumber });
const bookSchema = openObject({
  coin: anyText,
  time: wholeNumber,
  levels: tuple(listOf(level), listOf(level)),
});
const candleSchema = openObject({
  ...{ t: wholeNumber, T: wholeNumber, s: anyText, i: anyText, n: wholeNumber },
  ...{ o: decimalText, c: decimalText, h: decimalText, l: decimalText, v: decimalText },
});
const tradeSchema = openObject(
  { coin: anyText, side, px: decimalText, sz: decimalText, time: wholeNumber, hash: anyText },
  { tid: wholeNumber, users: listOf(anyText) },
);
const rateSchema = openObject({
  ...{ coin: anyText, fundingRate: decimalText, premium: decimalText, time: wholeNumber },
});
const predictedSchema = openObject(
  { fundingRate: decimalText, nextFundingTime: wholeNumber },
  { fundingIntervalHours: wholeNumber },
);

const bookFields = {
  coin: coinField,
  nSigFigs: optional(significantFiguresField),
  mantissa: optional(mantissaField),
};

export const MARKET_DATA_TYPES: ReturnType<typeof declareForwarded> = declareForwarded(
  'market data',
  [
    ['l2Book', bookFields, orNull(bookSchema), 'The order book of a market.', LIGHT],
    [
      'candleSnapshot',
      { req: candlesField },
      listOf(candleSchema),
      'The candles of a market.',
      PER_60_OF_5000,
    ],
    [
      'recentTrades',
      { coin: coinField },
      listOf(tradeSchema),
      'The last trades of a market.',
      PER_20_OF_500,
    ],
    [
      ...(['fundingHistory', { coin: coinField, ...PERIOD_FIELDS }] as const),
      ...([listOf(rateSchema), 'The funding rates of a market in a period.'] as const),
      PER_20_OF_500,
    ],
    [
      ...(['predictedFundings', NO_FIELDS] as const),
      listOf(tuple(anyText, listOf(tuple(anyText, orNull(predictedSchema))))),
      'The next funding rates, by market and exchange.',
    ],
    [
      ...(['perpsAtOpenInterestCap', DEX_FIELDS] as const),
      ...([listOf(anyText), 'The markets of a dex that are at their open interest cap.'] as const),
    ],
  ],
);

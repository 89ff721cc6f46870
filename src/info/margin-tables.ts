/** `marginTable`: the margin tiers of a market, by an id that `meta` lists. */

import { USD_DECIMALS } from '../events/fields.ts';
import { formatUnits } from '../exact/decimal.ts';
import type { Market } from '../state/markets.ts';
import type { StateView } from '../state/state.ts';
import { type RequestType, wholeField } from './request.ts';
import { RequestError } from './request-error.ts';
import { amount, anyText, listOf, object, wholeNumber } from './schema.ts';

/** First id of tables with several tiers; lower ids are maximum leverages. */
const TIERED_TABLES_FROM = 1001;

/**
 * The id of a table with one tier is that tier's maximum leverage, as clients expect. The id of one
 * with several depends on the market's index only, so that it never changes its meaning.
 */
export function marginTableId(market: Market, marketIndex: number): number {
  return market.tiers.length === 1 ? market.tiers[0].maxLeverage : TIERED_TABLES_FROM + marketIndex;
}

export function formatMarginTable({ tiers }: Market): string {
  const texts = tiers.map(
    ({ lowerBound, maxLeverage }) =>
      `{"lowerBound":"${formatUnits(lowerBound, USD_DECIMALS)}","maxLeverage":${maxLeverage}}`,
  );
  return `{"description":"","marginTiers":[${texts.join(',')}]}`;
}

export const marginTableSchema = object({
  description: anyText,
  marginTiers: listOf(object({ lowerBound: amount, maxLeverage: wholeNumber })),
});

export const marginTableExample = {
  description: '',
  marginTiers: [
    { lowerBound: '0.0', maxLeverage: 40 },
    { lowerBound: '150000000.0', maxLeverage: 20 },
  ],
};

const tableFields = {
  id: wholeField('the id of a margin table, as listed by meta', { from: 1 }),
};

/** Of the first market that has this table. */
function requireMarketIndex({ markets }: StateView, id: number): number {
  const index = markets.markets.findIndex((market, place) => marginTableId(market, place) === id);
  if (index !== -1) return index;
  const message = `id: got ${id}, expected the marginTableId of a market, as listed by meta`;
  throw new RequestError('invalid_field', message, 'id');
}

export const marginTable: RequestType<typeof tableFields> = {
  type: 'marginTable',
  summary: "One margin table: the tiers of a market's leverage.",
  weight: 20,
  fields: tableFields,
  answerSchema: marginTableSchema,
  example: { question: { type: 'marginTable', id: 1001 }, answer: marginTableExample },
  validate(state, { id }) {
    requireMarketIndex(state, id);
  },
  // Markets share an id only if each has a single tier; then their tables are the same.
  changedAt: (state, { id }) => state.markets.termsChangedAt(requireMarketIndex(state, id)),
  answer: (state, { id }) =>
    formatMarginTable(state.markets.markets[requireMarketIndex(state, id)]),
};

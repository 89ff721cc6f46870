/** `allMids`: the price of each market of a dex. */

import { marketsChangedAt } from '../../state/changed-at.ts';
import type { StateView } from '../../state/state.ts';
import { formatMarkPrice, marketPlaces, requireMarkets } from '../answers/market-answers.ts';
import { dexField } from '../fields/dex-field.ts';
import { DEX_FIELDS } from '../fields/market-fields.ts';
import type { StateQuestionType } from '../question-type.ts';
import { amount, decimalText } from '../schema.ts';
import { LIGHT } from '../upstream-cost.ts';

/**
 * The indexes of markets that are not delisted. A delisted market has only a last mark price, which
 * is not a current price.
 */
function listTraded(state: StateView, dexIndex: number): number[] {
  const listed = state.universes.byDex.get(dexIndex)?.markets;
  return marketPlaces(state, dexIndex).flatMap((index, place) =>
    index === undefined || listed?.[place]?.isDelisted === true ? [] : index,
  );
}

/** Clients expect the pushed prices of the first dex without the field `dex`. */
const fields = { dex: { ...dexField, omitsFallback: true } };

export const allMids: StateQuestionType<typeof fields> = {
  source: 'state',
  type: 'allMids',
  group: 'market data',
  summary:
    "The price of each of a dex's markets: the mark price, as the ledger holds no order book.",
  weight: 20,
  upstreamCost: LIGHT,
  fields: fields,
  answerSchema: { type: 'object', additionalProperties: amount },
  example: { question: { type: 'allMids' }, answer: { BTC: '97300.0', MOG: '0.009348' } },
  push: { name: 'mids' },
  upstreamFirst: {
    answerSchema: { type: 'object', additionalProperties: decimalText },
    fields: DEX_FIELDS,
    dexNames: ['ALL_DEXS'],
    isPastFromArchive: true,
  },
  validate(state, { dex }) {
    requireMarkets(state, dex);
  },
  changedAt: (state, { dex }) => marketsChangedAt(state, requireMarkets(state, dex)),
  answer(state, { dex }) {
    const prices = listTraded(state, requireMarkets(state, dex)).map(
      (index) => `"${state.markets.markets[index].coin}":"${formatMarkPrice(state, index)}"`,
    );
    return `{${prices.join(',')}}`;
  },
};

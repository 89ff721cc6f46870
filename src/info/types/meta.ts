/** `meta`: the markets of a dex, which clients ask for before they ask for accounts. */

import { termsChangedAt } from '../../state/changed-at.ts';
import { formatMeta, requireMarkets } from '../answers/market-answers.ts';
import { dexField } from '../fields/dex-field.ts';
import type { StateQuestionType } from '../question-type.ts';
import { anyText, anythingElse, listOf, object, tuple, wholeNumber } from '../schema.ts';
import { marginTableExample, marginTableSchema } from './margin-table.ts';

const ownMetaSchema = object({
  universe: listOf(
    object(
      {
        szDecimals: wholeNumber,
        name: anyText,
        maxLeverage: wholeNumber,
        marginTableId: wholeNumber,
      },
      { onlyIsolated: { const: true } },
    ),
  ),
  marginTables: listOf(tuple(wholeNumber, marginTableSchema)),
  collateralToken: { const: 0 },
});

/** The answer of a followed server may have further fields, which are passed on. */
export const metaSchema: typeof ownMetaSchema = { anyOf: [ownMetaSchema, anythingElse] };

export const metaExample = {
  universe: [
    { szDecimals: 5, name: 'BTC', maxLeverage: 40, marginTableId: 1001 },
    { szDecimals: 0, name: 'MOG', maxLeverage: 3, marginTableId: 3, onlyIsolated: true },
  ],
  marginTables: [
    [1001, marginTableExample],
    [3, { description: '', marginTiers: [{ lowerBound: '0.0', maxLeverage: 3 }] }],
  ],
  collateralToken: 0,
};

const fields = { dex: dexField };

export const meta: StateQuestionType<typeof fields> = {
  source: 'state',
  type: 'meta',
  group: 'markets',
  summary: 'The markets of a dex: names, decimals, leverage and margin tables.',
  weight: 20,
  fields: fields,
  answerSchema: metaSchema,
  example: { question: { type: 'meta' }, answer: metaExample },
  validate(state, { dex }) {
    requireMarkets(state, dex);
  },
  changedAt: (state, { dex }) => termsChangedAt(state, requireMarkets(state, dex)),
  answer: (state, { dex }) => formatMeta(state, requireMarkets(state, dex)),
};

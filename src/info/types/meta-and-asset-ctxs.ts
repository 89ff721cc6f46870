/** `metaAndAssetCtxs`: the markets of a dex with their prices. */

import { marketsChangedAt } from '../../state/changed-at.ts';
import { formatContexts, formatMeta, requireMarkets } from '../answers/market-answers.ts';
import { dexField } from '../fields/dex-field.ts';
import { DEX_FIELDS } from '../fields/market-fields.ts';
import type { StateQuestionType } from '../question-type.ts';
import {
  alwaysNull,
  amount,
  anyText,
  decimalText,
  listOf,
  object,
  openObject,
  orNull,
  tuple,
  wholeNumber,
  zero,
} from '../schema.ts';
import { metaExample, metaSchema } from './meta.ts';

export const contextSchema = object({
  funding: orNull(zero),
  openInterest: orNull(zero),
  prevDayPx: orNull(zero),
  dayNtlVlm: orNull(zero),
  premium: alwaysNull,
  oraclePx: orNull(zero),
  markPx: orNull(amount),
  midPx: alwaysNull,
  impactPxs: alwaysNull,
  dayBaseVlm: orNull(zero),
});

const contextExample = {
  funding: '0.0',
  openInterest: '0.0',
  prevDayPx: '0.0',
  dayNtlVlm: '0.0',
  premium: null,
  oraclePx: '0.0',
  markPx: '97300.0',
  midPx: null,
  impactPxs: null,
  dayBaseVlm: '0.0',
};

export const contextsExample = [contextExample, { ...contextExample, markPx: '0.009348' }];

const upstreamMetaSchema = openObject({
  universe: listOf(
    openObject({ name: anyText, szDecimals: wholeNumber, maxLeverage: wholeNumber }),
  ),
});
const upstreamContextSchema = openObject({
  ...{ funding: decimalText, openInterest: decimalText, prevDayPx: decimalText },
  ...{ dayNtlVlm: decimalText, oraclePx: decimalText, markPx: decimalText },
  ...{ premium: orNull(decimalText), midPx: orNull(decimalText) },
  impactPxs: orNull(listOf(decimalText)),
});

const fields = { dex: dexField };

export const metaAndAssetCtxs: StateQuestionType<typeof fields> = {
  source: 'state',
  type: 'metaAndAssetCtxs',
  group: 'market data',
  summary:
    'The markets of a dex, and their mark prices; figures the ledger lacks are null or zero.',
  weight: 20,
  fields: fields,
  answerSchema: tuple(metaSchema, listOf(contextSchema)),
  example: {
    question: { type: 'metaAndAssetCtxs' },
    answer: [metaExample, contextsExample],
  },
  upstreamFirst: {
    answerSchema: tuple(upstreamMetaSchema, listOf(upstreamContextSchema)),
    fields: DEX_FIELDS,
    dexNames: [],
    isPastFromArchive: true,
  },
  validate(state, { dex }) {
    requireMarkets(state, dex);
  },
  changedAt: (state, { dex }) => marketsChangedAt(state, requireMarkets(state, dex)),
  answer(state, { dex }) {
    const dexIndex = requireMarkets(state, dex);
    return `[${formatMeta(state, dexIndex)},${formatContexts(state, dexIndex)}]`;
  },
};

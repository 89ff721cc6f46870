/**
 * `spotMeta`: this exchange has no spot markets. Clients look up the margin token, so the answer
 * lists this token as they expect it: index 0, USDC, with the decimals of USD amounts.
 */

import { USD_DECIMALS } from '../../events/fields.ts';
import type { StateQuestionType } from '../question-type.ts';
import {
  anyText,
  emptyList,
  flag,
  listOf,
  object,
  openObject,
  type Schema,
  wholeNumber,
} from '../schema.ts';

const COLLATERAL_TOKEN = {
  name: 'USDC',
  szDecimals: USD_DECIMALS,
  weiDecimals: USD_DECIMALS,
  index: 0,
  tokenId: '0x00000000000000000000000000000000',
  isCanonical: true,
  evmContract: null,
  fullName: null,
  deployerTradingFeeShare: '0.0',
};

export const SPOT_META = { universe: [], tokens: [COLLATERAL_TOKEN] };
export const SPOT_META_TEXT = JSON.stringify(SPOT_META);

export const spotMetaSchema = object({
  universe: emptyList,
  tokens: listOf({ const: COLLATERAL_TOKEN }),
});

export const upstreamSpotMetaSchema: Schema = openObject({
  universe: listOf(openObject({ name: anyText, tokens: listOf(wholeNumber), index: wholeNumber })),
  tokens: listOf(
    openObject({
      ...{ name: anyText, szDecimals: wholeNumber, weiDecimals: wholeNumber },
      ...{ index: wholeNumber, tokenId: anyText, isCanonical: flag },
    }),
  ),
});

export const spotMeta: StateQuestionType<Record<string, never>> = {
  source: 'state',
  type: 'spotMeta',
  group: 'spot',
  summary: 'The spot markets, always none, and the margin token.',
  weight: 20,
  fields: {},
  answerSchema: spotMetaSchema,
  example: { question: { type: 'spotMeta' }, answer: SPOT_META },
  upstreamFirst: { answerSchema: upstreamSpotMetaSchema },
  changedAt: () => 0,
  answer: () => SPOT_META_TEXT,
};

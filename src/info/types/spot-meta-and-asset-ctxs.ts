/** `spotMetaAndAssetCtxs`: the spot markets and their prices; there are none. */

import type { StateQuestionType } from '../question-type.ts';
import { decimalText, emptyList, listOf, openObject, orNull, tuple } from '../schema.ts';
import { SPOT_META, SPOT_META_TEXT, spotMetaSchema, upstreamSpotMetaSchema } from './spot-meta.ts';

const upstreamSpotContextSchema = openObject({
  ...{ prevDayPx: decimalText, dayNtlVlm: decimalText, markPx: decimalText },
  midPx: orNull(decimalText),
});

export const spotMetaAndAssetCtxs: StateQuestionType<Record<string, never>> = {
  source: 'state',
  type: 'spotMetaAndAssetCtxs',
  group: 'spot',
  summary: 'spotMeta with the prices of the spot markets, always none.',
  weight: 20,
  fields: {},
  answerSchema: tuple(spotMetaSchema, emptyList),
  example: { question: { type: 'spotMetaAndAssetCtxs' }, answer: [SPOT_META, []] },
  upstreamFirst: {
    answerSchema: tuple(upstreamSpotMetaSchema, listOf(upstreamSpotContextSchema)),
  },
  changedAt: () => 0,
  answer: () => `[${SPOT_META_TEXT},[]]`,
};

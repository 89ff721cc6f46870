/** `outcomeMeta`: the outcome markets. Our own answer always has empty lists. */

import type { StateQuestionType } from '../question-type.ts';
import { anything, emptyList, listOf, object, openObject } from '../schema.ts';

export const outcomeMeta: StateQuestionType<Record<string, never>> = {
  source: 'state',
  type: 'outcomeMeta',
  group: 'spot',
  summary: 'The outcome markets, always none.',
  weight: 20,
  fields: {},
  answerSchema: object({ outcomes: emptyList, questions: emptyList }),
  example: { question: { type: 'outcomeMeta' }, answer: { outcomes: [], questions: [] } },
  upstreamFirst: {
    answerSchema: openObject({ outcomes: listOf(anything), questions: listOf(anything) }),
  },
  changedAt: () => 0,
  answer: () => '{"outcomes":[],"questions":[]}',
};

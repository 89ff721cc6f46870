/** `outcomeMeta`: the outcome markets; there are none. */

import type { StateQuestionType } from '../question-type.ts';
import { emptyList, object } from '../schema.ts';

export const outcomeMeta: StateQuestionType<Record<string, never>> = {
  source: 'state',
  type: 'outcomeMeta',
  group: 'spot',
  summary: 'The outcome markets, always none.',
  weight: 20,
  fields: {},
  answerSchema: object({ outcomes: emptyList, questions: emptyList }),
  example: { question: { type: 'outcomeMeta' }, answer: { outcomes: [], questions: [] } },
  upstreamFirst: {},
  changedAt: () => 0,
  answer: () => '{"outcomes":[],"questions":[]}',
};

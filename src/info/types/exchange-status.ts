/** `exchangeStatus`: the exchange's clock and status. */

import type { StateQuestionType } from '../question-type.ts';
import { alwaysNull, object, wholeNumber } from '../schema.ts';
import { LIGHT } from '../upstream-cost.ts';

export const exchangeStatus: StateQuestionType<Record<string, never>> = {
  source: 'state',
  type: 'exchangeStatus',
  group: 'markets',
  summary: "The ledger's time in milliseconds; special statuses are not recorded, so always null.",
  weight: 20,
  upstreamCost: LIGHT,
  fields: {},
  answerSchema: object({ time: wholeNumber, specialStatuses: alwaysNull }),
  example: {
    question: { type: 'exchangeStatus' },
    answer: { time: 1758561760000, specialStatuses: null },
  },
  changedAt: () => 0,
  answer: ({ time }) => `{"time":${time},"specialStatuses":null}`,
};

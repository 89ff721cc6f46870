/** The exchange's clock and status, and the mode of an account. */

import { addressField, type RequestType } from './request.ts';
import { alwaysNull, object, wholeNumber } from './schema.ts';

const WEIGHT = 20;

export const exchangeStatus: RequestType<Record<string, never>> = {
  type: 'exchangeStatus',
  summary: "The ledger's time in milliseconds; special statuses are not recorded, so always null.",
  weight: WEIGHT,
  fields: {},
  answerSchema: object({ time: wholeNumber, specialStatuses: alwaysNull }),
  example: {
    question: { type: 'exchangeStatus' },
    answer: { time: 1758561760000, specialStatuses: null },
  },
  changedAt: () => 0,
  answer: ({ time }) => `{"time":${time},"specialStatuses":null}`,
};

const userFields = { user: addressField };

/** The mode of an account that was never changed; the ledger records no other. */
const DEFAULT_MODE = 'default';

export const userAbstraction: RequestType<typeof userFields> = {
  type: 'userAbstraction',
  summary: 'The mode of an account; the ledger records none, so it is always "default".',
  weight: WEIGHT,
  fields: userFields,
  answerSchema: { const: DEFAULT_MODE },
  example: {
    question: { type: 'userAbstraction', user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2' },
    answer: DEFAULT_MODE,
  },
  isRefusedOnPartial: true,
  changedAt: () => 0,
  answer: () => JSON.stringify(DEFAULT_MODE),
};

/** `userAbstraction`: the mode of an account. */

import { addressField, type RequestType } from './request.ts';

const fields = { user: addressField };

/** The mode of an account that was never changed; the ledger records no other. */
const DEFAULT_MODE = 'default';

export const userAbstraction: RequestType<typeof fields> = {
  type: 'userAbstraction',
  summary: 'The mode of an account; the ledger records none, so it is always "default".',
  weight: 20,
  fields,
  answerSchema: { const: DEFAULT_MODE },
  example: {
    question: { type: 'userAbstraction', user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2' },
    answer: DEFAULT_MODE,
  },
  isRefusedOnPartial: true,
  changedAt: () => 0,
  answer: () => JSON.stringify(DEFAULT_MODE),
};

/** `userAbstraction`: the mode of an account. */

import type { Address } from '../../exact/address.ts';
import type { StateView } from '../../state/state.ts';
import { addressField } from '../fields/address-field.ts';
import { FIRST_DEX_INDEX } from '../fields/dex-field.ts';
import type { StateQuestionType } from '../question-type.ts';
import { RequestError } from '../request-error.ts';
import { anyText } from '../schema.ts';

const fields = { user: addressField };

/** The mode of an account whose mode was never changed. */
const DEFAULT_MODE = 'default';

/** Returns the mode; returns undefined if the ledger does not know it. */
function findMode(state: StateView, user: Address): string | undefined {
  const recorded = state.modes.find(state.addresses.find(user));
  return recorded ?? (state.isPartial ? undefined : DEFAULT_MODE);
}

export const userAbstraction: StateQuestionType<typeof fields> = {
  source: 'state',
  type: 'userAbstraction',
  group: 'accounts',
  summary: 'The mode of an account; "default" unless an event has set another.',
  weight: 20,
  fields,
  answerSchema: anyText,
  example: {
    question: { type: 'userAbstraction', user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2' },
    answer: DEFAULT_MODE,
  },
  // A follower reads the mode together with the account, and an archive loads the mode together
  // with the account.
  partial: {
    subjects: (state, { user }) =>
      state.modes.find(state.addresses.find(user)) === undefined
        ? [{ kind: 'account', user, dexIndex: FIRST_DEX_INDEX }]
        : [],
  },
  upstreamFirst: { answerSchema: anyText },
  changedAt: (state, { user }) => state.modes.changedAt(state.addresses.find(user)),
  answer(state, { user }) {
    const mode = findMode(state, user);
    if (mode !== undefined) return JSON.stringify(mode);
    const expected = 'an account whose mode the ledger holds; with --forward the exchange answers';
    throw new RequestError(
      'unknown_type',
      `type: got "userAbstraction", expected ${expected}`,
      'type',
    );
  },
};

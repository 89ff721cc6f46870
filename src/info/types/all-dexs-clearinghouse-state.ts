/** `allDexsClearinghouseState`: a user's perpetuals accounts on all dexes. */

import {
  ALL_DEXES_WEIGHT,
  accountsChangedAt,
  accountsOf,
  listAccounts,
  writeAllDexes,
} from '../answers/user-accounts.ts';
import { addressField } from '../fields/address-field.ts';
import type { StateQuestionType } from '../question-type.ts';
import { anyText, listOf, tuple } from '../schema.ts';
import { writtenText } from '../writing/answer-writer.ts';
import { accountExample, accountSchema } from './clearinghouse-state.ts';

export const dexStatesSchema: ReturnType<typeof listOf<readonly unknown[]>> = listOf(
  tuple(anyText, accountSchema),
);

const fields = { user: addressField };

export const allDexsClearinghouseState: StateQuestionType<typeof fields> = {
  source: 'state',
  type: 'allDexsClearinghouseState',
  group: 'accounts',
  summary: "A user's perpetuals accounts on all dexes, in their order, from one height.",
  weight: ALL_DEXES_WEIGHT,
  fields: fields,
  answerSchema: dexStatesSchema,
  example: {
    question: {
      type: 'allDexsClearinghouseState',
      user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2',
    },
    answer: [['', accountExample]],
  },
  partial: { subjects: (state, { user }) => accountsOf(state, user, undefined) },
  changedAt: (state, { user }) => accountsChangedAt(state, user, undefined),
  dependencies(state, { user }) {
    const addressRow = state.addresses.find(user);
    if (addressRow === 0) return undefined;
    return { accounts: listAccounts(state, addressRow), addresses: [addressRow] };
  },
  answer: (state, { user }, upstream) =>
    writtenText((out) => writeAllDexes(out, { state, upstream }, user)),
  push: {
    name: 'clearinghouseStates',
    write: (out, state, { user }, upstream) => writeAllDexes(out, { state, upstream }, user),
  },
};

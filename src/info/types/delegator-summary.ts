/** `delegatorSummary`: a user's active stakes in sum. */

import { STAKE_DECIMALS } from '../../events/fields.ts';
import { formatUnits } from '../../exact/decimal.ts';
import { delegatedAmount } from '../../state/staking.ts';
import { addressField } from '../fields/address-field.ts';
import type { StateQuestionType } from '../question-type.ts';
import { RequestError } from '../request-error.ts';
import { amount, object } from '../schema.ts';
import { delegationsOf, userDelegationsChangedAt } from './delegations.ts';

const fields = { user: addressField };

const NOT_SUMMED = new RequestError(
  'upstream_failed',
  "the exchange's list of delegations has amounts that the ledger cannot hold: ask for delegations",
  'user',
);

export const delegatorSummary: StateQuestionType<typeof fields> = {
  source: 'state',
  type: 'delegatorSummary',
  group: 'staking',
  summary:
    "The sum of a user's delegations; the ledger holds no undelegated tokens or withdrawals.",
  weight: 20,
  fields,
  answerSchema: object({
    delegated: amount,
    undelegated: { const: '0.0' },
    totalPendingWithdrawal: { const: '0.0' },
    nPendingWithdrawals: { const: 0 },
  }),
  example: {
    question: { type: 'delegatorSummary', user: '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1' },
    answer: {
      delegated: '12060.16529862',
      undelegated: '0.0',
      totalPendingWithdrawal: '0.0',
      nPendingWithdrawals: 0,
    },
  },
  partial: { subjects: (_state, { user }) => [{ kind: 'delegations', user }] },
  changedAt: userDelegationsChangedAt,
  answer(state, { user }, upstream) {
    if (upstream?.findAnswer({ kind: 'delegations', user }) !== undefined) throw NOT_SUMMED;
    const delegated = delegationsOf(state, user)
      .map((row) => delegatedAmount(state, row))
      .reduce((sum, part) => sum + part, 0n);
    return (
      `{"delegated":"${formatUnits(delegated, STAKE_DECIMALS)}","undelegated":"0.0"` +
      ',"totalPendingWithdrawal":"0.0","nPendingWithdrawals":0}'
    );
  },
};

/** `delegations`: a user's active stakes with validators. */

import { STAKE_DECIMALS } from '../../events/fields.ts';
import { type Address, formatAddress } from '../../exact/address.ts';
import { formatUnits } from '../../exact/decimal.ts';
import { FIRST_DELEGATION } from '../../state/addresses.ts';
import { delegationsChangedAt } from '../../state/changed-at.ts';
import { delegatedAmount, LOCKED_UNTIL, NEXT_DELEGATION, VALIDATOR } from '../../state/staking.ts';
import type { StateView } from '../../state/state.ts';
import { ADDRESS_SCHEMA, addressField } from '../fields/address-field.ts';
import type { StateQuestionType } from '../question-type.ts';
import { amount, listOf, object, wholeNumber } from '../schema.ts';

const fields = { user: addressField };

/** @internal Exported for the test that compares it with the page's types. */
export const delegationsSchema = listOf(
  object({ validator: ADDRESS_SCHEMA, amount, lockedUntilTimestamp: wholeNumber }),
);

export const delegations: StateQuestionType<typeof fields> = {
  source: 'state',
  type: 'delegations',
  group: 'staking',
  summary: "A user's active delegations to validators, in order of creation.",
  weight: 20,
  fields,
  answerSchema: delegationsSchema,
  example: {
    question: { type: 'delegations', user: '0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1' },
    answer: [
      {
        validator: '0xb2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2',
        amount: '12060.16529862',
        lockedUntilTimestamp: 1735466781353,
      },
    ],
  },
  partial: { subjects: (_state, { user }) => [{ kind: 'delegations', user }] },
  changedAt: userDelegationsChangedAt,
  dependencies(state, { user }) {
    const addressRow = state.addresses.find(user);
    return addressRow === 0 ? undefined : { accounts: [], addresses: [addressRow] };
  },
  push: { name: 'delegations' },
  answer(state, { user }, upstream) {
    const answered = upstream?.findAnswer({ kind: 'delegations', user });
    if (answered !== undefined) return answered;
    const texts = delegationsOf(state, user).map((row) => formatDelegation(state, row));
    return `[${texts.join(',')}]`;
  },
};

export function userDelegationsChangedAt(state: StateView, { user }: { user: Address }): number {
  return delegationsChangedAt(state, state.addresses.find(user));
}

/** The rows of a user's delegations, in order of creation. */
export function delegationsOf(state: StateView, user: Address): number[] {
  const rows: number[] = [];
  let row = state.addresses.table.get(state.addresses.find(user), FIRST_DELEGATION);
  for (; row !== 0; row = state.delegations.get(row, NEXT_DELEGATION)) rows.push(row);
  return rows;
}

function formatDelegation(state: StateView, row: number): string {
  const validator = state.addresses.addressOf(state.delegations.get(row, VALIDATOR));
  return (
    `{"validator":"${formatAddress(validator)}"` +
    `,"amount":"${formatUnits(delegatedAmount(state, row), STAKE_DECIMALS)}"` +
    `,"lockedUntilTimestamp":${state.delegations.get(row, LOCKED_UNTIL)}}`
  );
}

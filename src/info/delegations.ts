/** `delegations`: a user's active stakes with validators. */

import { formatAddress } from '../address.ts';
import { formatUnits } from '../decimal.ts';
import { STAKE_DECIMALS } from '../fields.ts';
import { FIRST_DELEGATION } from '../state/addresses.ts';
import { delegatedAmount, LOCKED_UNTIL, NEXT_DELEGATION, VALIDATOR } from '../state/staking.ts';
import type { StateView } from '../state/state.ts';
import { ADDRESS_SCHEMA, addressField, type RequestType } from './request.ts';
import { amount, object, wholeNumber } from './schema.ts';

const fields = { user: addressField };

export const delegations: RequestType<typeof fields> = {
  type: 'delegations',
  summary: "A user's active delegations to validators, in order of creation.",
  weight: 20,
  fields,
  answerSchema: {
    type: 'array',
    items: object({ validator: ADDRESS_SCHEMA, amount, lockedUntilTimestamp: wholeNumber }),
  },
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
  answer(state, { user }) {
    const texts: string[] = [];
    const userRow = state.addresses.find(user);
    let row = state.addresses.table.get(userRow, FIRST_DELEGATION);
    for (; row !== 0; row = state.delegations.get(row, NEXT_DELEGATION)) {
      texts.push(formatDelegation(state, row));
    }
    return `[${texts.join(',')}]`;
  },
};

function formatDelegation(state: StateView, row: number): string {
  const validator = state.addresses.addressOf(state.delegations.get(row, VALIDATOR));
  return (
    `{"validator":"${formatAddress(validator)}"` +
    `,"amount":"${formatUnits(delegatedAmount(state, row), STAKE_DECIMALS)}"` +
    `,"lockedUntilTimestamp":${state.delegations.get(row, LOCKED_UNTIL)}}`
  );
}

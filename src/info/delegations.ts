/** `delegations`: a user's active stakes with validators. */

import { formatAddress } from '../address.ts';
import { formatUnits } from '../decimal.ts';
import { STAKE_DECIMALS } from '../event.ts';
import { FIRST_DELEGATION } from '../state/addresses.ts';
import { delegatedAmount, LOCKED_UNTIL, NEXT_DELEGATION, VALIDATOR } from '../state/staking.ts';
import type { StateView } from '../state/state.ts';
import { addressField, type RequestType } from './request.ts';

const fields = { user: addressField };

export const delegations: RequestType<typeof fields> = {
  type: 'delegations',
  summary: "A user's active delegations to validators, in order of creation.",
  fields,
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

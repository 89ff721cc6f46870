/**
 * Reads `delegations`: the complete list of a user, as the event that replaces the list in the
 * ledger.
 */

import { TIME_RANGE, type WireEvent } from '../../events/event.ts';
import { STAKE_DECIMALS } from '../../events/fields.ts';
import { Refusal } from '../../events/refusal.ts';
import { type Address, formatAddress } from '../../exact/address.ts';
import { formatUnits } from '../../exact/decimal.ts';
import { type DialectError, readAnswer, readItems, readOpen, readStake } from './dialect.ts';

interface ListedDelegation {
  readonly validator: string;
  readonly amount: string;
  readonly lockedUntilTimestamp: number;
}

/**
 * Returns the event for the answer. The event is recorded even if nothing has changed, because it
 * confirms the list.
 */
export function readDelegationsAnswer(json: unknown, user: Address): WireEvent | DialectError {
  return readAnswer(() => {
    const delegations = readItems(json, readDelegation).filter((one) => one !== undefined);
    const validators = new Set(delegations.map(({ validator }) => validator));
    if (validators.size !== delegations.length) {
      throw new Refusal('validator', json, 'each validator once');
    }
    return { type: 'delegations', user: formatAddress(user), delegations };
  });
}

/** Returns undefined for an amount of zero, which is not a delegation. */
function readDelegation(source: unknown): ListedDelegation | undefined {
  return readOpen(source, (fields) => {
    const validator = formatAddress(fields.address('validator'));
    const amount = readStake(fields, 'amount');
    const lockedUntilTimestamp = fields.whole('lockedUntilTimestamp', TIME_RANGE);
    if (amount === 0n) return undefined;
    return { validator, amount: formatUnits(amount, STAKE_DECIMALS), lockedUntilTimestamp };
  });
}

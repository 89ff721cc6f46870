/** Vaults and lending, which only the upstream has. */

import { addressField } from '../../fields/address-field.ts';
import {
  NO_FIELDS,
  optional,
  PERIOD_FIELDS,
  tokenField,
  USER_FIELDS,
} from '../../fields/market-fields.ts';
import { anyText, anything, decimalText, listOf, openObject, orNull } from '../../schema.ts';
import { declareForwarded } from './declare-forwarded.ts';

const vaultFields = { vaultAddress: addressField, user: optional(addressField) };
const vault = openObject({ name: anyText, vaultAddress: anyText, leader: anyText });
const equity = openObject({ vaultAddress: anyText, equity: decimalText });
const led = openObject({ address: anyText, name: anyText });
const interestFields = { ...USER_FIELDS, ...PERIOD_FIELDS };

export const VAULT_TYPES: ReturnType<typeof declareForwarded> = declareForwarded(
  'vaults and lending',
  [
    ['vaultSummaries', NO_FIELDS, listOf(vault), 'The vaults.'],
    ['vaultDetails', vaultFields, orNull(vault), 'A vault, with the share of a user.'],
    ['userVaultEquities', USER_FIELDS, listOf(equity), "A user's shares in vaults."],
    ['leadingVaults', USER_FIELDS, listOf(led), 'The vaults that a user leads.'],
    ['borrowLendUserState', USER_FIELDS, openObject({}), "A user's loans."],
    ['borrowLendReserveState', { token: tokenField }, openObject({}), 'The reserve of a token.'],
    ['allBorrowLendReserveStates', NO_FIELDS, listOf(anything), 'The reserves of all tokens.'],
    ['userBorrowLendInterest', interestFields, listOf(anything), "A user's interest in a period."],
  ],
);

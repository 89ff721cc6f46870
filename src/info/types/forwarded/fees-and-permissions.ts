/** Fees, limits, roles, agents and sub-accounts of a user, which only the upstream has. */

import { addressField } from '../../fields/address-field.ts';
import { USER_FIELDS } from '../../fields/market-fields.ts';
import {
  anyText,
  anything,
  decimalText,
  flag,
  listOf,
  openObject,
  orNull,
  wholeNumber,
} from '../../schema.ts';
import { HEAVY } from '../../upstream-cost.ts';
import { declareForwarded } from './declare-forwarded.ts';

const feesSchema = openObject({
  ...{ dailyUserVlm: listOf(anything), feeSchedule: openObject({}) },
  ...{ userCrossRate: decimalText, userAddRate: decimalText },
});
const rateLimitSchema = openObject({
  ...{ cumVlm: decimalText, nRequestsUsed: wholeNumber, nRequestsCap: wholeNumber },
});
const agent = openObject({ name: anyText, address: anyText, validUntil: wholeNumber });
const subAccount = openObject({ name: anyText, subAccountUser: anyText, master: anyText });
const signers = openObject({ authorizedUsers: listOf(anyText), threshold: wholeNumber });

export const PERMISSION_TYPES: ReturnType<typeof declareForwarded> = declareForwarded(
  'fees and permissions',
  [
    ['userFees', USER_FIELDS, feesSchema, "A user's fees and volumes."],
    ['userRateLimit', USER_FIELDS, rateLimitSchema, "A user's limit of requests."],
    [
      'userRole',
      USER_FIELDS,
      openObject({ role: anyText }),
      'Whether an address is a user.',
      HEAVY,
    ],
    ['isVip', USER_FIELDS, orNull(flag), 'Whether a user is a VIP.'],
    ['referral', USER_FIELDS, openObject({}), "A user's referrals."],
    ['extraAgents', USER_FIELDS, listOf(agent), 'The agents that a user has approved.'],
    ['approvedBuilders', USER_FIELDS, listOf(anyText), 'The builders that a user has approved.'],
    [
      ...(['maxBuilderFee', { ...USER_FIELDS, builder: addressField }, wholeNumber] as const),
      'The highest fee that a user has approved for a builder.',
    ],
    ['subAccounts', USER_FIELDS, orNull(listOf(subAccount)), "A user's sub-accounts."],
    ['subAccounts2', USER_FIELDS, orNull(listOf(subAccount)), "A user's sub-accounts, by dex."],
    ['userToMultiSigSigners', USER_FIELDS, orNull(signers), "A user's signers."],
    ['userDexAbstraction', USER_FIELDS, orNull(flag), 'Whether dexes share their cash.'],
    [
      ...(['preTransferCheck', { ...USER_FIELDS, source: addressField }] as const),
      ...([openObject({}), 'What a transfer to a user costs.'] as const),
    ],
  ],
);

/** `spotClearinghouseState`: a user's spot balances; there are none. */

import { addressField } from '../fields/address-field.ts';
import { USER_AND_DEX_FIELDS } from '../fields/market-fields.ts';
import type { StateQuestionType } from '../question-type.ts';
import {
  anyText,
  decimalText,
  emptyList,
  listOf,
  object,
  openObject,
  wholeNumber,
} from '../schema.ts';
import { LIGHT } from '../upstream-cost.ts';

/** The spot balances of every user. */
export const NO_SPOT_BALANCES = { balances: [] };
export const NO_SPOT_BALANCES_TEXT = JSON.stringify(NO_SPOT_BALANCES);
export const noSpotBalancesSchema = object({ balances: emptyList });

const upstreamBalanceSchema = openObject({
  ...{ coin: anyText, token: wholeNumber, total: decimalText, hold: decimalText },
});

const fields = { user: addressField };

export const spotClearinghouseState: StateQuestionType<typeof fields> = {
  source: 'state',
  type: 'spotClearinghouseState',
  group: 'spot',
  summary: "A user's spot balances, always none.",
  weight: 20,
  upstreamCost: LIGHT,
  fields: fields,
  answerSchema: noSpotBalancesSchema,
  example: {
    question: {
      type: 'spotClearinghouseState',
      user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2',
    },
    answer: NO_SPOT_BALANCES,
  },
  partial: { isRefused: true },
  upstreamFirst: {
    answerSchema: openObject({ balances: listOf(upstreamBalanceSchema) }),
    fields: USER_AND_DEX_FIELDS,
  },
  changedAt: () => 0,
  answer: () => NO_SPOT_BALANCES_TEXT,
};

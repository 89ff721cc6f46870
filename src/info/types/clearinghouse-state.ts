/** `clearinghouseState`: a user's perpetuals account on one dex. */

import type { Address } from '../../exact/address.ts';
import { findAccount } from '../../state/accounts.ts';
import { accountChangedAt } from '../../state/changed-at.ts';
import type { StateView } from '../../state/state.ts';
import { writeAccount } from '../answers/account-answer.ts';
import { addressField } from '../fields/address-field.ts';
import { dexField, requireDex } from '../fields/dex-field.ts';
import type { StateQuestionType } from '../question-type.ts';
import { amount, anyText, choiceOf, listOf, object, orNull, wholeNumber } from '../schema.ts';
import type { UpstreamAnswers } from '../upstream-answers.ts';
import { LIGHT } from '../upstream-cost.ts';
import { type AnswerWriter, writtenText } from '../writing/answer-writer.ts';

const fields = { user: addressField, dex: dexField };

const summarySchema = object({
  accountValue: amount,
  totalNtlPos: amount,
  totalRawUsd: amount,
  totalMarginUsed: amount,
});

const positionSchema = object({
  coin: anyText,
  szi: amount,
  // The exchange's own answer has no rawUsd in a cross position; the ledger's answer always has it.
  leverage: object({ type: choiceOf('cross', 'isolated'), value: wholeNumber }, { rawUsd: amount }),
  entryPx: amount,
  positionValue: amount,
  unrealizedPnl: amount,
  returnOnEquity: amount,
  liquidationPx: orNull(amount),
  marginUsed: amount,
  maxLeverage: wholeNumber,
  cumFunding: object({ allTime: amount, sinceOpen: amount, sinceChange: amount }),
});

export const accountSchema = object({
  marginSummary: summarySchema,
  crossMarginSummary: summarySchema,
  crossMaintenanceMarginUsed: amount,
  withdrawable: amount,
  assetPositions: listOf(object({ type: choiceOf('oneWay'), position: positionSchema })),
  time: wholeNumber,
});

export const accountExample = {
  marginSummary: {
    accountValue: '850.909594',
    totalNtlPos: '4111.898',
    totalRawUsd: '-3260.988406',
    totalMarginUsed: '198.222622',
  },
  crossMarginSummary: {
    accountValue: '652.686972',
    totalNtlPos: '0.0',
    totalRawUsd: '652.686972',
    totalMarginUsed: '0.0',
  },
  crossMaintenanceMarginUsed: '0.0',
  withdrawable: '468.826972',
  assetPositions: [
    {
      type: 'oneWay',
      position: {
        coin: 'BTC',
        szi: '0.04226',
        leverage: { type: 'isolated', value: 20, rawUsd: '-3913.675378' },
        entryPx: '97437.4',
        positionValue: '4111.898',
        unrealizedPnl: '-5.8098',
        returnOnEquity: '-0.0282186123',
        liquidationPx: '93781.7220222013',
        marginUsed: '198.222622',
        maxLeverage: 40,
        cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
      },
    },
  ],
  time: 1758561760000,
};

export const clearinghouseState: StateQuestionType<typeof fields> = {
  source: 'state',
  type: 'clearinghouseState',
  group: 'accounts',
  summary:
    "A user's perpetuals account on one dex: positions, margin figures, what can be withdrawn.",
  weight: 2,
  upstreamCost: LIGHT,
  fields,
  answerSchema: accountSchema,
  example: {
    question: { type: 'clearinghouseState', user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2' },
    answer: accountExample,
  },
  validate(state, { dex }) {
    requireDex(state, dex);
  },
  partial: {
    subjects: (state, { user, dex }) => [
      { kind: 'account', user, dexIndex: requireDex(state, dex) },
    ],
  },
  dependencies(state, { user, dex }) {
    const addressRow = state.addresses.find(user);
    const account = findAccount(state, addressRow, requireDex(state, dex));
    if (account !== 0) return { accounts: [account], addresses: [] };
    return addressRow === 0 ? undefined : { accounts: [], addresses: [addressRow] };
  },
  rows: {
    find: findAccountRow,
    changedAt: accountChangedAt,
    write: writeAccount,
    ofUser: (user) => ({ user, dex: '' }),
  },
  push: { name: 'clearinghouseState', write },
  answer: (state, fields, upstream) => writtenText((out) => write(out, state, fields, upstream)),
};

interface AccountFields {
  readonly user: Address;
  readonly dex: string;
}

export function findAccountRow(state: StateView, { user, dex }: AccountFields): number {
  const dexIndex = requireDex(state, dex);
  return findAccount(state, state.addresses.find(user), dexIndex);
}

function write(
  out: AnswerWriter,
  state: StateView,
  fields: AccountFields,
  upstream?: UpstreamAnswers,
): void {
  const { user, dex } = fields;
  const dexIndex = requireDex(state, dex);
  const answered = upstream?.findAnswer({ kind: 'account', user, dexIndex });
  if (answered !== undefined) out.long(answered);
  else writeAccount(out, state, findAccountRow(state, fields));
}

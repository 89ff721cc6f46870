/**
 * `webData2`: a user's account and the markets of the first dex in one answer, for clients that
 * have no other subscription for accounts. Values that the ledger does not have are null where
 * clients allow null, and zero or empty elsewhere.
 */

import { formatAddress } from '../../exact/address.ts';
import { accountChangedAt, marketsChangedAt } from '../../state/changed-at.ts';
import { formatContexts, formatMeta, requireMarkets } from '../answers/market-answers.ts';
import { ADDRESS_SCHEMA, addressField } from '../fields/address-field.ts';
import { FIRST_DEX_INDEX } from '../fields/dex-field.ts';
import { AS_DATA, type StateQuestionType } from '../question-type.ts';
import { alwaysNull, emptyList, listOf, object, wholeNumber } from '../schema.ts';
import {
  accountExample,
  accountSchema,
  clearinghouseState,
  findAccountRow,
} from './clearinghouse-state.ts';
import { metaExample, metaSchema } from './meta.ts';
import { contextSchema, contextsExample } from './meta-and-asset-ctxs.ts';
import {
  NO_SPOT_BALANCES,
  NO_SPOT_BALANCES_TEXT,
  noSpotBalancesSchema,
} from './spot-clearinghouse-state.ts';

const fields = { user: addressField };

/** The answer has one account: the account on the first dex. */
const FIRST_DEX = '';

/** Members about vaults, orders, agents and deposits, which the ledger does not have. */
const ABSENT = {
  leadingVaults: [],
  totalVaultEquity: '0.0',
  openOrders: [],
  agentAddress: null,
  agentValidUntil: null,
  cumLedger: '0.0',
};
const ABSENT_TEXT = JSON.stringify(ABSENT).slice(1, -1);

const EXAMPLE_USER = '0xeaa346d93e222853a2229e2fbb584830fa478fd2';

export const webData2: StateQuestionType<typeof fields> = {
  source: 'state',
  type: 'webData2',
  group: 'accounts',
  summary:
    "A user's account on the first dex with its markets and prices; without orders, vaults and spot.",
  weight: 20,
  fields,
  answerSchema: object({
    clearinghouseState: accountSchema,
    leadingVaults: emptyList,
    totalVaultEquity: { const: '0.0' },
    openOrders: emptyList,
    agentAddress: alwaysNull,
    agentValidUntil: alwaysNull,
    cumLedger: { const: '0.0' },
    meta: metaSchema,
    assetCtxs: listOf(contextSchema),
    serverTime: wholeNumber,
    isVault: { const: false },
    user: ADDRESS_SCHEMA,
    twapStates: emptyList,
    spotState: noSpotBalancesSchema,
    spotAssetCtxs: emptyList,
  }),
  example: {
    question: { type: 'webData2', user: EXAMPLE_USER },
    answer: {
      clearinghouseState: accountExample,
      ...ABSENT,
      meta: metaExample,
      assetCtxs: contextsExample,
      serverTime: 1758561760000,
      isVault: false,
      user: EXAMPLE_USER,
      twapStates: [],
      spotState: NO_SPOT_BALANCES,
      spotAssetCtxs: [],
    },
  },
  push: { name: AS_DATA },
  partial: {
    subjects: (_state, { user }) => [{ kind: 'account', user, dexIndex: FIRST_DEX_INDEX }],
  },
  changedAt(state, { user }) {
    const row = findAccountRow(state, { user, dex: FIRST_DEX });
    return Math.max(accountChangedAt(state, row), marketsChangedAt(state, FIRST_DEX_INDEX));
  },
  answer(state, { user }, upstream) {
    requireMarkets(state, FIRST_DEX);
    const account = clearinghouseState.answer(state, { user, dex: FIRST_DEX }, upstream);
    return (
      `{"clearinghouseState":${account},${ABSENT_TEXT}` +
      `,"meta":${formatMeta(state, FIRST_DEX_INDEX)}` +
      `,"assetCtxs":${formatContexts(state, FIRST_DEX_INDEX)}` +
      `,"serverTime":${state.time},"isVault":false,"user":"${formatAddress(user)}"` +
      `,"twapStates":[],"spotState":${NO_SPOT_BALANCES_TEXT},"spotAssetCtxs":[]}`
    );
  },
};

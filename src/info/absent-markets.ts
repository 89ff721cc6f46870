/**
 * Spot and outcome markets: clients ask for them, and this exchange has none. Clients also look up the
 * margin token, so it is listed as they expect it: index 0, USDC, with the decimals of USD amounts.
 */

import { USD_DECIMALS } from '../events/fields.ts';
import { addressField, type RequestType } from './request.ts';
import { emptyList, listOf, object, tuple } from './schema.ts';

type NoFields = Record<string, never>;

const WEIGHT = 20;

const COLLATERAL_TOKEN = {
  name: 'USDC',
  szDecimals: USD_DECIMALS,
  weiDecimals: USD_DECIMALS,
  index: 0,
  tokenId: '0x00000000000000000000000000000000',
  isCanonical: true,
  evmContract: null,
  fullName: null,
  deployerTradingFeeShare: '0.0',
};

const SPOT_META = { universe: [], tokens: [COLLATERAL_TOKEN] };
const SPOT_META_TEXT = JSON.stringify(SPOT_META);

const spotMetaSchema = object({
  universe: emptyList,
  tokens: listOf({ const: COLLATERAL_TOKEN }),
});

export const spotMeta: RequestType<NoFields> = {
  type: 'spotMeta',
  summary: 'The spot markets, always none, and the margin token.',
  weight: WEIGHT,
  fields: {},
  answerSchema: spotMetaSchema,
  example: { question: { type: 'spotMeta' }, answer: SPOT_META },
  changedAt: () => 0,
  answer: () => SPOT_META_TEXT,
};

export const spotMetaAndAssetCtxs: RequestType<NoFields> = {
  type: 'spotMetaAndAssetCtxs',
  summary: 'spotMeta with the prices of the spot markets, always none.',
  weight: WEIGHT,
  fields: {},
  answerSchema: tuple(spotMetaSchema, emptyList),
  example: { question: { type: 'spotMetaAndAssetCtxs' }, answer: [SPOT_META, []] },
  changedAt: () => 0,
  answer: () => `[${SPOT_META_TEXT},[]]`,
};

/** The spot balances of every user. */
export const NO_SPOT_BALANCES = { balances: [] };
export const NO_SPOT_BALANCES_TEXT = JSON.stringify(NO_SPOT_BALANCES);
export const noSpotBalancesSchema = object({ balances: emptyList });

const userFields = { user: addressField };

export const spotClearinghouseState: RequestType<typeof userFields> = {
  type: 'spotClearinghouseState',
  summary: "A user's spot balances, always none.",
  weight: WEIGHT,
  fields: userFields,
  answerSchema: noSpotBalancesSchema,
  example: {
    question: {
      type: 'spotClearinghouseState',
      user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2',
    },
    answer: NO_SPOT_BALANCES,
  },
  isRefusedOnPartial: true,
  changedAt: () => 0,
  answer: () => NO_SPOT_BALANCES_TEXT,
};

export const outcomeMeta: RequestType<NoFields> = {
  type: 'outcomeMeta',
  summary: 'The outcome markets, always none.',
  weight: WEIGHT,
  fields: {},
  answerSchema: object({ outcomes: emptyList, questions: emptyList }),
  example: { question: { type: 'outcomeMeta' }, answer: { outcomes: [], questions: [] } },
  changedAt: () => 0,
  answer: () => '{"outcomes":[],"questions":[]}',
};

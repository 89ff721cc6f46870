/** Limits and descriptions of markets, validators and rewards, which only the upstream has. */

import {
  coinField,
  dexNameField,
  NO_FIELDS,
  tokenField,
  tokenIdField,
  USER_FIELDS,
} from '../../fields/market-fields.ts';
import {
  anyText,
  anything,
  decimalText,
  listOf,
  openObject,
  orNull,
  tuple,
  wholeNumber,
} from '../../schema.ts';
import { PER_20_OF_2000 } from '../../upstream-cost.ts';
import { declareForwarded } from './declare-forwarded.ts';

const limitsSchema = orNull(
  openObject({
    ...{ totalOiCap: decimalText, oiSzCapPerPerp: decimalText, maxTransferNtl: decimalText },
    coinToOiCap: listOf(tuple(anyText, decimalText)),
  }),
);
const dexStatusSchema = orNull(openObject({ totalNetDeposit: decimalText }));
const pairAuctionSchema = openObject({
  ...{ startTimeSeconds: wholeNumber, durationSeconds: wholeNumber, startGas: decimalText },
  ...{ currentGas: orNull(decimalText), endGas: orNull(decimalText) },
});
const stakingUpdate = openObject({ time: wholeNumber, hash: anyText, delta: openObject({}) });
const reward = openObject({ time: wholeNumber, source: anyText, totalAmount: decimalText });

const ofDex = { dex: dexNameField };

export const MARKET_TYPES: ReturnType<typeof declareForwarded> = declareForwarded('markets', [
  ['perpDexLimits', ofDex, limitsSchema, 'The limits of a dex.'],
  ['perpDexStatus', ofDex, dexStatusSchema, 'The deposits on a dex.'],
  ['perpAnnotation', { coin: coinField }, orNull(openObject({})), 'The description of a market.'],
  ['perpCategories', NO_FIELDS, listOf(anything), 'The categories of markets.'],
  ['perpConciseAnnotations', NO_FIELDS, listOf(anything), 'Short descriptions of markets.'],
  ['maxMarketOrderNtls', NO_FIELDS, listOf(anything), 'The largest market orders.'],
]);

export const STAKING_TYPES: ReturnType<typeof declareForwarded> = declareForwarded('staking', [
  [
    'delegatorHistory',
    USER_FIELDS,
    listOf(stakingUpdate),
    "A user's staking actions.",
    PER_20_OF_2000,
  ],
  ['delegatorRewards', USER_FIELDS, listOf(reward), "A user's staking rewards.", PER_20_OF_2000],
  ['validatorSummaries', NO_FIELDS, listOf(openObject({ validator: anyText })), 'The validators.'],
  ['validatorL1Votes', NO_FIELDS, listOf(anything), 'The votes of validators.'],
]);

export const SPOT_TYPES: ReturnType<typeof declareForwarded> = declareForwarded('spot', [
  ['tokenDetails', { tokenId: tokenIdField }, openObject({ name: anyText }), 'A spot token.'],
  ['spotDeployState', USER_FIELDS, openObject({}), "A user's deployments of tokens."],
  ['spotPairDeployAuctionStatus', NO_FIELDS, pairAuctionSchema, 'The auction for spot pairs.'],
  ['alignedQuoteTokenInfo', { token: tokenField }, orNull(openObject({})), 'A quote token.'],
]);

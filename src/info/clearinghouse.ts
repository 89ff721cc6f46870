/** `clearinghouseState`: a user's perpetuals account on one dex. */

import type { Address } from '../address.ts';
import { divideFloor, type Exact, formatUnits } from '../decimal.ts';
import { USD_DECIMALS } from '../fields.ts';
import { findAccount } from '../state/accounts.ts';
import type { StateView } from '../state/state.ts';
import {
  type AccountFigures,
  accountFigures,
  liquidationPrice,
  type MarginSummary,
  type PositionFigures,
  RATIO_DECIMALS,
  returnOnEquity,
} from './figures.ts';
import { addressField, dexField, type RequestType, requireDex } from './request.ts';
import { amount, object, wholeNumber } from './schema.ts';

const fields = { user: addressField, dex: dexField };

const summarySchema = object({
  accountValue: amount,
  totalNtlPos: amount,
  totalRawUsd: amount,
  totalMarginUsed: amount,
});

const positionSchema = object({
  coin: { type: 'string' },
  szi: amount,
  leverage: object({
    type: { enum: ['cross', 'isolated'] },
    value: wholeNumber,
    rawUsd: amount,
  }),
  entryPx: amount,
  positionValue: amount,
  unrealizedPnl: amount,
  returnOnEquity: amount,
  liquidationPx: { anyOf: [amount, { type: 'null' }] },
  marginUsed: amount,
  maxLeverage: wholeNumber,
  cumFunding: object({ allTime: amount, sinceOpen: amount, sinceChange: amount }),
});

export const accountSchema = object({
  marginSummary: summarySchema,
  crossMarginSummary: summarySchema,
  crossMaintenanceMarginUsed: amount,
  withdrawable: amount,
  assetPositions: {
    type: 'array',
    items: object({ type: { const: 'oneWay' }, position: positionSchema }),
  },
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

export const clearinghouseState: RequestType<typeof fields> = {
  type: 'clearinghouseState',
  summary:
    "A user's perpetuals account on one dex: positions, margin figures, what can be withdrawn.",
  weight: 2,
  fields,
  answerSchema: accountSchema,
  example: {
    question: { type: 'clearinghouseState', user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2' },
    answer: accountExample,
  },
  pushedAs: 'clearinghouseState',
  validate(state, { dex }) {
    requireDex(state, dex);
  },
  answer(state, { user, dex }) {
    return answerAccount(state, user, requireDex(state, dex));
  },
};

/** The account of a user on one dex, as JSON text. */
export function answerAccount(state: StateView, user: Address, dexIndex: number): string {
  const account = findAccount(state, state.addresses.find(user), dexIndex);
  return formatAccount(accountFigures(state, account), state.time);
}

function usd(amount: Exact): string {
  return formatUnits(amount, USD_DECIMALS);
}

// Names of coins and dexes hold no character that JSON would escape: the vocabulary sees to that.

function formatAccount(account: AccountFigures, time: number): string {
  const positions = account.positions.map((position) => formatPosition(account, position));
  return (
    `{"marginSummary":${formatSummary(account.summary)}` +
    `,"crossMarginSummary":${formatSummary(account.crossSummary)}` +
    `,"crossMaintenanceMarginUsed":"${usd(account.crossMaintenanceMargin)}"` +
    `,"withdrawable":"${usd(account.withdrawable)}"` +
    `,"assetPositions":[${positions.join(',')}],"time":${time}}`
  );
}

function formatSummary(summary: MarginSummary): string {
  return (
    `{"accountValue":"${usd(summary.accountValue)}","totalNtlPos":"${usd(summary.totalNtlPos)}"` +
    `,"totalRawUsd":"${usd(summary.totalRawUsd)}"` +
    `,"totalMarginUsed":"${usd(summary.totalMarginUsed)}"}`
  );
}

function formatPosition(account: AccountFigures, position: PositionFigures): string {
  const { market, size } = position;
  const entryPrice = divideFloor(position.entryNotional, Math.abs(size));
  const liquidation = liquidationPrice(account, position);
  const liquidationText =
    liquidation === undefined ? 'null' : `"${formatUnits(liquidation, RATIO_DECIMALS)}"`;
  return (
    `{"type":"oneWay","position":{"coin":"${market.coin}"` +
    `,"szi":"${formatUnits(size, market.sizeDecimals)}"` +
    `,"leverage":{"type":"${position.isIsolated ? 'isolated' : 'cross'}"` +
    `,"value":${position.leverage},"rawUsd":"${usd(position.rawUsd)}"}` +
    `,"entryPx":"${formatUnits(entryPrice, market.priceDecimals)}"` +
    `,"positionValue":"${usd(position.value)}","unrealizedPnl":"${usd(position.unrealizedPnl)}"` +
    `,"returnOnEquity":"${formatUnits(returnOnEquity(position), RATIO_DECIMALS)}"` +
    `,"liquidationPx":${liquidationText},"marginUsed":"${usd(position.marginUsed)}"` +
    `,"maxLeverage":${position.maxLeverage}` +
    `,"cumFunding":{"allTime":"${usd(position.fundingAllTime)}"` +
    `,"sinceOpen":"${usd(position.fundingSinceOpen)}"` +
    `,"sinceChange":"${usd(position.fundingSinceChange)}"}}}`
  );
}

/** `clearinghouseState`: a user's perpetuals account on one dex. */

import { divideFloor, type Exact, formatUnits } from '../decimal.ts';
import { RequestError } from '../errors.ts';
import { describeValue, USD_DECIMALS } from '../event.ts';
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
import { addressField, dexField, type RequestType } from './request.ts';

const fields = { user: addressField, dex: dexField };

export const clearinghouseState: RequestType<typeof fields> = {
  type: 'clearinghouseState',
  summary:
    "A user's perpetuals account on one dex: positions, margin figures, what can be withdrawn.",
  fields,
  answer(state, { user, dex }) {
    const dexIndex = state.markets.findDex(dex);
    if (dexIndex === undefined) {
      const message = `dex: got ${describeValue(dex)}, expected ${describeDexes(state)}`;
      throw new RequestError('unknown_dex', message, 'dex');
    }
    const account = findAccount(state, state.addresses.find(user), dexIndex);
    return formatAccount(accountFigures(state, account), state.time);
  },
};

const DEXES_SHOWN_MAX = 20;

function describeDexes({ markets }: StateView): string {
  const shown = markets.dexes.slice(0, DEXES_SHOWN_MAX).map(({ name }) => `"${name}"`);
  const hidden = markets.dexes.length - shown.length;
  return `one of ${shown.join(', ')}${hidden > 0 ? ` and ${hidden} more` : ''}`;
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

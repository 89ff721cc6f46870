/**
 * Checks an answer against our rules: every figure is computed again from the answer's rows and
 * marks, with the same events that would record the account.
 */

import type { WireEvent } from '../../events/event.ts';
import { USD_DECIMALS } from '../../events/fields.ts';
import { BlockError } from '../../events/refusal.ts';
import { parseAddress } from '../../exact/address.ts';
import { divideFloor, type Exact, formatUnits } from '../../exact/decimal.ts';
import { findAccount } from '../../state/accounts.ts';
import {
  type AccountFigures,
  accountFigures,
  type MarginSummary,
  type PositionFigures,
  returnOnEquity,
} from '../../state/figures/figures.ts';
import { liquidationPrice } from '../../state/figures/liquidation.ts';
import { QUOTIENT_DECIMALS } from '../../state/markets/margin-formulas.ts';
import type { AccountReading, AccountRows } from './account-answer.ts';
import { describeAccountRows, describeCollateral, describeOrderMargin } from './account-events.ts';
import type { ReportedPosition, ReportedSummary } from './account-shape.ts';
import { type Mismatch, nameField } from './dialect.ts';
import type { MarketDirectory } from './market-directory.ts';
import { isSameAmount } from './printed-amounts.ts';
import { isSameRatio } from './same-ratio.ts';

/** A figure of the answer, compared with our figure. */
export interface ComparedFigure extends Mismatch {
  readonly isSame: boolean;
}

/** Returns the figures of the answer that our rules do not reproduce. */
export function checkAccount(reading: AccountReading, directory: MarketDirectory): Mismatch[] {
  return compareAccount(reading, directory)
    .filter(({ isSame }) => !isSame)
    .map(({ field, coin, ours, theirs }) => ({ field, coin, ours, theirs }));
}

/** Compares every figure that the exchange computes from other figures, in the answer's order. */
export function compareAccount(
  { rows, reported }: AccountReading,
  directory: MarketDirectory,
): ComparedFigure[] {
  const figures = valueAccount(rows, directory);
  if (figures instanceof BlockError) return [refused(figures)];
  const amount = compareAmount(undefined);
  return [
    ...compareSummary('marginSummary', figures.summary, reported.marginSummary),
    ...compareSummary('crossMarginSummary', figures.crossSummary, reported.crossMarginSummary),
    amount(
      'crossMaintenanceMarginUsed',
      figures.crossMaintenanceMargin,
      reported.crossMaintenanceMarginUsed,
    ),
    amount('withdrawable', figures.withdrawable, reported.withdrawable),
    ...reported.positions.flatMap((position) => comparePosition(figures, position)),
  ];
}

/**
 * The user whose account is valued in the scratch ledger. No question is answered from the scratch
 * ledger.
 */
const SCRATCH_USER = `0x${'0'.repeat(40)}`;
const SCRATCH_ADDRESS = parseAddress(SCRATCH_USER);

/** Returns our figures for the rows, or an error if our events cannot describe the rows. */
export function valueAccount(
  rows: AccountRows,
  directory: MarketDirectory,
): AccountFigures | BlockError {
  const dexIndex = directory.findDex(rows.dex);
  if (dexIndex === undefined || SCRATCH_ADDRESS === undefined) {
    throw new Error(`rows of dex ${rows.dex} were read with another directory`);
  }
  try {
    const state = directory.fold([
      describeMarks(rows),
      describeAccountRows(SCRATCH_USER, rows),
      describeOrderMargin(SCRATCH_USER, rows),
      describeCollateral(SCRATCH_USER, rows),
    ]);
    return accountFigures(
      state,
      findAccount(state, state.addresses.find(SCRATCH_ADDRESS), dexIndex),
    );
  } catch (error) {
    if (error instanceof BlockError) return error;
    throw error;
  }
}

function describeMarks({ positions }: AccountRows): WireEvent {
  const prices = positions.map(({ market, markPrice }) => [
    market.coin,
    formatUnits(markPrice, market.priceDecimals),
  ]);
  return { type: 'marks', prices: Object.fromEntries(prices) };
}

function refused({ field, message }: BlockError): ComparedFigure {
  return {
    field: nameField(field),
    coin: undefined,
    ours: message,
    theirs: 'an account',
    isSame: false,
  };
}

function compareAmount(coin: string | undefined, decimals = USD_DECIMALS) {
  return (field: string, units: Exact, theirs: string): ComparedFigure => {
    const ours = formatUnits(units, decimals);
    return { field, coin, ours, theirs, isSame: isSameAmount(ours, theirs) };
  };
}

function compareSummary(
  name: string,
  ours: MarginSummary,
  theirs: ReportedSummary,
): readonly ComparedFigure[] {
  const amount = compareAmount(undefined);
  return [
    amount(`${name}.accountValue`, ours.accountValue, theirs.accountValue),
    amount(`${name}.totalNtlPos`, ours.totalNtlPos, theirs.totalNtlPos),
    amount(`${name}.totalRawUsd`, ours.totalRawUsd, theirs.totalRawUsd),
    amount(`${name}.totalMarginUsed`, ours.totalMarginUsed, theirs.totalMarginUsed),
  ];
}

/** Returns true if our rules reproduce every figure of the position in the answer. */
export function isPositionExplained(account: AccountFigures, reported: ReportedPosition): boolean {
  return comparePosition(account, reported).every(({ isSame }) => isSame);
}

function comparePosition(account: AccountFigures, reported: ReportedPosition): ComparedFigure[] {
  const { coin } = reported;
  const ours = account.positions.find(({ market }) => market.coin === coin);
  if (ours === undefined) throw new Error(`the scratch ledger has no position in ${coin}`);
  const { market, size } = ours;
  const amount = compareAmount(coin);
  const entryPrice = divideFloor(ours.entryNotional, Math.abs(size));
  return [
    ...(reported.rawUsd === undefined
      ? []
      : [amount('leverage.rawUsd', ours.rawUsd, reported.rawUsd)]),
    compareAmount(coin, market.priceDecimals)('entryPx', entryPrice, reported.entryPx),
    amount('positionValue', ours.value, reported.positionValue),
    amount('unrealizedPnl', ours.unrealizedPnl, reported.unrealizedPnl),
    compareReturn(ours, reported),
    compareLiquidation(account, ours, reported),
    amount('marginUsed', ours.marginUsed, reported.marginUsed),
    {
      field: 'maxLeverage',
      coin,
      ours: String(ours.maxLeverage),
      theirs: String(reported.maxLeverage),
      isSame: ours.maxLeverage === reported.maxLeverage,
    },
  ];
}

function compareReturn(position: PositionFigures, reported: ReportedPosition): ComparedFigure {
  const ours = formatUnits(returnOnEquity(position), QUOTIENT_DECIMALS);
  const theirs = reported.returnOnEquity;
  const isSame = isSameRatio(ours, theirs, 0);
  return { field: 'returnOnEquity', coin: reported.coin, ours, theirs, isSame };
}

/** A millionth of a dollar: the precision with which the collateral is stored. */
const COLLATERAL_STEP = 1e-6;
/**
 * The difference between two liquidation prices that is tolerated, relative to the mark price.
 * Doubles lose digits where a small price is the difference of two large numbers.
 */
const CANCELLATION = 1e-12;

function compareLiquidation(
  account: AccountFigures,
  position: PositionFigures,
  reported: ReportedPosition,
): ComparedFigure {
  const { market, size, value } = position;
  const price = liquidationPrice(account, position);
  const ours = price === undefined ? 'null' : formatUnits(price, QUOTIENT_DECIMALS);
  const theirs = reported.liquidationPx ?? 'null';
  const sizeInCoins = Math.abs(size) / 10 ** market.sizeDecimals;
  const markPrice = Number(value) / 10 ** USD_DECIMALS / sizeInCoins;
  const collateralSlack = account.collateral === 0 ? 0 : COLLATERAL_STEP / sizeInCoins;
  const isSame = isSameRatio(ours, theirs, markPrice * CANCELLATION + collateralSlack);
  return { field: 'liquidationPx', coin: reported.coin, ours, theirs, isSame };
}

/** Returns true if an unknown collateral can explain every mismatch. */
export function isCollateralSuspected(mismatches: readonly Mismatch[]): boolean {
  return mismatches.length > 0 && mismatches.every(({ field }) => field === 'liquidationPx');
}

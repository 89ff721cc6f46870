/**
 * The figures of an account, computed from the stored amounts. The figures are exact at any size.
 * Amounts are in their smallest unit: USD in millionths, sizes and prices in the smallest unit of
 * the market.
 *
 * The value of a position is the magnitude of its size times the mark price: a whole number of
 * millionths of a dollar, without rounding.
 */

import {
  add,
  divideFloor,
  divideHalfUp,
  type Exact,
  maximum,
  multiply,
  negate,
  subtract,
} from '../../exact/decimal.ts';
import { maintenanceMargin, QUOTIENT_DECIMALS, tierOf } from '../markets/margin-formulas.ts';
import type { MarginTier } from '../markets/margin-tiers.ts';
import type { Market } from '../markets/markets.ts';
import type { StateView } from '../state.ts';
import * as column from '../tables/columns.ts';
import { isIsolatedTerms, leverageOfTerms, marketOfTerms } from '../tables/columns.ts';

/** At least a tenth of each cross position's value cannot be withdrawn, whatever its leverage. */
export const WITHDRAWAL_DIVISOR = 10;

export interface PositionFigures {
  readonly market: Market;
  /** The position's own margin tiers, or the tiers of its market. */
  readonly tiers: readonly MarginTier[];
  readonly size: number;
  readonly isIsolated: boolean;
  readonly leverage: number;
  readonly rawUsd: Exact;
  readonly entryNotional: number;
  readonly value: Exact;
  readonly unrealizedPnl: Exact;
  readonly marginUsed: Exact;
  /** The maintenance margin is rounded down. */
  readonly maintenanceMargin: Exact;
  readonly maxLeverage: number;
  readonly fundingAllTime: number;
  readonly fundingSinceOpen: number;
  readonly fundingSinceChange: number;
}

export interface MarginSummary {
  accountValue: Exact;
  totalNtlPos: Exact;
  totalRawUsd: Exact;
  totalMarginUsed: Exact;
}

export interface AccountFigures {
  readonly positions: readonly PositionFigures[];
  readonly summary: MarginSummary;
  readonly crossSummary: MarginSummary;
  readonly crossMaintenanceMargin: Exact;
  readonly withdrawable: Exact;
  readonly collateral: number;
}

function positionFigures(state: StateView, position: number): PositionFigures {
  const { positions, markets } = state;
  const terms = positions.get(position, column.TERMS);
  const marketIndex = marketOfTerms(terms);
  const market = markets.markets[marketIndex];
  const isIsolated = isIsolatedTerms(terms);
  const leverage = leverageOfTerms(terms);
  const size = positions.get(position, column.SIZE);
  const entryNotional = positions.get(position, column.ENTRY_NOTIONAL);
  const signedValue = multiply(size, markets.markPrice(marketIndex));
  const value = size < 0 ? negate(signedValue) : signedValue;
  const tiers = markets.tiersOf(terms);
  const tier = tierOf(tiers, value);
  const storedRawUsd = positions.get(position, column.RAW_USD);
  const marginUsed = isIsolated ? add(storedRawUsd, signedValue) : divideFloor(value, leverage);
  return {
    market,
    tiers,
    size,
    isIsolated,
    leverage,
    rawUsd: isIsolated ? storedRawUsd : subtract(marginUsed, signedValue),
    entryNotional,
    value,
    unrealizedPnl: size < 0 ? subtract(entryNotional, value) : subtract(value, entryNotional),
    marginUsed,
    maintenanceMargin: maintenanceMargin(tier, value),
    maxLeverage: tier.maxLeverage,
    fundingAllTime: positions.get(position, column.FUNDING_ALL_TIME),
    fundingSinceOpen: positions.get(position, column.FUNDING_SINCE_OPEN),
    fundingSinceChange: positions.get(position, column.FUNDING_SINCE_CHANGE),
  };
}

function addToSummary(summary: MarginSummary, position: PositionFigures): void {
  const { value, marginUsed, size, isIsolated, rawUsd } = position;
  const signedValue = size < 0 ? negate(value) : value;
  summary.totalNtlPos = add(summary.totalNtlPos, value);
  summary.totalMarginUsed = add(summary.totalMarginUsed, marginUsed);
  summary.accountValue = add(summary.accountValue, isIsolated ? marginUsed : signedValue);
  if (isIsolated) summary.totalRawUsd = add(summary.totalRawUsd, rawUsd);
}

function createSummary(cash: number): MarginSummary {
  return { accountValue: cash, totalNtlPos: 0, totalRawUsd: cash, totalMarginUsed: 0 };
}

/** Account 0 means an unknown user: all its figures are 0. */
export function accountFigures(state: StateView, account: number): AccountFigures {
  const cash = state.accounts.get(account, column.CASH);
  const summary = createSummary(cash);
  const crossSummary = createSummary(cash);
  const positions: PositionFigures[] = [];
  let crossMaintenanceMargin: Exact = 0;
  let reserved: Exact = state.accounts.get(account, column.ORDER_MARGIN);
  let row = state.accounts.get(account, column.FIRST_POSITION);
  for (; row !== 0; row = state.positions.get(row, column.NEXT_POSITION)) {
    if (state.positions.get(row, column.SIZE) === 0) continue;
    const position = positionFigures(state, row);
    positions.push(position);
    addToSummary(summary, position);
    if (position.isIsolated) continue;
    addToSummary(crossSummary, position);
    crossMaintenanceMargin = add(crossMaintenanceMargin, position.maintenanceMargin);
    const locked = maximum(position.marginUsed, divideFloor(position.value, WITHDRAWAL_DIVISOR));
    reserved = add(reserved, locked);
  }
  return {
    positions,
    summary,
    crossSummary,
    crossMaintenanceMargin,
    withdrawable: maximum(0, subtract(crossSummary.accountValue, reserved)),
    collateral: state.accounts.get(account, column.COLLATERAL),
  };
}

/** unrealizedPnl * leverage / entryNotional, in units of 10^-10. */
export function returnOnEquity(position: PositionFigures): Exact {
  if (position.entryNotional === 0) return 0;
  const gain = multiply(position.unrealizedPnl, position.leverage);
  return divideHalfUp(gain, position.entryNotional, QUOTIENT_DECIMALS);
}

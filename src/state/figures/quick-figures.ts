/**
 * The fast path of figures.ts, which defines the figures. It uses plain numbers without a bigint check
 * at every step, and is several times faster. It serves accounts whose amounts are so small that no sum
 * can reach 2^53; figures.ts serves accounts with billions of dollars. test/twin compares both with a
 * naive implementation.
 *
 * The objects are reused for the next account, so callers must copy values that they keep.
 */

import { longDivideHalfUp, powerOfTen } from '../../exact/decimal.ts';
import { QUOTIENT_DECIMALS } from '../markets/margin-formulas.ts';
import type { MarginTier } from '../markets/margin-tiers.ts';
import type { Market } from '../markets/markets.ts';
import type { StateView, TableView } from '../state.ts';
import * as column from '../tables/columns.ts';
import { isIsolatedTerms, leverageOfTerms, marketOfTerms } from '../tables/columns.ts';
import { WITHDRAWAL_DIVISOR } from './figures.ts';

const SAFE_MAX = Number.MAX_SAFE_INTEGER;
/** No figure adds the same amount more often than this. */
const AMOUNTS_ADDED_MAX = 8;

class QuickPosition {
  market!: Market;
  tiers!: readonly MarginTier[];
  size = 0;
  isIsolated = false;
  leverage = 0;
  rawUsd = 0;
  entryNotional = 0;
  entryPrice = 0;
  value = 0;
  unrealizedPnl = 0;
  returnOnEquity = 0;
  liquidationWhole = 0;
  liquidationFraction = 0;
  marginUsed = 0;
  maintenanceMargin = 0;
  maxLeverage = 0;
  fundingAllTime = 0;
  fundingSinceOpen = 0;
  fundingSinceChange = 0;
}

class QuickSummary {
  accountValue = 0;
  totalNtlPos = 0;
  totalRawUsd = 0;
  totalMarginUsed = 0;

  start(cash: number): void {
    this.accountValue = cash;
    this.totalNtlPos = 0;
    this.totalRawUsd = cash;
    this.totalMarginUsed = 0;
  }
}

export class QuickFigures {
  readonly positions: QuickPosition[] = [];
  positionCount = 0;
  readonly summary = new QuickSummary();
  readonly crossSummary = new QuickSummary();
  crossMaintenanceMargin = 0;
  withdrawable = 0;
  #equity = 0;

  /** False if an amount is too large for plain numbers; the fields are then meaningless. */
  compute(state: StateView, account: number): boolean {
    return this.computeTotals(state, account) && this.#computeRatios();
  }

  /** The same without the return on equity and the liquidation price of each position. */
  computeTotals(state: StateView, account: number): boolean {
    const { accounts, positions } = state;
    const cash = accounts.get(account, column.CASH);
    const orderMargin = accounts.get(account, column.ORDER_MARGIN);
    const collateral = accounts.get(account, column.COLLATERAL);
    this.summary.start(cash);
    this.crossSummary.start(cash);
    this.positionCount = 0;
    this.crossMaintenanceMargin = 0;
    let reserved = orderMargin;
    let amounts = Math.abs(cash) + orderMargin + collateral;
    let row = accounts.get(account, column.FIRST_POSITION);
    for (; row !== 0; row = positions.get(row, column.NEXT_POSITION)) {
      if (positions.get(row, column.SIZE) === 0) continue;
      const position = this.#nextPosition();
      if (!computePosition(position, state, row)) return false;
      amounts += position.value + position.entryNotional + Math.abs(position.rawUsd);
      reserved += this.#include(position);
    }
    if (!(amounts * AMOUNTS_ADDED_MAX <= SAFE_MAX)) return false;
    this.withdrawable = Math.max(0, this.crossSummary.accountValue - reserved);
    this.#equity = this.crossSummary.accountValue + collateral - this.crossMaintenanceMargin;
    return true;
  }

  #nextPosition(): QuickPosition {
    if (this.positionCount === this.positions.length) this.positions.push(new QuickPosition());
    return this.positions[this.positionCount++];
  }

  /**
   * Adds a position to the account's sums. Returns the amount that cannot be withdrawn because of this
   * position.
   */
  #include(position: QuickPosition): number {
    const { summary, crossSummary } = this;
    const { value, marginUsed } = position;
    summary.totalNtlPos += value;
    summary.totalMarginUsed += marginUsed;
    if (position.isIsolated) {
      summary.accountValue += marginUsed;
      summary.totalRawUsd += position.rawUsd;
      return 0;
    }
    const signedValue = position.size < 0 ? -value : value;
    summary.accountValue += signedValue;
    crossSummary.accountValue += signedValue;
    crossSummary.totalNtlPos += value;
    crossSummary.totalMarginUsed += marginUsed;
    this.crossMaintenanceMargin += position.maintenanceMargin;
    return Math.max(marginUsed, Math.floor(value / WITHDRAWAL_DIVISOR));
  }

  #computeRatios(): boolean {
    for (let index = 0; index < this.positionCount; index++) {
      const position = this.positions[index];
      const equity = position.isIsolated
        ? position.marginUsed
        : this.#equity + position.maintenanceMargin;
      if (!computeReturn(position) || !computeLiquidation(position, equity)) return false;
    }
    return true;
  }
}

// Each of these returns false if a step would exceed the safe integers.

function computePosition(position: QuickPosition, state: StateView, row: number): boolean {
  const { positions, markets } = state;
  const terms = positions.get(row, column.TERMS);
  const marketIndex = marketOfTerms(terms);
  const size = positions.get(row, column.SIZE);
  const signedValue = size * markets.markPrice(marketIndex);
  const value = Math.abs(signedValue);
  if (value > SAFE_MAX) return false;
  const entryNotional = positions.get(row, column.ENTRY_NOTIONAL);
  position.market = markets.markets[marketIndex];
  position.tiers = markets.tiersOf(terms);
  position.size = size;
  position.leverage = leverageOfTerms(terms);
  position.entryNotional = entryNotional;
  position.entryPrice = Math.floor(entryNotional / Math.abs(size));
  position.value = value;
  position.unrealizedPnl = size < 0 ? entryNotional - value : value - entryNotional;
  position.isIsolated = isIsolatedTerms(terms);
  if (position.isIsolated) {
    position.rawUsd = positions.get(row, column.RAW_USD);
    position.marginUsed = position.rawUsd + signedValue;
  } else {
    position.marginUsed = Math.floor(value / position.leverage);
    position.rawUsd = position.marginUsed - signedValue;
  }
  readFunding(position, positions, row);
  return computeMaintenance(position);
}

function readFunding(position: QuickPosition, positions: TableView, row: number): void {
  position.fundingAllTime = positions.get(row, column.FUNDING_ALL_TIME);
  position.fundingSinceOpen = positions.get(row, column.FUNDING_SINCE_OPEN);
  position.fundingSinceChange = positions.get(row, column.FUNDING_SINCE_CHANGE);
}

function computeMaintenance(position: QuickPosition): boolean {
  const { tiers, value } = position;
  let index = tiers.length - 1;
  while (value < tiers[index].lowerBound) index--;
  const { maxLeverage, deductionNumerator, deductionDenominator } = tiers[index];
  if (typeof deductionNumerator !== 'number' || typeof deductionDenominator !== 'number') {
    return false;
  }
  const rateDivisor = 2 * maxLeverage;
  const scaled = value * deductionDenominator;
  const deduction = deductionNumerator * rateDivisor;
  if (!(scaled + Math.abs(deduction) <= SAFE_MAX)) return false;
  position.maxLeverage = maxLeverage;
  // A divisor beyond 2^53 is inexact, but still above the dividend.
  const divisor = deductionDenominator * rateDivisor;
  position.maintenanceMargin = Math.floor((scaled - deduction) / divisor);
  return true;
}

function computeReturn(position: QuickPosition): boolean {
  const gain = position.unrealizedPnl * position.leverage;
  if (position.entryNotional === 0 || gain === 0) {
    position.returnOnEquity = 0;
    return true;
  }
  const magnitude = Math.abs(gain);
  if (magnitude > SAFE_MAX) return false;
  const ratio = longDivideHalfUp(magnitude, position.entryNotional, QUOTIENT_DECIMALS);
  if (ratio === undefined) return false;
  position.returnOnEquity = gain < 0 ? -ratio : ratio;
  return true;
}

/** See `liquidationPrice` in liquidation.ts for the formula; liquidationWhole is -1 if there is none. */
function computeLiquidation(position: QuickPosition, equity: number): boolean {
  const { tiers, size, value } = position;
  const side = size < 0 ? -1 : 1;
  const target = value - side * equity;
  position.liquidationWhole = -1;
  if (target <= 0) return true;
  for (let index = tiers.length - 1; ; index--) {
    const { lowerBound, maxLeverage, deductionNumerator, deductionDenominator } = tiers[index];
    if (typeof deductionNumerator !== 'number' || typeof deductionDenominator !== 'number') {
      return false;
    }
    const scaled = target * deductionDenominator;
    const dividend = (scaled - side * deductionNumerator) * 2 * maxLeverage;
    if (!(dividend <= SAFE_MAX && scaled + Math.abs(deductionNumerator) <= SAFE_MAX)) return false;
    const divisor = deductionDenominator * (2 * maxLeverage - side);
    // A product beyond 2^53 is inexact, but still above the dividend.
    if (index > 0 && dividend < lowerBound * divisor) continue;
    return setLiquidation(position, dividend, divisor * Math.abs(size));
  }
}

/**
 * A price with ten decimals may exceed 2^53 units, so whole dollars and fraction are separate. A divisor
 * beyond 2^53 leaves all of the dividend to the long division, which returns undefined.
 */
function setLiquidation(position: QuickPosition, dividend: number, divisor: number): boolean {
  const { priceDecimals } = position.market;
  const furtherDecimals = QUOTIENT_DECIMALS - priceDecimals;
  const furtherScale = powerOfTen(furtherDecimals);
  let price = Math.floor(dividend / divisor);
  let further = longDivideHalfUp(dividend - price * divisor, divisor, furtherDecimals);
  if (further === undefined) return false;
  if (further === furtherScale) {
    price++;
    further = 0;
  }
  const scale = powerOfTen(priceDecimals);
  const whole = Math.floor(price / scale);
  position.liquidationWhole = whole;
  position.liquidationFraction = (price - whole * scale) * furtherScale + further;
  return true;
}

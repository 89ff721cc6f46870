/**
 * The fast path of figures.ts, which defines the figures. This file computes the same figures in
 * plain numbers, without a check for bigint at every step, and is several times faster. It is used
 * for accounts whose sums are all below 2^53 millionths of a dollar, nine billion dollars;
 * figures.ts is used for larger accounts. If a quotient of a position needs more digits, the exact
 * formulas compute it for this position only. test/twin compares both files with a naive
 * implementation.
 *
 * The objects are reused for the next account, so callers must copy values that they need later.
 */

import { longDivideHalfUp, powerOfTen } from '../../exact/decimal.ts';
import { priceAtMaintenance, QUOTIENT_DECIMALS } from '../markets/margin-formulas.ts';
import type { MarginTier } from '../markets/margin-tiers.ts';
import type { Market } from '../markets/markets.ts';
import type { StateView, TableView } from '../state.ts';
import * as column from '../tables/columns.ts';
import { isIsolatedTerms, leverageOfTerms, marketOfTerms } from '../tables/columns.ts';
import { returnOnEquity, WITHDRAWAL_DIVISOR } from './figures.ts';

const SAFE_MAX = Number.MAX_SAFE_INTEGER;
const QUOTIENT_SCALE = powerOfTen(QUOTIENT_DECIMALS);

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

  /** Returns false if an amount is too large for plain numbers; the fields are then invalid. */
  compute(state: StateView, account: number): boolean {
    return this.computeTotals(state, account) && this.#computeRatios();
  }

  /**
   * Does the same as `compute`, but without the return on equity and the liquidation price of each
   * position.
   */
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
    // Sums of the magnitudes of all amounts that are added. If these sums are safe integers, all
    // other sums are too.
    let cashes = Math.abs(cash);
    let values = cashes;
    let row = accounts.get(account, column.FIRST_POSITION);
    for (; row !== 0; row = positions.get(row, column.NEXT_POSITION)) {
      if (positions.get(row, column.SIZE) === 0) continue;
      const position = this.#nextPosition();
      if (!computePosition(position, state, row)) return false;
      values += Math.max(position.value, Math.abs(position.marginUsed));
      if (position.isIsolated) cashes += Math.abs(position.rawUsd);
      reserved += this.#include(position);
    }
    if (!(values <= SAFE_MAX && cashes <= SAFE_MAX)) return false;
    const { accountValue } = this.crossSummary;
    // The reserved amount may be beyond 2^53. Nothing can be withdrawn then.
    this.withdrawable = Math.max(0, accountValue - reserved);
    this.#equity = accountValue + collateral - this.crossMaintenanceMargin;
    return accountValue + collateral <= SAFE_MAX && this.#equity >= -SAFE_MAX;
  }

  #nextPosition(): QuickPosition {
    if (this.positionCount === this.positions.length) this.positions.push(new QuickPosition());
    return this.positions[this.positionCount++];
  }

  /**
   * Adds a position to the account's sums. Returns the amount that cannot be withdrawn because of
   * this position.
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
      const isComputed =
        (computeReturn(position) || computeLongReturn(position)) &&
        (computeLiquidation(position, equity) || computeLongLiquidation(position, equity));
      if (!isComputed) return false;
    }
    return true;
  }
}

// Each of these functions returns false if the result of a step would be beyond the safe integers.

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
  const divisor = deductionDenominator * rateDivisor;
  const deduction = deductionNumerator * rateDivisor;
  if (!(divisor * deductionDenominator + Math.abs(deduction) <= SAFE_MAX)) return false;
  // Computes value / rateDivisor - deduction in parts, because value * deductionDenominator may be
  // beyond 2^53.
  const wholes = Math.floor(value / divisor);
  const rest = (value - wholes * divisor) * deductionDenominator - deduction;
  position.maxLeverage = maxLeverage;
  position.maintenanceMargin = wholes * deductionDenominator + Math.floor(rest / divisor);
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

/**
 * The formula is that of `priceAtMaintenance` in margin-formulas.ts. `liquidationWhole` is -1 if
 * there is no liquidation price.
 */
function computeLiquidation(position: QuickPosition, equity: number): boolean {
  const { tiers, size, value } = position;
  const side = size < 0 ? -1 : 1;
  const target = value - side * equity;
  position.liquidationWhole = -1;
  if (target <= 0) return true;
  if (target > SAFE_MAX) return false;
  for (let index = tiers.length - 1; ; index--) {
    const { lowerBound, maxLeverage, deductionNumerator, deductionDenominator } = tiers[index];
    if (typeof deductionNumerator !== 'number' || typeof deductionDenominator !== 'number') {
      return false;
    }
    const multiplier = deductionDenominator * 2 * maxLeverage;
    const divisor = deductionDenominator * (2 * maxLeverage - side);
    const deduction = side * deductionNumerator * 2 * maxLeverage;
    if (!(divisor * multiplier + Math.abs(deduction) <= SAFE_MAX)) return false;
    // Computes (target * multiplier - deduction) / divisor in parts, because the dividend may be
    // beyond 2^53.
    const wholes = Math.floor(target / divisor);
    const dividend = (target - wholes * divisor) * multiplier - deduction;
    const further = Math.floor(dividend / divisor);
    const valueThere = wholes * multiplier + further;
    if (!(wholes * multiplier <= SAFE_MAX && Math.abs(valueThere) <= SAFE_MAX)) return false;
    if (index > 0 && valueThere < lowerBound) continue;
    return setLiquidation(position, valueThere, dividend - further * divisor, divisor);
  }
}

/** Sets the price at which the value of the position is `valueThere + rest / divisor`. */
function setLiquidation(
  position: QuickPosition,
  valueThere: number,
  rest: number,
  divisor: number,
): boolean {
  const { priceDecimals } = position.market;
  const size = Math.abs(position.size);
  const furtherDecimals = QUOTIENT_DECIMALS - priceDecimals;
  const furtherScale = powerOfTen(furtherDecimals);
  let price = Math.floor(valueThere / size);
  // If the divisor of this long division is beyond 2^53, the division returns undefined.
  const remainder = (valueThere - price * size) * divisor + rest;
  let further = longDivideHalfUp(remainder, divisor * size, furtherDecimals);
  if (further === undefined) return false;
  if (further === furtherScale) {
    price++;
    further = 0;
  }
  // A price with ten decimals may be beyond 2^53, so the whole dollars and the fraction are stored
  // separately.
  const scale = powerOfTen(priceDecimals);
  const whole = Math.floor(price / scale);
  position.liquidationWhole = whole;
  position.liquidationFraction = (price - whole * scale) * furtherScale + further;
  return true;
}

// These functions compute the return and the liquidation price by the exact formulas. They return
// false if the result is beyond the safe integers.

function computeLongReturn(position: QuickPosition): boolean {
  const ratio = returnOnEquity(position);
  if (typeof ratio !== 'number') return false;
  position.returnOnEquity = ratio;
  return true;
}

function computeLongLiquidation(position: QuickPosition, equity: number): boolean {
  const { tiers, size, value, market } = position;
  const { priceDecimals } = market;
  const price = priceAtMaintenance({ tiers, size, value, equity, priceDecimals });
  if (typeof price !== 'number') return false;
  position.liquidationWhole = Math.floor(price / QUOTIENT_SCALE);
  position.liquidationFraction = price - position.liquidationWhole * QUOTIENT_SCALE;
  return true;
}

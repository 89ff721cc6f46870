/** When a position may be liquidated, and at which price. */

import { add, divideHalfUp, type Exact, multiply, subtract } from '../exact/decimal.ts';
import { type AccountFigures, type PositionFigures, QUOTIENT_DECIMALS } from './figures.ts';

/** The equity that backs the position, before its own maintenance margin. */
function equityBehind(account: AccountFigures, position: PositionFigures): Exact {
  if (position.isIsolated) return position.marginUsed;
  const otherMaintenance = subtract(account.crossMaintenanceMargin, position.maintenanceMargin);
  const equity = add(account.crossSummary.accountValue, account.collateral);
  return subtract(equity, otherMaintenance);
}

/** Whether what backs the position is less than it must be. */
export function isLiquidatable(account: AccountFigures, position: PositionFigures): boolean {
  return equityBehind(account, position) < position.maintenanceMargin;
}

/**
 * The price at which equity equals maintenance margin, in units of 10^-10; undefined if there is no
 * such price above 0.
 *
 * `side` is +1 for a long and -1 for a short.
 * With T = value - side * equity, the value X at that price solves X - side * maintenance(X) = T.
 * The left side is continuous and increasing in X, so X lies in the last tier where the solution,
 * (T - side * deduction) / (1 - side / (2 * maxLeverage)), is not below the tier's lower bound.
 */
export function liquidationPrice(
  account: AccountFigures,
  position: PositionFigures,
): Exact | undefined {
  const { market, tiers, size } = position;
  const side = size < 0 ? -1 : 1;
  const target = subtract(position.value, multiply(side, equityBehind(account, position)));
  if (target <= 0) return undefined;
  for (let index = tiers.length - 1; ; index--) {
    const { lowerBound, maxLeverage, deductionNumerator, deductionDenominator } = tiers[index];
    const scaled = multiply(target, deductionDenominator);
    const dividend = multiply(
      subtract(scaled, multiply(side, deductionNumerator)),
      2 * maxLeverage,
    );
    const divisor = multiply(deductionDenominator, 2 * maxLeverage - side);
    if (index > 0 && dividend < multiply(lowerBound, divisor)) continue;
    const decimals = QUOTIENT_DECIMALS - market.priceDecimals;
    return divideHalfUp(dividend, multiply(divisor, Math.abs(size)), decimals);
  }
}

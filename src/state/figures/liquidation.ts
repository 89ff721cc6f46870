/** Says whether a position may be liquidated, and at which price. */

import { add, type Exact, subtract } from '../../exact/decimal.ts';
import { priceAtMaintenance } from '../markets/margin-formulas.ts';
import type { AccountFigures, PositionFigures } from './figures.ts';

/**
 * Returns the equity that backs the position. The maintenance margin of the other cross positions
 * is subtracted; the position's own maintenance margin is not.
 */
function equityBehind(account: AccountFigures, position: PositionFigures): Exact {
  if (position.isIsolated) return position.marginUsed;
  const otherMaintenance = subtract(account.crossMaintenanceMargin, position.maintenanceMargin);
  const equity = add(account.crossSummary.accountValue, account.collateral);
  return subtract(equity, otherMaintenance);
}

/** True if the equity that backs the position is below its maintenance margin. */
export function isLiquidatable(account: AccountFigures, position: PositionFigures): boolean {
  return equityBehind(account, position) < position.maintenanceMargin;
}

/** Returns the price in units of 10^-10; undefined if no price above 0 liquidates the position. */
export function liquidationPrice(
  account: AccountFigures,
  position: PositionFigures,
): Exact | undefined {
  const { market, tiers, size, value } = position;
  const { priceDecimals } = market;
  const equity = equityBehind(account, position);
  return priceAtMaintenance({ tiers, size, value, equity, priceDecimals });
}

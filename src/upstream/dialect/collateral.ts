/**
 * Finds the collateral outside of a perp account from the liquidation prices of its cross
 * positions: no other figure depends on the spot balance. One price is not enough, because some
 * collateral explains any single price. So two or more prices must agree. With X = |szi| *
 * liquidationPx, in the tier that contains X, and l = 1 / (2 * maxLeverage of this tier):
 *
 *   equity behind the position = side * (positionValue - X * (1 - side * l)) - deduction
 *   collateral = equity - cross accountValue
 *                + (crossMaintenanceMarginUsed - the position's maintenance margin)
 */

import { USD_DECIMALS } from '../../events/fields.ts';
import { powerOfTen } from '../../exact/decimal.ts';
import type { AccountFigures, PositionFigures } from '../../state/figures/figures.ts';
import type { AccountReading } from './account-answer.ts';
import { valueAccount } from './account-check.ts';
import type { MarketDirectory } from './market-directory.ts';

/**
 * An estimate of the collateral in millionths, in doubles. The check of all figures decides later
 * whether the estimate is right.
 */
interface Estimate {
  readonly collateral: number;
  /**
   * The maximum change of the estimate because of the rounding of the printed price and of doubles.
   */
  readonly error: number;
}

const USD_UNITS = powerOfTen(USD_DECIMALS);
/** The rounding error of a printed price: prices are printed with ten decimals. */
const PRICE_ERROR = 0.5e-10;
/** The error of a few roundings of doubles, relative to the largest amount in the calculation. */
const DOUBLE_ERROR = 2 ** -50;
const ESTIMATES_MIN = 2;
/**
 * Half a step of a spot balance, in millionths: a balance has eight decimals. This is added to an
 * estimate before it is rounded down, so that an estimate slightly below a whole number gives this
 * number.
 */
const HALF_SPOT_STEP = 0.005;

/**
 * Returns the collateral in millionths; returns undefined if the prices do not agree, or if the
 * collateral would be negative.
 */
export function findCollateral(
  reading: AccountReading,
  directory: MarketDirectory,
): number | undefined {
  const figures = valueAccount(reading.rows, directory);
  if (figures instanceof Error) return undefined;
  const estimates = estimateEach(reading, figures);
  if (estimates.length < ESTIMATES_MIN) return undefined;
  const best = estimates.reduce((first, second) => (second.error < first.error ? second : first));
  const doAgree = estimates.every(
    ({ collateral, error }) => Math.abs(collateral - best.collateral) <= error + best.error + 1,
  );
  const found = Math.floor(best.collateral + Math.max(best.error, HALF_SPOT_STEP));
  return doAgree && Number.isSafeInteger(found) && found >= 0 ? found : undefined;
}

function estimateEach({ reported }: AccountReading, figures: AccountFigures): Estimate[] {
  const prices = new Map(
    reported.positions.map(({ coin, liquidationPx }) => [coin, liquidationPx]),
  );
  return figures.positions.flatMap((position) => {
    const price = prices.get(position.market.coin);
    if (position.isIsolated || price === null || price === undefined) return [];
    return [estimate(figures, position, Number(price))];
  });
}

function estimate(
  { crossSummary, crossMaintenanceMargin }: AccountFigures,
  { market, tiers, size, value, maintenanceMargin }: PositionFigures,
  price: number,
): Estimate {
  const side = size < 0 ? -1 : 1;
  const unitsPerPrice = (Math.abs(size) / powerOfTen(market.sizeDecimals)) * USD_UNITS;
  const liquidationValue = unitsPerPrice * price;
  const { maxLeverage, deductionNumerator, deductionDenominator } =
    tiers.findLast(({ lowerBound }) => lowerBound <= liquidationValue) ?? tiers[0];
  const neededShare = 1 - side / (2 * maxLeverage);
  const needed = liquidationValue * neededShare;
  const deduction = Number(deductionNumerator) / Number(deductionDenominator);
  const equity = side * (Number(value) - needed) - deduction;
  const accountValue = Number(crossSummary.accountValue);
  const otherMaintenance = Number(crossMaintenanceMargin) - Number(maintenanceMargin);
  const magnitudes =
    Number(value) + needed + deduction + Math.abs(accountValue) + Math.abs(otherMaintenance);
  return {
    collateral: equity - accountValue + otherMaintenance,
    error: unitsPerPrice * neededShare * PRICE_ERROR + magnitudes * DOUBLE_ERROR,
  };
}

/**
 * Finds the collateral outside of a perp account from the liquidation prices of its cross positions: no
 * other figure depends on the spot balance. A single price gives some collateral for any account, so two
 * or more prices must agree. With X = |szi| * liquidationPx, in the tier that contains X:
 *
 *   equity behind the position = side * (positionValue - X * (1 - side * l)) - deduction
 *   collateral = equity - cross accountValue + (crossMaintenanceMarginUsed - its own maintenance)
 */

import { USD_DECIMALS } from '../../events/fields.ts';
import { powerOfTen } from '../../exact/decimal.ts';
import type { AccountFigures, PositionFigures } from '../../state/figures/figures.ts';
import type { AccountReading } from './account-answer.ts';
import { valueAccount } from './account-check.ts';
import type { MarketDirectory } from './market-directory.ts';

/** An estimate in millionths, as doubles. The check of all figures confirms or refuses it. */
interface Estimate {
  readonly collateral: number;
  /** How much the rounding of the printed price and of doubles can change the estimate. */
  readonly error: number;
}

const USD_UNITS = powerOfTen(USD_DECIMALS);
/** Prices are printed with ten decimals. */
const PRICE_ERROR = 0.5e-10;
/** Error of a few roundings of doubles, relative to the largest amount in the calculation. */
const DOUBLE_ERROR = 2 ** -50;
const ESTIMATES_MIN = 2;
/**
 * A spot balance has eight decimals. If an estimate is within half a step of a balance, it is this
 * balance.
 */
const HALF_SPOT_STEP = 0.005;

/**
 * The collateral in millionths; undefined if the prices do not agree, or if it would be negative.
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

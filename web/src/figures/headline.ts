/** Computes exactly, from an account's answer, the figures that people look for first. */

import { holdingsOf, type Totals, totalsOf } from './all-dexes.ts';
import type { Position, States } from './answers.ts';
import {
  absolute,
  compare,
  type Decimal,
  divideRounded,
  formatDecimal,
  multiply,
  parseDecimal,
  RATIO_DECIMALS,
  subtract,
  sum,
} from './decimal.ts';
import { describeDistance, distanceOf, isLong, markOf } from './position-figures.ts';

interface NearestLiquidation {
  readonly coin: string;
  readonly liquidationPx: string;
  /** The distance as a share of the mark. */
  readonly share: Decimal;
  readonly distance: string;
  /** The loss of the position if the mark moves to the liquidation price, in USDC. */
  readonly loss: string;
}

export interface Headline {
  readonly unrealizedPnl: string;
  /** Position value divided by account value; undefined without a positive account value. */
  readonly leverage: string | undefined;
  readonly long: string;
  readonly short: string;
  /** Long exposure minus short exposure. */
  readonly net: string;
  /** The position that is the nearest to its liquidation; undefined if no position has a liquidation price. */
  readonly nearest: NearestLiquidation | undefined;
}

export function headlineOf(states: States): Headline {
  const positions = holdingsOf(states).map(({ position }) => position);
  const exposureOf = (some: readonly Position[]) =>
    sum(some.map(({ positionValue }) => positionValue));
  const long = exposureOf(positions.filter(isLong));
  const short = exposureOf(positions.filter((position) => !isLong(position)));
  return {
    unrealizedPnl: formatDecimal(sum(positions.map(({ unrealizedPnl }) => unrealizedPnl))),
    leverage: leverageOf(totalsOf(states)),
    long: formatDecimal(long),
    short: formatDecimal(short),
    net: formatDecimal(subtract(long, short)),
    nearest: findNearest(positions),
  };
}

function leverageOf({ totalNtlPos, accountValue }: Totals): string | undefined {
  const value = parseDecimal(accountValue);
  if (value.units <= 0n) return undefined;
  const ratio = divideRounded(parseDecimal(totalNtlPos), value, RATIO_DECIMALS);
  return ratio && formatDecimal(ratio);
}

function findNearest(positions: readonly Position[]): NearestLiquidation | undefined {
  let nearest: { readonly position: Position; readonly share: Decimal } | undefined;
  for (const position of positions) {
    const share = distanceOf(position);
    if (share === undefined) continue;
    if (nearest === undefined || compare(share, nearest.share) < 0) nearest = { position, share };
  }
  return nearest && describeNearest(nearest.position, nearest.share);
}

function describeNearest(position: Position, share: Decimal): NearestLiquidation {
  const { coin, szi, positionValue } = position;
  // A lost position counts as near even without a liquidation price, because any mark liquidates
  // it.
  const liquidationPx = position.liquidationPx ?? formatDecimal(markOf(position));
  const valueThen = multiply(absolute(parseDecimal(szi)), parseDecimal(liquidationPx));
  const valueNow = parseDecimal(positionValue);
  const loss = isLong(position) ? subtract(valueNow, valueThen) : subtract(valueThen, valueNow);
  return {
    ...{ coin, liquidationPx, share },
    distance: describeDistance(share),
    loss: formatDecimal(loss),
  };
}

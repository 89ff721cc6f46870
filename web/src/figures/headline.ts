/** The figures of an account that people look for first, computed exactly from its answer. */

import { holdingsOf, type Totals, totalsOf } from './all-dexes.ts';
import type { Position, States } from './answers.ts';
import {
  compare,
  type Decimal,
  divideRounded,
  formatDecimal,
  parseDecimal,
  RATIO_DECIMALS,
  subtract,
  sum,
} from './decimal.ts';
import { describeDistance, distanceOf, isLong } from './position-figures.ts';

export interface Headline {
  readonly unrealizedPnl: string;
  /** Position value over account value; undefined without a positive account value. */
  readonly leverage: string | undefined;
  readonly long: string;
  readonly short: string;
  /** Long less short. */
  readonly net: string;
  /** The position that is the nearest to its liquidation; undefined if none has a price for it. */
  readonly nearest: { readonly coin: string; readonly distance: string } | undefined;
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

function findNearest(positions: readonly Position[]): Headline['nearest'] {
  let nearest: { coin: string; ratio: Decimal } | undefined;
  for (const position of positions) {
    const ratio = distanceOf(position);
    if (ratio === undefined) continue;
    if (nearest === undefined || compare(ratio, nearest.ratio) < 0) {
      nearest = { coin: position.coin, ratio };
    }
  }
  return nearest && { coin: nearest.coin, distance: describeDistance(nearest.ratio) };
}

/** The figures of an account on the board: exact, and over all of its dexes. */

import type { Delegation, Position } from './answers.ts';
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
  ZERO,
} from './decimal.ts';
import { describeDistance, distanceOf, isLong } from './position-figures.ts';
import { judgeAccount, marginRatioOf, type States, type Verdict } from './risk.ts';

interface NearestLiquidation {
  readonly coin: string;
  readonly liquidationPx: string;
  /** Of the mark. */
  readonly share: Decimal;
  readonly distance: string;
  /** What the position loses until then, in USD. */
  readonly loss: string;
}

export interface BoardFigures {
  readonly value: string;
  readonly long: string;
  readonly short: string;
  /** Long less short. */
  readonly net: string;
  readonly unrealizedPnl: string;
  readonly verdict: Verdict;
  /** The highest of all dexes; undefined if maintenance is due and there is nothing. */
  readonly marginRatio: Decimal | undefined;
  /** Undefined if no position has a liquidation price. */
  readonly nearest: NearestLiquidation | undefined;
}

export function boardFiguresOf(states: States): BoardFigures {
  const positions = states.flatMap(([, { assetPositions }]) =>
    assetPositions.map(({ position }) => position),
  );
  const long = exposureOf(positions.filter(isLong));
  const short = exposureOf(positions.filter((position) => !isLong(position)));
  return {
    value: totalValueOf(states),
    long: formatDecimal(long),
    short: formatDecimal(short),
    net: formatDecimal(subtract(long, short)),
    unrealizedPnl: formatDecimal(sum(positions.map(({ unrealizedPnl }) => unrealizedPnl))),
    verdict: judgeAccount(states),
    marginRatio: highestRatioOf(states),
    nearest: findNearest(positions),
  };
}

/** The account value over all dexes. */
export function totalValueOf(states: States): string {
  return formatDecimal(sum(states.map(([, { marginSummary }]) => marginSummary.accountValue)));
}

function exposureOf(positions: readonly Position[]): Decimal {
  return sum(positions.map(({ positionValue }) => positionValue));
}

function highestRatioOf(states: States): Decimal | undefined {
  let highest = ZERO;
  for (const [, state] of states) {
    const ratio = marginRatioOf(state);
    if (ratio === undefined) return undefined;
    if (compare(ratio, highest) > 0) highest = ratio;
  }
  return highest;
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
  const liquidationPx = position.liquidationPx ?? '0.0';
  const valueThen = multiply(absolute(parseDecimal(szi)), parseDecimal(liquidationPx));
  const valueNow = parseDecimal(positionValue);
  const loss = isLong(position) ? subtract(valueNow, valueThen) : subtract(valueThen, valueNow);
  return {
    ...{ coin, liquidationPx, share },
    distance: describeDistance(share),
    loss: formatDecimal(loss),
  };
}

export interface AmountChange {
  /** In USD. */
  readonly amount: string;
  /** Per cent; undefined where there was nothing before. */
  readonly percent: string | undefined;
}

export function changeBetween(before: string, after: string): AmountChange {
  const from = parseDecimal(before);
  const amount = subtract(parseDecimal(after), from);
  const ratio = divideRounded(amount, absolute(from), RATIO_DECIMALS);
  return {
    amount: formatDecimal(amount),
    percent: ratio && formatDecimal({ ...ratio, scale: ratio.scale - 2 }),
  };
}

/** The next one to be unlocked; undefined if none is locked any more. */
export function nextUnlockOf(
  delegations: readonly Delegation[],
  nowMs: number,
): Delegation | undefined {
  let next: Delegation | undefined;
  for (const delegation of delegations) {
    const { lockedUntilTimestamp } = delegation;
    if (lockedUntilTimestamp <= nowMs) continue;
    if (next === undefined || lockedUntilTimestamp < next.lockedUntilTimestamp) next = delegation;
  }
  return next;
}

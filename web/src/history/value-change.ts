/** Computes how much the account value has changed over a range of the chart. */

import { changeBetween } from '../figures/board-figures.ts';
import type { Point, Range } from './value-history.ts';

export interface ValueChange {
  /** The unit is USDC. */
  readonly amount: string;
  /** Per cent; undefined where there was nothing before. */
  readonly ratio: string | undefined;
  /** Since when, in milliseconds of ledger time. */
  readonly since: number;
}

/** Undefined before there are two points. */
export function changeOver(
  points: readonly Point[],
  { retentionMs }: Range,
): ValueChange | undefined {
  const [first, last] = [points.at(0), points.at(-1)];
  if (first === undefined || last === undefined || first === last) return undefined;
  const { amount, percent } = changeBetween(first.value, last.value);
  return {
    amount,
    ratio: percent,
    // The first point may be older: its value was still the one when the range began.
    since: points[1].isAfterGap ? first.time : Math.max(first.time, last.time - retentionMs),
  };
}

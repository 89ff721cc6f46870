/** Computes how much the account value has changed over a range of the chart. */

import { changeBetween } from '../figures/board-figures.ts';
import type { Point, Range } from './value-history.ts';

export interface ValueChange {
  /** The change in USDC. */
  readonly amount: string;
  /** The change in per cent; undefined if the value before was 0. */
  readonly ratio: string | undefined;
  /** The start of the time of the change, in milliseconds of ledger time. */
  readonly since: number;
}

/**
 * Returns the change from the first point to the last point; returns undefined if there are fewer
 * than two points.
 */
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
    // The first point may be older than the range. Its value was still right when the range
    // started.
    since: points[1].isAfterGap ? first.time : Math.max(first.time, last.time - retentionMs),
  };
}

/**
 * The line of a chart. Points are at their true times, and the line has a gap where no value is
 * known.
 */

import type { Point } from './value-history.ts';

/** Times in seconds, and their values. A null ends the line until the next value. */
type Line = readonly [times: readonly number[], values: readonly (number | null)[]];

/** Returns the line of these points. A gap becomes a point without a value. */
export function toLine(points: readonly Point[]): Line {
  const times: number[] = [];
  const values: (number | null)[] = [];
  for (const { time, value, isAfterGap } of points) {
    if (isAfterGap) {
      times.push((time - 1) / 1000);
      values.push(null);
    }
    times.push(time / 1000);
    values.push(Number(value));
  }
  return [times, values];
}

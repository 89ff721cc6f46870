/** A time range that a question asks for, and the heights at its steps. */

import { wholeField } from '../fields/whole-number-field.ts';
import { RequestError, wrongValue } from '../request-error.ts';
import type { HistoryView } from './history-view.ts';
import { isBeforeGap } from './moment-height.ts';

export const POINTS_MAX = 5_000;
/** The number of points in a series without a step. */
const POINTS_DEFAULT = 500;
/**
 * A time without blocks is a gap if it is longer than this number of milliseconds, and longer than
 * a step.
 */
const GAP_MS = 60_000;
/** The value of an absent `from` or `to`: the first or the last time of the archive. */
const OPEN = -1;

/** An absent time is the first or the last time of the archive. */
interface GivenTimeRange {
  readonly from: number | undefined;
  readonly to: number | undefined;
}

export const timeRangeFields = {
  from: {
    ...wholeField('the first time, in milliseconds; by default the first time of the archive'),
    fallback: OPEN,
  },
  to: {
    ...wholeField('the last time, in milliseconds; by default the last time of the archive'),
    fallback: OPEN,
  },
};

export const stepField = {
  ...wholeField('milliseconds between two points; by default a 500th of the time range', {
    from: 1,
  }),
  fallback: OPEN,
};

interface TimeLimits {
  readonly from: number;
  readonly to: number;
}

export interface TimeRange extends TimeLimits {
  /** The value of the field `from`; 0 if the field is absent. */
  readonly since: number;
  /** True if no later block can be in the range. */
  readonly isFixed: boolean;
}

/** Returns the times `from` and `to`, limited to the times of the archive. */
export function readTimeRange(
  history: HistoryView,
  { from = OPEN, to = OPEN }: GivenTimeRange,
): TimeRange {
  const { first, firstTime, lastTime } = history.range();
  if (to !== OPEN && from > to) {
    const message = `to: got ${to}, expected at least ${from}, the value of from`;
    throw new RequestError('invalid_field', message, 'to');
  }
  const since = Math.max(from, 0);
  const isFixed = !isOpenEnd(to, history);
  const end = to === OPEN ? lastTime : Math.min(to, lastTime);
  if (end >= firstTime) return { from: Math.max(since, firstTime), to: end, since, isFixed };
  // The archive may have blocks of time 0 before its first time.
  const time = history.timeOf(first);
  return { from: Math.max(since, time), to: Math.min(end, time), since, isFixed };
}

/** Returns true if later blocks may belong to a time range that ends at `to`. */
export function isOpenEnd(to: number, history: HistoryView): boolean {
  return to === OPEN || to >= history.range().lastTime;
}

/** The first and last height of a time range. If the range has no block, `to` is below `from`. */
export function heightsOf(
  history: HistoryView,
  { since, to }: TimeRange,
): { readonly from: number; readonly to: number } {
  const { first } = history.range();
  const start = (history.heightAt(since - 1) ?? first - 1) + 1;
  return { from: start, to: history.heightAt(to) ?? start - 1 };
}

export function readStep({ from, to }: TimeRange, given: number): number {
  const least = Math.max(1, Math.ceil((to - from) / (POINTS_MAX - 2)));
  if (given === OPEN) return Math.max(1, Math.ceil((to - from) / POINTS_DEFAULT));
  if (given >= least) return given;
  const expected = `${least} or more: at most ${POINTS_MAX} points are answered`;
  throw wrongValue('step', given, expected);
}

/**
 * The number of times in a series. Each time has at most one point; gaps between the times are
 * further points.
 */
export function countPoints({ from, to }: TimeLimits, step: number): number {
  return from > to ? 0 : Math.ceil((to - from) / step) + 1;
}

/** A point of a series: a height, or a time in a gap of the ledger. */
export interface SeriesPoint {
  /** Undefined in a gap. */
  readonly height: number | undefined;
  readonly time: number;
}

/**
 * The points of a time range. Each height occurs once, and the last point is at the end of the
 * range. A gap between two points is a point, too.
 */
export function* listPoints(
  history: HistoryView,
  { from, to }: { readonly from: number; readonly to: number },
  step: number,
): Generator<SeriesPoint> {
  let last = 0;
  let isInPause = true;
  for (let time = from; from <= to; time += step) {
    const at = Math.min(time, to);
    const height = history.heightAt(at);
    if (height !== undefined) {
      const isOld = at - history.timeOf(height) > Math.max(GAP_MS, step);
      if (isOld || isBeforeGap(history, height)) {
        yield { height: undefined, time: at };
        isInPause = true;
      } else if (height !== last) {
        if (!isInPause && !history.hasSeen(last, height)) yield gapAfter(history, last, height);
        yield { height, time: history.timeOf(height) };
        isInPause = false;
      }
      last = height;
    }
    if (time >= to) return;
  }
}

function gapAfter(history: HistoryView, height: number, next: number): SeriesPoint {
  const time = Math.min(history.timeOf(height) + 1, history.timeOf(next));
  return { height: undefined, time };
}

/** A time range that a question asks for, and the heights at its steps. */

import type { HistoryView } from './history-view.ts';
import { isInGap } from './moment.ts';
import { wholeField } from './request.ts';
import { RequestError, wrongValue } from './request-error.ts';

export const POINTS_MAX = 5_000;
/** Points of a series whose step is not given. */
const POINTS_DEFAULT = 500;
/** Where the ledger has no block for longer than this, and longer than a step, it has a gap. */
const GAP_MS = 60_000;
/** Not given: the end of what is kept. */
const OPEN = -1;

/** A time that is not given is the end of what is kept. */
interface GivenTimeRange {
  readonly from: number | undefined;
  readonly to: number | undefined;
}

export const timeRangeFields = {
  from: {
    ...wholeField('the first time, in milliseconds; by default the first that is kept'),
    fallback: OPEN,
  },
  to: {
    ...wholeField('the last time, in milliseconds; by default the last that is kept'),
    fallback: OPEN,
  },
};

export const stepField = {
  ...wholeField('milliseconds between two points; by default a 500th of the time', { from: 1 }),
  fallback: OPEN,
};

export interface TimeRange {
  readonly from: number;
  readonly to: number;
  /** True if no later block can add to it. */
  readonly isFixed: boolean;
}

/** The times from and to, cut to what is kept. */
export function readTimeRange(
  history: HistoryView,
  { from = OPEN, to = OPEN }: GivenTimeRange,
): TimeRange {
  const { firstTime, lastTime } = history.range();
  if (to !== OPEN && from > to) {
    const message = `to: got ${to}, expected at least ${from}, the value of from`;
    throw new RequestError('invalid_field', message, 'to');
  }
  const start = Math.max(from, firstTime);
  const end = to === OPEN ? lastTime : Math.min(to, lastTime);
  return { from: start, to: end, isFixed: to !== OPEN && to < lastTime };
}

/** The first and last height of a time range; none if it ends before what is kept. */
export function heightsOf(
  history: HistoryView,
  { from, to }: TimeRange,
): { readonly from: number; readonly to: number } {
  const { first, last } = history.range();
  const start = (history.heightAt(from - 1) ?? first - 1) + 1;
  return { from: start, to: to < from ? start - 1 : (history.heightAt(to) ?? last) };
}

export function readStep({ from, to }: TimeRange, given: number): number {
  const least = Math.max(1, Math.ceil((to - from) / (POINTS_MAX - 2)));
  if (given === OPEN) return Math.max(1, Math.ceil((to - from) / POINTS_DEFAULT));
  if (given >= least) return given;
  const expected = `${least} or more: at most ${POINTS_MAX} points are answered`;
  throw wrongValue('step', given, expected);
}

/** A point of a series: a height, or a time at which the ledger has a gap. */
export interface SeriesPoint {
  /** Undefined in a gap. */
  readonly height: number | undefined;
  readonly time: number;
}

/** The points of a time range, each height once; the last one is at its end. */
export function* listPoints(
  history: HistoryView,
  { from, to }: { readonly from: number; readonly to: number },
  step: number,
): Generator<SeriesPoint> {
  if (from > to) return;
  let last = 0;
  for (let time = from; ; time += step) {
    const at = Math.min(time, to);
    const height = history.heightAt(at);
    if (height !== undefined) {
      const isOld = height === last && at - history.timeOf(height) > Math.max(GAP_MS, step);
      if (isOld || isInGap(history, height, at)) yield { height: undefined, time: at };
      else if (height !== last) yield { height, time: history.timeOf(height) };
      last = height;
    }
    if (time >= to) return;
  }
}

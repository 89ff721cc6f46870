/** A time range that a question asks for, and the heights at its steps. */

import { wholeField } from '../fields/whole-number-field.ts';
import { RequestError, wrongValue } from '../request-error.ts';
import type { HistoryView } from './history-view.ts';
import { isBeforeGap } from './resolve-moment.ts';

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

interface TimeLimits {
  readonly from: number;
  readonly to: number;
}

export interface TimeRange extends TimeLimits {
  /** The first time as it was asked for; 0 if it was not. Blocks may have times before what is kept: 0. */
  readonly since: number;
  /** True if no later block can add to it. */
  readonly isFixed: boolean;
}

/** The times from and to, cut to what is kept. */
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
  // Before the first time there may be blocks of time 0.
  const time = history.timeOf(first);
  return { from: Math.max(since, time), to: Math.min(end, time), since, isFixed };
}

/** Whether later blocks may belong to a time range that ends at `to`. */
export function isOpenEnd(to: number, history: HistoryView): boolean {
  return to === OPEN || to >= history.range().lastTime;
}

/** The first and last height of a time range; none if it ends before what is kept. */
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

/** How many times a series looks at: it has a point at most of each, but for gaps between them. */
export function countPoints({ from, to }: TimeLimits, step: number): number {
  return from > to ? 0 : Math.ceil((to - from) / step) + 1;
}

/** A point of a series: a height, or a time at which the ledger has a gap. */
export interface SeriesPoint {
  /** Undefined in a gap. */
  readonly height: number | undefined;
  readonly time: number;
}

/**
 * The points of a time range, each height once; the last one is at its end. A gap that lies between two
 * points is a point as well.
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

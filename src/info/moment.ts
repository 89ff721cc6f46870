/**
 * The moment that a question is about, if it is not the present: the fields `atHeight` and `atTime`,
 * which every question may have.
 */

import { describeValue } from '../events/refusal.ts';
import type { HistoryView } from './history-view.ts';
import { wholeField } from './request.ts';
import { RequestError, wrongValue } from './request-error.ts';

/** A moment of the past, by one of the two. */
export interface Moment {
  readonly height?: number;
  readonly time?: number;
}

export const MOMENT_FIELDS = {
  atHeight: wholeField('answer as of this height, from the archive', { from: 1 }),
  atTime: wholeField('answer as of the last block that is not later, in milliseconds'),
};

/** Undefined if the question is about the present. */
export function readMoment(
  source: Readonly<Record<string, unknown>>,
): Moment | RequestError | undefined {
  const { atHeight, atTime } = source;
  if (atHeight === undefined && atTime === undefined) return undefined;
  if (atHeight !== undefined && atTime !== undefined) {
    const message = `atTime: got ${describeValue(atTime)} beside atHeight, expected one of the two`;
    return new RequestError('invalid_field', message, 'atTime');
  }
  const name = atHeight === undefined ? 'atTime' : 'atHeight';
  const value = MOMENT_FIELDS[name].read(name, source[name]);
  if (value instanceof RequestError) return value;
  return atHeight === undefined ? { time: value } : { height: value };
}

/** The fault of a moment where there can be none; undefined if none is given. */
export function findMomentFault(
  source: Readonly<Record<string, unknown>>,
  reason: string,
): RequestError | undefined {
  const name = Object.keys(MOMENT_FIELDS).find((field) => source[field] !== undefined);
  if (name === undefined) return undefined;
  return wrongValue(name, source[name], `none: ${reason}`);
}

/** Where the ledger is; the archive is a moment behind it. */
export interface Present {
  readonly height: number;
  readonly time: number;
}

/** The height of a moment; throws a RequestError if the archive does not hold it. */
export function resolveMoment(
  { height, time }: Moment,
  history: HistoryView,
  present?: Present,
): number {
  const { last, lastTime } = history.range();
  if (height !== undefined) {
    if (history.holds(height)) return height;
    throw height > last && height <= (present?.height ?? 0)
      ? refuseEarly('atHeight', height, last)
      : refuseMoment('atHeight', height, history);
  }
  const at = time as number;
  if (at > lastTime) {
    throw at <= (present?.time ?? 0)
      ? refuseEarly('atTime', at, lastTime)
      : refuseMoment('atTime', at, history);
  }
  const found = history.heightAt(at);
  const isKept = found !== undefined && history.holds(found) && !isBeforeGap(history, found);
  if (!isKept) throw refuseMoment('atTime', at, history);
  return found;
}

/** Whether blocks are missing after `height`, the last known one of a time: they may have its time as well. */
export function isBeforeGap(history: HistoryView, height: number): boolean {
  return !history.holds(height + 1) && height !== history.range().last;
}

/** `limit` is the last height or time that the archive holds. */
function refuseEarly(field: string, got: number, limit: number): RequestError {
  const message = `${field}: got ${got}, expected at most ${limit}: the archive is catching up`;
  return new RequestError('behind', message, field);
}

function refuseMoment(field: string, got: number, history: HistoryView): RequestError {
  const { text, firstTime, lastTime } = history.range();
  const expected = `what the archive holds: ${text}, times ${firstTime} to ${lastTime}`;
  return new RequestError('unknown_height', `${field}: got ${got}, expected ${expected}`, field);
}

export const NO_ARCHIVE = new RequestError(
  'unknown_height',
  'there is no archive to ask about the past, or it holds nothing yet; serve --archive keeps one',
);

/** Finds the height of a moment of the past in an archive. */

import type { PastMoment } from '../fields/past-moment.ts';
import { RequestError } from '../request-error.ts';
import type { HistoryView } from './history-view.ts';

/** The height and time of the ledger. The archive is a little behind the ledger. */
export interface Present {
  readonly height: number;
  readonly time: number;
}

/**
 * Returns the height of a moment. Throws a RequestError if the archive does not have the moment.
 */
export function findMomentHeight(
  { height, time }: PastMoment,
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
  const isUsable = found !== undefined && history.holds(found) && !isBeforeGap(history, found);
  if (!isUsable) throw refuseMoment('atTime', at, history);
  return found;
}

/**
 * True if the archive has later blocks, but not the block after `height`. That block may have the
 * same time as `height`.
 */
export function isBeforeGap(history: HistoryView, height: number): boolean {
  return !history.holds(height + 1) && height !== history.range().last;
}

/** `limit` is the last height or time that the archive contains. */
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
  'there is no archive of the past, or the archive is still empty; serve --archive writes an archive',
);

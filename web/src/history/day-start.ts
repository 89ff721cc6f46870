/**
 * Finds the value of an account at the start of the day: the value at local midnight if it is
 * known, otherwise the first value that the page saw.
 */

export interface DayStart {
  /** Local midnight, in milliseconds. */
  readonly dayMs: number;
  readonly value: string;
  /** The time of the value: midnight, or the time at which the page first saw the account. */
  readonly sinceMs: number;
}

/** A value, and the ledger time until which it was certainly right, in milliseconds. */
export interface KnownValue {
  readonly value: string;
  readonly untilMs: number;
}

/**
 * After a longer silence than this, the machine may have slept, so the value at midnight is not
 * known.
 */
const SILENT_MS_MAX = 120_000;

function midnightBefore(timeMs: number): number {
  return new Date(timeMs).setHours(0, 0, 0, 0);
}

export const isMidnight = ({ dayMs, sinceMs }: DayStart): boolean => dayMs === sinceMs;

/**
 * Returns the start of the day of a value. The value `before` counts as the value at midnight if
 * the page followed the account over midnight without an interruption.
 */
export function startDay(
  start: DayStart | undefined,
  before: KnownValue | undefined,
  { value, timeMs }: { readonly value: string; readonly timeMs: number },
): DayStart {
  const dayMs = midnightBefore(timeMs);
  if (start !== undefined && start.dayMs === dayMs) return start;
  const isFollowed =
    before !== undefined && before.untilMs < dayMs && timeMs - before.untilMs <= SILENT_MS_MAX;
  return isFollowed
    ? { dayMs, value: before.value, sinceMs: dayMs }
    : { dayMs, value, sinceMs: timeMs };
}

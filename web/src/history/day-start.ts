/**
 * Finds the value of an account when the day began: at local midnight if that value is known, otherwise the
 * first value seen.
 */

export interface DayStart {
  /** Local midnight, in milliseconds. */
  readonly dayMs: number;
  readonly value: string;
  /** Since when it is compared with: midnight, or when the page first saw the account. */
  readonly sinceMs: number;
}

/** A value and until when it was certainly the right one, in milliseconds of ledger time. */
export interface KnownValue {
  readonly value: string;
  readonly untilMs: number;
}

/** Longer than this, a machine may have slept: what the value was at midnight is not known. */
const SILENT_MS_MAX = 120_000;

function midnightBefore(timeMs: number): number {
  return new Date(timeMs).setHours(0, 0, 0, 0);
}

export const isMidnight = ({ dayMs, sinceMs }: DayStart): boolean => dayMs === sinceMs;

/**
 * The start of the day of a value. The value before it is what the account was worth at midnight, if
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

/**
 * Reads and writes local times in the format of the browser's field for a date and time, to the
 * second.
 */

const pad = (count: number, digits = 2): string => String(count).padStart(digits, '0');

export function formatLocalTime(timeMs: number): string {
  const time = new Date(timeMs);
  const date = [pad(time.getFullYear(), 4), pad(time.getMonth() + 1), pad(time.getDate())];
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => pad(part));
  return `${date.join('-')}T${clock.join(':')}`;
}

/**
 * Returns the end of the second, so that all blocks of this second are included; returns undefined
 * if the text is not a time.
 */
export function readLocalTime(text: string): number | undefined {
  const timeMs = new Date(text).setMilliseconds(999);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

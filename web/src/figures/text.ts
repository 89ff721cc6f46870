/** Writes figures, times and addresses for the page. */

import { formatFixed, parseDecimal, roundTo } from './decimal.ts';

/** A minus sign that is as wide as a plus sign. */
const MINUS = '\u2212';

/** Returns the decimal text with the whole part in groups of three digits. */
export function group(text: string): string {
  const [whole, fraction] = text.replace('-', '').split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  const sign = text.startsWith('-') ? MINUS : '';
  return sign + grouped + (fraction === undefined ? '' : `.${fraction}`);
}

/**
 * Returns the text rounded to a number of decimals, with grouped digits. Callers also show the
 * complete text, for example on hover.
 */
export function groupRounded(text: string, decimals: number): string {
  const rounded = formatFixed(roundTo(parseDecimal(text), decimals));
  // A value that rounds to zero has no sign.
  return group(/[1-9]/.test(rounded) ? rounded : rounded.replace('-', ''));
}

/**
 * Adds a plus sign to a gain. Zero has no sign. A value too small for the decimals is shown as
 * "+<0.01".
 */
export function withSign(text: string, shown: string): string {
  if (!/[1-9]/.test(text)) return shown;
  const isLoss = text.startsWith('-');
  if (!/[1-9]/.test(shown)) return `${isLoss ? MINUS : '+'}<${shown.replace(/0$/, '1')}`;
  return isLoss ? shown : `+${shown}`;
}

export function decimalsOf(text: string): number {
  return text.split('.')[1]?.length ?? 0;
}

export function shortenAddress(address: string): string {
  return address.length <= 16 ? address : `${address.slice(0, 8)}\u2026${address.slice(-6)}`;
}

/** Returns the page's name of a dex, because the first dex has no name. */
export function nameDex(dex: string): string {
  return dex === '' ? 'first' : dex;
}

/** Names a dex within a sentence: "the first dex", "dex abc". */
export function describeDex(dex: string): string {
  return dex === '' ? 'the first dex' : `dex ${dex}`;
}

/**
 * Formats whole numbers, such as heights. The format is created once, because creating it takes
 * long.
 */
const COUNT = new Intl.NumberFormat('en');

export function formatCount(count: number): string {
  return COUNT.format(count);
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** Returns a duration in its two largest units: "1 d 3 h", "4 min 05 s", "12 s". */
export function formatDuration(ms: number): string {
  let seconds = Math.max(0, Math.floor(ms / 1000));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    if (count === 0 && parts.length === 0 && unit !== 's') continue;
    parts.push(
      parts.length === 0 ? `${count} ${unit}` : `${String(count).padStart(2, '0')} ${unit}`,
    );
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

/** Returns an age as text, with tenths of a second below 10 s. */
export function formatAge(ms: number): string {
  return ms < 10_000 ? `${(Math.max(0, ms) / 1000).toFixed(1)} s` : formatDuration(ms);
}

/**
 * Writes times as the browser does in its own fields, with 12 or 24 hours. The format is created once,
 * because creating it takes longer than drawing a row.
 */
const formatOf = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(undefined, options);
const TIME = formatOf({ dateStyle: 'medium', timeStyle: 'medium' });
const CLOCK = formatOf({ timeStyle: 'medium' });
const MINUTE = formatOf({ timeStyle: 'short' });
const DAY = formatOf({ day: 'numeric', month: 'short' });

export function formatTime(ms: number): string {
  return TIME.format(ms);
}

export function formatClock(ms: number): string {
  return CLOCK.format(ms);
}

/** Returns a past time as text: without the date if it is today, otherwise with the date. */
export function formatSince(ms: number): string {
  const isToday = new Date(ms).toDateString() === new Date().toDateString();
  return isToday ? formatClock(ms) : formatTime(ms);
}

/** Returns the label of a tick of a time axis. `stepMs` is the distance between two ticks. */
export function formatTick(ms: number, stepMs: number): string {
  const date = new Date(ms);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
  if (isMidnight || stepMs >= 86_400_000) {
    return DAY.format(ms);
  }
  if (stepMs < 60_000) return formatClock(ms);
  return MINUTE.format(ms);
}

const TYPED_MAX = 60;

/** Quotes the text that a person typed, or that a link had, in place of an address. */
export function quoteInput(typed: string): string {
  return `“${typed.length > TYPED_MAX ? `${typed.slice(0, TYPED_MAX)}…` : typed}”`;
}

/** Returns the address in lower case; returns undefined if the text is not an address. */
export function readAddress(typed: string): string | undefined {
  const [, digits] = /^(?:0x)?([0-9a-f]{40})$/i.exec(typed.trim()) ?? [];
  return digits === undefined ? undefined : `0x${digits.toLowerCase()}`;
}

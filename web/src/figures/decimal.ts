/**
 * Exact arithmetic on the endpoint's decimal text. A decimal is a bigint in the smallest unit, with
 * the number of decimals. Only `toShare` returns a float, for the length of a bar.
 */

export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

export const ZERO: Decimal = { units: 0n, scale: 0 };
export const WHOLE: Decimal = { units: 1n, scale: 0 };

/** The powers are computed once, because figures need them thousands of times a second. */
const POWERS_OF_TEN = Array.from({ length: 64 }, (_, exponent) => 10n ** BigInt(exponent));

function powerOfTen(exponent: number): bigint {
  return POWERS_OF_TEN[exponent] ?? 10n ** BigInt(exponent);
}

export function parseDecimal(text: string): Decimal {
  const [whole, fraction = ''] = text.split('.');
  return { units: BigInt(whole + fraction), scale: fraction.length };
}

/** Returns the value in units of a finer scale. */
function unitsAt({ units, scale }: Decimal, target: number): bigint {
  return units * powerOfTen(target - scale);
}

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { units: unitsAt(a, scale) + unitsAt(b, scale), scale };
}

function negate({ units, scale }: Decimal): Decimal {
  return { units: -units, scale };
}

export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, negate(b));
}

/** Returns the decimal text with the other sign; zero has no sign. */
export function negateText(text: string): string {
  if (text.startsWith('-')) return text.slice(1);
  return /[1-9]/.test(text) ? `-${text}` : text;
}

export function absolute(a: Decimal): Decimal {
  return a.units < 0n ? negate(a) : a;
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  return { units: a.units * b.units, scale: a.scale + b.scale };
}

export function compare(a: Decimal, b: Decimal): number {
  const { units } = subtract(a, b);
  return units < 0n ? -1 : units > 0n ? 1 : 0;
}

export function sum(texts: readonly string[]): Decimal {
  return texts.map(parseDecimal).reduce(add, ZERO);
}

/**
 * Divides and rounds to the nearest whole number, with ties away from zero, as the endpoint does.
 */
function divideHalfUp(dividend: bigint, divisor: bigint): bigint {
  const isNegative = dividend < 0n !== divisor < 0n;
  const top = dividend < 0n ? -dividend : dividend;
  const bottom = divisor < 0n ? -divisor : divisor;
  const quotient = (2n * top + bottom) / (2n * bottom);
  return isNegative ? -quotient : quotient;
}

/**
 * Returns the quotient, rounded to a number of decimals; returns undefined for a division by zero.
 */
export function divideRounded(a: Decimal, b: Decimal, scale: number): Decimal | undefined {
  if (b.units === 0n) return undefined;
  const shift = scale + b.scale - a.scale;
  const dividend = shift >= 0 ? a.units * powerOfTen(shift) : a.units;
  const divisor = shift >= 0 ? b.units : b.units * powerOfTen(-shift);
  return { units: divideHalfUp(dividend, divisor), scale };
}

export function roundTo(value: Decimal, scale: number): Decimal {
  if (value.scale <= scale) return { units: unitsAt(value, scale), scale };
  return { units: divideHalfUp(value.units, powerOfTen(value.scale - scale)), scale };
}

/** Rounds towards zero. */
function cutTo(value: Decimal, scale: number): Decimal {
  if (value.scale <= scale) return roundTo(value, scale);
  return { units: value.units / powerOfTen(value.scale - scale), scale };
}

/**
 * Returns the rounded value, or the value rounded towards zero if `judge` would judge the rounded
 * value differently from the exact value. A value below 5 is never shown as 5.
 */
export function roundAsJudged(
  value: Decimal,
  scale: number,
  judge: (shown: Decimal) => unknown,
): Decimal {
  const rounded = roundTo(value, scale);
  return judge(rounded) === judge(value) ? rounded : cutTo(value, scale);
}

/** Returns the text with exactly `scale` decimals, without grouping. */
export function formatFixed({ units, scale }: Decimal): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fraction = scale === 0 ? '' : `.${digits.slice(-scale)}`;
  return `${units < 0n ? '-' : ''}${whole}${fraction}`;
}

/** Writes a number as the endpoint does: without trailing zeros, but always with a point and a digit. */
export function formatDecimal(value: Decimal): string {
  const text = formatFixed(value.scale === 0 ? roundTo(value, 1) : value);
  return text.replace(/(\.\d+?)0+$/, '$1');
}

/** Returns a / b, clamped to the range from 0 to 1, as a float for drawing. */
export function toShare(a: Decimal, b: Decimal): number {
  const ratio = divideRounded(a, b, 6);
  if (ratio === undefined) return 0;
  return Math.min(1, Math.max(0, Number(ratio.units) / 1_000_000));
}

/**
 * The decimals of a ratio that is rounded again for display. The ratio of two amounts is never so
 * close to a tie that rounding twice gives another result than rounding once.
 */
export const RATIO_DECIMALS = 40;

/** Returns a ratio in per cent, with two decimals by default: "12.34". */
export function formatPercent(ratio: Decimal, scale = 2): string {
  return formatFixed(roundTo({ units: ratio.units, scale: ratio.scale - 2 }, scale));
}

/**
 * Exact arithmetic on whole numbers of a smallest unit, and their decimal text.
 *
 * An `Exact` is a JavaScript number if it is a safe integer, and a bigint otherwise. So one formula
 * works for amounts of any size, and an ordinary amount costs only a number operation and a range
 * check. A result that is a safe integer is always a number, so each value has one representation.
 * The name of each division says how it rounds.
 */

/** A whole number: a safe integer where possible, otherwise a bigint. */
export type Exact = number | bigint;

const SAFE_MAX = Number.MAX_SAFE_INTEGER;
const SAFE_MAX_BIG = BigInt(SAFE_MAX);

/** Powers of ten that are safe integers: 10^0 to 10^15. */
const POWERS_OF_TEN = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);
/** The same powers as bigints, because computing a power takes longer than a division. */
const BIG_POWERS_OF_TEN = POWERS_OF_TEN.map(BigInt);

export function powerOfTen(exponent: number): number {
  return POWERS_OF_TEN[exponent];
}

/** The error for text that is not a decimal, has too many decimals, or is out of range. */
export class DecimalError extends Error {
  readonly expected: string;

  constructor(expected: string) {
    super(`expected ${expected}`);
    this.name = 'DecimalError';
    this.expected = expected;
  }
}

const CODE_MINUS = 45;
const CODE_POINT = 46;
const CODE_ZERO = 48;

function isDigitCode(code: number): boolean {
  return code >= CODE_ZERO && code <= CODE_ZERO + 9;
}

/** Matches -?[0-9]+(\.[0-9]+)? */
function isDecimalText(text: string): boolean {
  let index = text.charCodeAt(0) === CODE_MINUS ? 1 : 0;
  const wholeStart = index;
  while (isDigitCode(text.charCodeAt(index))) index++;
  if (index === wholeStart) return false;
  if (index === text.length) return true;
  if (text.charCodeAt(index) !== CODE_POINT) return false;
  const fractionStart = ++index;
  while (isDigitCode(text.charCodeAt(index))) index++;
  return index === text.length && index > fractionStart;
}

function expectedDecimal(decimals: number): string {
  if (decimals === 0) return 'a whole number as text';
  return `a decimal with at most ${decimals} decimal${decimals === 1 ? '' : 's'}`;
}

/** Throws if a digit beyond `decimals` is not 0: amounts are never rounded. */
function assertNoFurtherDigits(text: string, from: number, decimals: number): void {
  for (let index = from; index < text.length; index++) {
    if (text.charCodeAt(index) !== CODE_ZERO) throw new DecimalError(expectedDecimal(decimals));
  }
}

/** Parses decimal text to a safe integer of its smallest unit (10^-decimals). */
export function parseUnits(text: string, decimals: number): number {
  if (!isDecimalText(text)) throw new DecimalError(expectedDecimal(decimals));
  const isNegative = text.charCodeAt(0) === CODE_MINUS;
  let units = 0;
  let index = isNegative ? 1 : 0;
  let missing = decimals;
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === CODE_POINT) break;
    units = units * 10 + (code - CODE_ZERO);
  }
  for (index++; index < text.length && missing > 0; index++, missing--) {
    units = units * 10 + (text.charCodeAt(index) - CODE_ZERO);
  }
  assertNoFurtherDigits(text, index, decimals);
  units *= powerOfTen(missing);
  // Above SAFE_MAX the sum may be inexact. But rounding is monotonic, so the sum stays above
  // SAFE_MAX.
  if (units > SAFE_MAX) {
    throw new DecimalError(`an amount within ±${formatUnits(SAFE_MAX, decimals)}`);
  }
  return isNegative && units !== 0 ? -units : units;
}

/**
 * The largest amount that a bigint field can have: the amount is a signed 64-bit number of its
 * smallest unit.
 */
export const BIG_UNITS_MAX = 2n ** 63n - 1n;

/**
 * The maximum number of digits before the point. Longer values are out of range in any case, and
 * the cost of BigInt() grows faster than their length.
 */
const BIG_DIGITS_MAX = 40;

/** Parses decimal text to a bigint of its smallest unit, for staking and gas amounts. */
export function parseBigUnits(text: string, decimals: number): bigint {
  if (!isDecimalText(text)) throw new DecimalError(expectedDecimal(decimals));
  const isNegative = text.charCodeAt(0) === CODE_MINUS;
  const point = text.indexOf('.');
  const wholeEnd = point === -1 ? text.length : point;
  const fractionEnd = Math.min(text.length, wholeEnd + 1 + decimals);
  assertNoFurtherDigits(text, fractionEnd, decimals);
  const whole = text.slice(isNegative ? 1 : 0, wholeEnd).replace(/^0+/, '');
  const fraction = text.slice(wholeEnd + 1, fractionEnd).padEnd(decimals, '0');
  const magnitude =
    whole.length > BIG_DIGITS_MAX ? BIG_UNITS_MAX + 1n : BigInt(`${whole}${fraction}`);
  if (magnitude > BIG_UNITS_MAX) {
    throw new DecimalError(`an amount within ±${formatUnits(BIG_UNITS_MAX, decimals)}`);
  }
  return isNegative ? -magnitude : magnitude;
}

/** "000" to "999", and the same without trailing zeros. */
const GROUP_PADDED = Array.from({ length: 1000 }, (_, value) => String(value).padStart(3, '0'));
const GROUP_TRIMMED = GROUP_PADDED.map((text) => text.replace(/0+$/, ''));

/** Returns the digits after the point without trailing zeros. Each step formats three digits. */
function formatFraction(fraction: number, decimals: number): string {
  const groupCount = Math.ceil(decimals / 3);
  let rest = fraction * powerOfTen(groupCount * 3 - decimals);
  let text = '';
  for (let group = 0; group < groupCount; group++) {
    const above = Math.floor(rest / 1000);
    const digits = rest - above * 1000;
    text = text === '' ? GROUP_TRIMMED[digits] : GROUP_PADDED[digits] + text;
    rest = above;
  }
  return text === '' ? '0' : text;
}

function formatMagnitude(units: number, decimals: number): string {
  const scale = powerOfTen(decimals);
  const whole = divideFloorNumber(units, scale);
  return `${whole}.${formatFraction(units - whole * scale, decimals)}`;
}

function formatBigMagnitude(units: bigint, decimals: number): string {
  const digits = units.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return `${digits.slice(0, digits.length - decimals)}.${fraction === '' ? '0' : fraction}`;
}

/**
 * Returns plain decimal text without trailing zeros, but with at least one digit after the point;
 * never "-0.0".
 */
export function formatUnits(units: Exact, decimals: number): string {
  if (typeof units === 'number') {
    return units < 0 ? `-${formatMagnitude(-units, decimals)}` : formatMagnitude(units, decimals);
  }
  const magnitude = formatBigMagnitude(units < 0n ? -units : units, decimals);
  return units < 0n ? `-${magnitude}` : magnitude;
}

function narrow(value: bigint): Exact {
  return value <= SAFE_MAX_BIG && value >= -SAFE_MAX_BIG ? Number(value) : value;
}

function isSafe(value: number): boolean {
  return value <= SAFE_MAX && value >= -SAFE_MAX;
}

export function add(a: Exact, b: Exact): Exact {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (isSafe(sum)) return sum;
  }
  return narrow(BigInt(a) + BigInt(b));
}

export function subtract(a: Exact, b: Exact): Exact {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b;
    if (isSafe(difference)) return difference;
  }
  return narrow(BigInt(a) - BigInt(b));
}

export function multiply(a: Exact, b: Exact): Exact {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b;
    if (isSafe(product)) return product;
  }
  return narrow(BigInt(a) * BigInt(b));
}

export function negate(value: Exact): Exact {
  return -value;
}

export function magnitude(value: Exact): Exact {
  return value < 0 ? -value : value;
}

export function maximum(a: Exact, b: Exact): Exact {
  return a >= b ? a : b;
}

/** Returns the quotient, rounded toward negative infinity. The divisor must be above 0. */
export function divideFloor(dividend: Exact, divisor: Exact): Exact {
  if (typeof dividend === 'number' && typeof divisor === 'number') {
    return divideFloorNumber(dividend, divisor);
  }
  return divideFloorBig(BigInt(dividend), BigInt(divisor));
}

/**
 * The result is exact although doubles are divided: a fractional quotient of safe integers is at
 * least 1 / divisor away from any integer, which is more than the rounding error.
 */
function divideFloorNumber(dividend: number, divisor: number): number {
  return Math.floor(dividend / divisor);
}

function divideFloorBig(dividend: bigint, divisor: bigint): Exact {
  const quotient = dividend / divisor;
  const isBelow = dividend < 0n && quotient * divisor !== dividend;
  return narrow(isBelow ? quotient - 1n : quotient);
}

/**
 * Returns the quotient as a whole number of 10^-decimals, rounded to the nearest; a tie is rounded
 * away from zero. The divisor must be above 0.
 */
export function divideHalfUp(dividend: Exact, divisor: Exact, decimals: number): Exact {
  const magnitude =
    typeof dividend === 'number' && typeof divisor === 'number'
      ? longDivideHalfUp(Math.abs(dividend), divisor, decimals)
      : undefined;
  if (magnitude !== undefined) return dividend < 0 ? -magnitude : magnitude;
  return divideHalfUpBig(BigInt(dividend), BigInt(divisor), decimals);
}

/**
 * Long division, several digits per step. Returns undefined if an intermediate result would be
 * beyond the safe integers. It is several times faster than a division of bigints, and an answer
 * needs two divisions for each position.
 */
export function longDivideHalfUp(
  dividend: number,
  divisor: number,
  decimals: number,
): number | undefined {
  let quotient = divideFloorNumber(dividend, divisor);
  let remainder = dividend - quotient * divisor;
  let stepMax = decimals;
  while (stepMax > 0 && divisor * powerOfTen(stepMax) > SAFE_MAX) stepMax--;
  let missing = decimals;
  while (missing > 0) {
    const step = Math.min(missing, stepMax);
    if (step === 0) return undefined;
    remainder *= powerOfTen(step);
    const digits = divideFloorNumber(remainder, divisor);
    remainder -= digits * divisor;
    quotient = quotient * powerOfTen(step) + digits;
    if (quotient >= SAFE_MAX) return undefined;
    missing -= step;
  }
  return remainder >= divisor - remainder ? quotient + 1 : quotient;
}

function divideHalfUpBig(dividend: bigint, divisor: bigint, decimals: number): Exact {
  const scaled = (dividend < 0n ? -dividend : dividend) * BIG_POWERS_OF_TEN[decimals];
  const magnitude = (2n * scaled + divisor) / (2n * divisor);
  return narrow(dividend < 0n ? -magnitude : magnitude);
}

/** Returns the greatest common divisor of two whole numbers, with which fractions are reduced. */
export function greatestCommonDivisor(a: Exact, b: Exact): Exact {
  let larger = BigInt(a);
  let smaller = BigInt(b);
  while (smaller !== 0n) [larger, smaller] = [smaller, larger % smaller];
  return narrow(larger < 0n ? -larger : larger);
}

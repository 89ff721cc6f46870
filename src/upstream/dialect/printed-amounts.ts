/**
 * Reads amounts as the exchange prints them: each amount is rounded to the nearest double, and
 * printed with at most ten decimals. Above half a million, the text can show digits that the amount
 * does not have: 8272576.572935 is printed "8272576.5729350001". Such a text is read as the
 * original amount if the difference is within the rounding error of a double and its text.
 */

import { add, DecimalError, type Exact, formatUnits, parseUnits } from '../../exact/decimal.ts';

const PRINTED_DECIMALS = 10;
/** A value and its nearest double differ by at most the value divided by this number. */
const DOUBLE_ERROR_DIVISOR = 2n ** 53n;
/** Matches an optional sign, digits, and at most ten decimals; further zeros are ignored. */
const PRINTED = /^(-?)(\d{1,64})(?:\.(?=\d)(\d{0,10}?)0*)?$/;

/**
 * Returns the decimal in units of 10^-10; returns undefined if the text is not a decimal, or if it
 * has more than ten decimals.
 */
function parsePrinted(text: string): bigint | undefined {
  const [, sign, whole, fraction = ''] = PRINTED.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const printed = BigInt(whole + fraction.padEnd(PRINTED_DECIMALS, '0'));
  return sign === '-' ? -printed : printed;
}

/**
 * Returns whether the exact amount may have been printed as this text. Both are in units of 10^-10.
 */
function isPrintedAs(exact: bigint, printed: bigint): boolean {
  const difference = magnitudeOf(exact - printed);
  // The difference may be half of the last printed digit plus half of the double's last place.
  const allowedTwice = DOUBLE_ERROR_DIVISOR + 2n * magnitudeOf(printed);
  return 2n * difference * DOUBLE_ERROR_DIVISOR <= allowedTwice;
}

function magnitudeOf(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/**
 * Returns the amount that was printed, in units of 10^-decimals. Throws a DecimalError if the text
 * is not this amount, and cannot be the rounding of this amount to a double.
 */
export function readPrinted(text: string, decimals: number): Exact {
  const printed = parsePrinted(text);
  // `parseUnits` throws an error with the reason.
  if (printed === undefined) return parseUnits(text, decimals);
  const scale = 10n ** BigInt(PRINTED_DECIMALS - decimals);
  const units = nearestQuotient(printed, scale);
  return isPrintedAs(units * scale, printed) ? add(units, 0) : parseUnits(text, decimals);
}

/**
 * The divisor must be above 0. A quotient halfway between two whole numbers is never within the
 * rounding error, so its direction of rounding does not matter.
 */
function nearestQuotient(dividend: bigint, divisor: bigint): bigint {
  const doubled = 2n * magnitudeOf(dividend) + divisor;
  const quotient = doubled / (2n * divisor);
  return dividend < 0n ? -quotient : quotient;
}

/** Does the same as `readPrinted`, for an amount that a ledger can store: a safe integer. */
export function readStoredAmount(text: string, decimals: number): number {
  const units = readPrinted(text, decimals);
  if (typeof units === 'number') return units;
  const limit = formatUnits(Number.MAX_SAFE_INTEGER, decimals);
  throw new DecimalError(`an amount within ±${limit}`);
}

/**
 * Returns whether the upstream printed our exact amount. Both are decimals as text, of any size.
 */
export function isSameAmount(ours: string, theirs: string): boolean {
  if (ours === theirs) return true;
  const [exact, printed] = [parsePrinted(ours), parsePrinted(theirs)];
  return exact !== undefined && printed !== undefined && isPrintedAs(exact, printed);
}

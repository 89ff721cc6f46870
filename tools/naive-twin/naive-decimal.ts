/**
 * Reads and writes amounts as docs/reference/events.md describes them, with a pattern and bigint.
 */

import { halfUp, type Rational, rational, times } from './rational.ts';

const GRAMMAR = /^(?<minus>-?)(?<whole>[0-9]+)(?:\.(?<fraction>[0-9]+))?$/;

/** Returns the amount in units of 10^-decimals; returns undefined if the text is not an amount. */
export function readDecimal(text: string, decimals: number): bigint | undefined {
  const groups = GRAMMAR.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const fraction = (groups['fraction'] ?? '').replace(/0+$/, '');
  if (fraction.length > decimals) return undefined;
  const magnitude = BigInt(groups['whole'] + fraction.padEnd(decimals, '0'));
  return groups['minus'] === '-' ? -magnitude : magnitude;
}

export function writeDecimal(units: bigint, decimals: number): string {
  const sign = units < 0n ? '-' : '';
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const fraction = digits.slice(point).replace(/0+$/, '');
  return `${sign}${digits.slice(0, point)}.${fraction === '' ? '0' : fraction}`;
}

/**
 * Returns a fraction as text, rounded half up. The text is exact if the fraction has no more
 * decimals.
 */
export function writeRational(value: Rational, decimals: number): string {
  return writeDecimal(halfUp(times(value, rational(10n ** BigInt(decimals)))), decimals);
}

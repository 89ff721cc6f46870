/** Fractions of bigints that are never reduced. This is slow, but the code is very simple. */

export interface Rational {
  readonly numerator: bigint;
  /** Always above 0. */
  readonly denominator: bigint;
}

export function rational(numerator: bigint | number, denominator: bigint | number = 1n): Rational {
  const below = BigInt(denominator);
  const sign = below < 0n ? -1n : 1n;
  return { numerator: BigInt(numerator) * sign, denominator: below * sign };
}

export const ZERO = rational(0n);
export const ONE = rational(1n);

export function plus(a: Rational, b: Rational): Rational {
  const numerator = a.numerator * b.denominator + b.numerator * a.denominator;
  return { numerator, denominator: a.denominator * b.denominator };
}

export function minus(a: Rational, b: Rational): Rational {
  return plus(a, negated(b));
}

export function times(a: Rational, b: Rational): Rational {
  return { numerator: a.numerator * b.numerator, denominator: a.denominator * b.denominator };
}

export function dividedBy(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.denominator, a.denominator * b.numerator);
}

export function negated(value: Rational): Rational {
  return { numerator: -value.numerator, denominator: value.denominator };
}

export function absolute(value: Rational): Rational {
  return value.numerator < 0n ? negated(value) : value;
}

export function isLess(a: Rational, b: Rational): boolean {
  return a.numerator * b.denominator < b.numerator * a.denominator;
}

export function isEqual(a: Rational, b: Rational): boolean {
  return a.numerator * b.denominator === b.numerator * a.denominator;
}

export function larger(a: Rational, b: Rational): Rational {
  return isLess(a, b) ? b : a;
}

export function sum(values: readonly Rational[]): Rational {
  return values.reduce(plus, ZERO);
}

/** Returns the largest whole number that is not above the value. */
export function floor({ numerator, denominator }: Rational): bigint {
  const remainder = ((numerator % denominator) + denominator) % denominator;
  return (numerator - remainder) / denominator;
}

/** Returns the nearest whole number; a value in the middle is rounded away from zero. */
export function halfUp(value: Rational): bigint {
  const magnitude = floor(plus(absolute(value), rational(1n, 2n)));
  return value.numerator < 0n ? -magnitude : magnitude;
}

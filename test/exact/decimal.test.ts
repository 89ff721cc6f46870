/** Exact arithmetic beside a naive twin in rationals, on random amounts of any size. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  add,
  divideFloor,
  divideHalfUp,
  type Exact,
  formatUnits,
  greatestCommonDivisor,
  magnitude,
  maximum,
  multiply,
  negate,
  parseBigUnits,
  parseUnits,
  subtract,
} from '../../src/exact/decimal.ts';
import { runs, SEED_NOTE } from '../../tools/harness/seed.ts';
import { SAFE_MAX, STAKE_MAX } from '../../tools/naive-twin/naive-block.ts';
import { readDecimal, writeDecimal } from '../../tools/naive-twin/naive-decimal.ts';
import { floor, halfUp, rational } from '../../tools/naive-twin/rational.ts';
import { ALSO_FULL, scale } from '../scale.ts';

const RUNS = scale(10_000, 50_000);

/** Text, decimals of the field, and the units it stands for; undefined where it is refused. */
const EXAMPLES: [text: string, decimals: number, units: number | undefined][] = [
  ['0.0', 6, 0],
  ['-0.0', 6, 0],
  ['-3.0', 6, -3_000_000],
  ['12.5', 6, 12_500_000],
  ['12.5', 1, 125],
  ['5', 0, 5],
  ['5.0', 0, 5],
  ['5.000000000000000000', 0, 5],
  ['5.1', 0, undefined],
  ['007.50', 2, 750],
  ['0.000001', 6, 1],
  ['0.0000010', 6, 1],
  ['0.0000001', 6, undefined],
  ['0.0000011', 6, undefined],
  ['1e5', 6, undefined],
  ['+1', 6, undefined],
  [' 1', 6, undefined],
  ['1 ', 6, undefined],
  ['', 6, undefined],
  ['-', 6, undefined],
  ['.', 6, undefined],
  ['1.', 6, undefined],
  ['.5', 6, undefined],
  ['1.2.3', 6, undefined],
  ['--1', 6, undefined],
  ['0x10', 6, undefined],
  ['1_000', 6, undefined],
  ['1,5', 6, undefined],
  ['١', 6, undefined],
  ['NaN', 6, undefined],
  ['9007199254.740991', 6, Number.MAX_SAFE_INTEGER],
  ['-9007199254.740991', 6, Number.MIN_SAFE_INTEGER],
  ['9007199254.740992', 6, undefined],
  ['-9007199254.740992', 6, undefined],
  ['9007199254740991', 0, Number.MAX_SAFE_INTEGER],
  ['9007199254740993', 0, undefined],
  ['9'.repeat(400), 0, undefined],
];

for (const [text, decimals, units] of EXAMPLES) {
  const shown = text.length > 30 ? `${text.slice(0, 30)}…` : text;
  const expected = units === undefined ? 'refused' : `${units} units`;
  test(`"${shown}" with ${decimals} decimals is ${expected}`, () => {
    if (units === undefined)
      assert.throws(() => parseUnits(text, decimals), { name: 'DecimalError' });
    else assert.ok(Object.is(parseUnits(text, decimals), units));
  });
}

test('an amount of staking or gas holds a signed 64-bit number of units and no more', () => {
  assert.equal(parseBigUnits('92233720368.54775807', 8), STAKE_MAX);
  assert.equal(parseBigUnits('-92233720368.54775807', 8), -STAKE_MAX);
  assert.equal(parseBigUnits(`${'0'.repeat(60)}1.5`, 8), 150_000_000n);
  for (const text of ['92233720368.54775808', '-92233720368.54775808', '9'.repeat(60)]) {
    assert.throws(() => parseBigUnits(text, 8), { name: 'DecimalError' });
  }
});

test('an amount that is refused is told what was expected', () => {
  const refused: [text: string, decimals: number, expected: string][] = [
    ['x', 0, 'a whole number as text'],
    ['1.25', 1, 'a decimal with at most 1 decimal'],
    ['1.x', 6, 'a decimal with at most 6 decimals'],
    ['9007199254740992', 0, 'an amount within ±9007199254740991.0'],
  ];
  for (const [text, decimals, expected] of refused) {
    const error = { name: 'DecimalError', message: `expected ${expected}`, expected };
    assert.throws(() => parseUnits(text, decimals), error);
  }
  assert.throws(() => parseBigUnits('92233720368.54775808', 8), {
    message: 'expected an amount within ±92233720368.54775807',
  });
});

test('text out has a point and a digit, no trailing zeros, no exponent and no negative zero', () => {
  const texts: [units: Exact, decimals: number, text: string][] = [
    [0, 6, '0.0'],
    [-0, 6, '0.0'],
    [0n, 6, '0.0'],
    [-3_000_000, 6, '-3.0'],
    [12_500_000, 6, '12.5'],
    [5, 0, '5.0'],
    [1, 10, '0.0000000001'],
    [-1, 8, '-0.00000001'],
    [Number.MAX_SAFE_INTEGER, 6, '9007199254.740991'],
    [10n ** 40n, 10, `1${'0'.repeat(30)}.0`],
  ];
  for (const [units, decimals, text] of texts) assert.equal(formatUnits(units, decimals), text);
});

/** Whole numbers of every magnitude, often within a few units of a power of two or ten. */
function wholeUpTo(bits: number): fc.Arbitrary<bigint> {
  const anywhere = fc
    .tuple(fc.bigInt(-(2n ** BigInt(bits)), 2n ** BigInt(bits)), fc.nat(bits))
    .map(([value, shift]) => value >> BigInt(shift));
  const powers = fc.oneof(
    fc.nat(bits).map((exponent) => 2n ** BigInt(exponent)),
    fc.nat(Math.floor(bits * 0.3)).map((exponent) => 10n ** BigInt(exponent)),
    fc.constant(2n ** 53n),
  );
  const nearPower = fc
    .tuple(powers, fc.integer({ min: -3, max: 3 }), fc.constantFrom(1n, -1n))
    .map(([power, offset, sign]) => sign * (power + BigInt(offset)));
  return fc.oneof(anywhere, nearPower);
}

function clampToSafe(value: bigint): bigint {
  return value > SAFE_MAX ? SAFE_MAX : value < -SAFE_MAX ? -SAFE_MAX : value;
}

const anyWhole = wholeUpTo(150);
const safeWhole = wholeUpTo(53).map(clampToSafe);
/** Mostly safe numbers: the fast paths have the traps. */
const operand = fc.oneof({ weight: 4, arbitrary: safeWhole }, { weight: 1, arbitrary: anyWhole });
const divisor = operand.map((value) => (value < 0n ? -value : value) || 1n);
const decimals = fc.integer({ min: 0, max: 10 });

/** The representation of a whole number that src/exact/decimal.ts promises. */
function exact(value: bigint): Exact {
  return clampToSafe(value) === value ? Number(value) : value;
}

function assertExact(actual: Exact, expected: bigint): void {
  // Adding 0 makes a negative zero, which counts as zero, equal to it.
  assert.strictEqual(typeof actual === 'number' ? actual + 0 : actual, exact(expected));
}

test(`sums, differences and products are exact at any size ${SEED_NOTE}`, ALSO_FULL, () => {
  fc.assert(
    fc.property(operand, operand, (a, b) => {
      assertExact(add(exact(a), exact(b)), a + b);
      assertExact(subtract(exact(a), exact(b)), a - b);
      assertExact(multiply(exact(a), exact(b)), a * b);
    }),
    runs(RUNS),
  );
});

test('a magnitude has no sign, and a maximum is one of the two', () => {
  for (const value of [1, 1.5e15, 2n ** 70n]) {
    assert.equal(magnitude(value), value);
    assert.equal(magnitude(-value), value);
    assert.equal(negate(value), -value);
    assert.equal(maximum(value, -1), value);
    assert.equal(maximum(-1, value), value);
  }
});

test('the greatest common divisor is above zero, whatever the sign', () => {
  assert.deepEqual(
    [greatestCommonDivisor(-6, 4), greatestCommonDivisor(6, 4), greatestCommonDivisor(0, 7)],
    [2, 2, 7],
  );
});

/** The x with 10 * x = value, modulo an odd number that is no multiple of 5. */
function tenthOf(value: bigint, modulus: bigint): bigint {
  let found = value;
  while (found % 10n !== 0n) found += modulus;
  return found / 10n;
}

test('beside a tie the quotient of the largest numbers is exact too', () => {
  for (let divisor = SAFE_MAX; divisor > SAFE_MAX - 2000n; divisor -= 2n) {
    if (divisor % 5n === 0n) continue;
    for (const rest of [divisor / 2n, divisor / 2n + 1n]) {
      const dividend = tenthOf(rest, divisor);
      const expected = halfUp(rational(10n * dividend, divisor));
      const quotient = divideHalfUp(Number(dividend), Number(divisor), 1);
      assert.equal(BigInt(quotient), expected, `${dividend} / ${divisor}`);
    }
  }
  assert.equal(divideHalfUp(5_404_319_552_844_595, 6, 1), 2n ** 53n);
});

test(`quotients round as their names say ${SEED_NOTE}`, ALSO_FULL, () => {
  fc.assert(
    fc.property(operand, divisor, decimals, (a, b, places) => {
      assertExact(divideFloor(exact(a), exact(b)), floor(rational(a, b)));
      const scaled = rational(a * 10n ** BigInt(places), b);
      assertExact(divideHalfUp(exact(a), exact(b), places), halfUp(scaled));
    }),
    runs(RUNS),
  );
});

/** A dividend at, just below or just above (whole + 1/2) * 10^-places of an even divisor. */
const nearTie = fc
  .record({
    half: fc.oneof(fc.bigInt(1n, 2n ** 30n), fc.bigInt(1n, 2n ** 52n)),
    wholes: fc.oneof(fc.bigInt(0n, 1000n), fc.bigInt(0n, 2n ** 40n)),
    places: decimals,
    offset: fc.constantFrom(-1n, 0n, 1n),
    sign: fc.constantFrom(1n, -1n),
  })
  .map(({ half, wholes, places, offset, sign }) => {
    const scale = 10n ** BigInt(places);
    const below = 2n * half * scale;
    return { dividend: sign * ((2n * wholes + 1n) * half + offset), divisor: below, places };
  });

test(
  `ties round away from zero, and their neighbours to the nearest ${SEED_NOTE}`,
  ALSO_FULL,
  () => {
    fc.assert(
      fc.property(nearTie, ({ dividend, divisor, places }) => {
        const scaled = rational(dividend * 10n ** BigInt(places), divisor);
        assertExact(divideHalfUp(exact(dividend), exact(divisor), places), halfUp(scaled));
        assertExact(
          divideFloor(exact(dividend), exact(divisor)),
          floor(rational(dividend, divisor)),
        );
      }),
      runs(RUNS),
    );
  },
);

test(`the quotient of a multiple and of its neighbours is exact ${SEED_NOTE}`, ALSO_FULL, () => {
  const offset = fc.integer({ min: -2, max: 2 });
  fc.assert(
    fc.property(safeWhole, divisor, offset, (quotient, below, distance) => {
      const dividend = quotient * below + BigInt(distance);
      assertExact(divideFloor(exact(dividend), exact(below)), floor(rational(dividend, below)));
    }),
    runs(RUNS),
  );
});

test(
  `the greatest common divisor divides both, and leaves nothing in common ${SEED_NOTE}`,
  ALSO_FULL,
  () => {
    fc.assert(
      fc.property(divisor, divisor, divisor, (a, b, common) => {
        const [left, right] = [a * common, b * common];
        const found = BigInt(greatestCommonDivisor(exact(left), exact(right)));
        assert.ok(
          found > 0n && left % found === 0n && right % found === 0n && found % common === 0n,
        );
        assert.equal(greatestCommonDivisor(exact(left / found), exact(right / found)), 1);
      }),
      runs(RUNS / 4),
    );
  },
);

test(
  `an amount reads back from its own text, as number and as bigint ${SEED_NOTE}`,
  ALSO_FULL,
  () => {
    fc.assert(
      fc.property(anyWhole, safeWhole, decimals, (large, safe, places) => {
        assert.equal(formatUnits(large, places), writeDecimal(large, places));
        const text = formatUnits(Number(safe), places);
        assert.equal(text, writeDecimal(safe, places));
        assert.equal(parseUnits(text, places), Number(safe));
        assert.equal(parseBigUnits(text, places), safe);
      }),
      runs(RUNS),
    );
  },
);

/** What a parser makes of a text: its units, or undefined where it refuses. */
function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    assert.equal((error as Error).name, 'DecimalError');
    return undefined;
  }
}

function within(units: bigint | undefined, limit: bigint): bigint | undefined {
  return units === undefined || units > limit || units < -limit ? undefined : units;
}

function assertParsesLikeTwin(text: string, places: number): void {
  const units = readDecimal(text, places);
  const safe = within(units, SAFE_MAX);
  const parsed = attempt(() => parseUnits(text, places));
  assert.equal(parsed, safe === undefined ? undefined : Number(safe), text);
  assert.equal(
    attempt(() => parseBigUnits(text, places)),
    within(units, STAKE_MAX),
    text,
  );
}

test(`what is and is not an amount follows the grammar ${SEED_NOTE}`, ALSO_FULL, () => {
  const character = fc.constantFrom(...'0011223456789..--+eE _x٣\n');
  const almostAmount = fc.string({ unit: character, maxLength: 8 });
  fc.assert(
    fc.property(fc.oneof(almostAmount, fc.string()), decimals, assertParsesLikeTwin),
    runs(RUNS),
  );
});

test(
  `amounts with zeros before and behind, of any size, parse exactly ${SEED_NOTE}`,
  ALSO_FULL,
  () => {
    const zeros = fc.nat(12).map((count) => '0'.repeat(count));
    const nearLimit = fc
      .tuple(fc.constantFrom(SAFE_MAX, STAKE_MAX), fc.bigInt(-20n, 20n), fc.constantFrom(1n, -1n))
      .map(([limit, offset, sign]) => sign * (limit + offset));
    const units = fc.oneof(anyWhole, safeWhole, nearLimit);
    fc.assert(
      fc.property(
        zeros,
        units,
        zeros,
        decimals,
        fc.nat(3),
        (before, value, behind, places, extra) => {
          const text = writeDecimal(value, places + extra);
          const padded = `${text.replace(/^(-?)/, `$1${before}`)}${behind}`;
          assertParsesLikeTwin(padded, places);
        },
      ),
      runs(RUNS),
    );
  },
);

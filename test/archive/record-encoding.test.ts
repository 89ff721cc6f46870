import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PackedReader, PackedWriter } from '../../src/archive/records/record-encoding.ts';
import { add, type Exact } from '../../src/exact/decimal.ts';
import { Random } from '../../src/simulator/random.ts';
import { SEED } from '../../tools/harness/seed.ts';

const KEY = 'key';
const CHECKSUM_BYTES = 4;

/** Seven bits a byte, the lowest first, all but the last with the highest bit. */
function packNaively(value: bigint): number[] {
  const digits = [Number(value % 128n)];
  for (let rest = value / 128n; rest > 0n; rest /= 128n) {
    digits[digits.length - 1] |= 128;
    digits.push(Number(rest % 128n));
  }
  return digits;
}

/** Numbers around every power of two up to 2^53, and random ones of every length. */
function drawWholes(): number[] {
  const random = new Random(`packed-${SEED}`);
  const wholes = [0, 1, Number.MAX_SAFE_INTEGER];
  for (let exponent = 1; exponent <= 52; exponent++) {
    const power = 2 ** exponent;
    wholes.push(power - 1, power, power + 1, power + random.below(power));
  }
  return wholes.filter(Number.isSafeInteger);
}

test(`numbers take seven bits a byte, and are read back (PERPTEST_SEED=${SEED})`, () => {
  const wholes = drawWholes();
  const out = new PackedWriter();
  for (const whole of wholes) out.whole(whole);
  const record = out.finish(KEY);
  const expected = wholes.flatMap((whole) => packNaively(BigInt(whole)));
  assert.deepEqual([...record.subarray(CHECKSUM_BYTES)], expected);
  const reader = new PackedReader(record, KEY, 'a record');
  for (const whole of wholes) assert.equal(reader.whole(), whole);
  assert.ok(reader.isAtEnd);
});

test('amounts of either sign and of any size are read back', () => {
  const amounts: Exact[] = drawWholes().flatMap((whole) => [
    whole,
    whole === 0 ? 0 : -whole,
    add(BigInt(whole) * 2n ** 20n, 0),
    add(BigInt(whole) * -(2n ** 64n) - 1n, 0),
  ]);
  const out = new PackedWriter();
  for (const amount of amounts) out.signed(amount);
  const reader = new PackedReader(out.finish(KEY), KEY, 'a record');
  for (const amount of amounts) assert.equal(reader.signed(), amount);
  assert.ok(reader.isAtEnd);
});

test('a record is continued where it ended, with bytes and with what another one holds', () => {
  const first = new PackedWriter();
  first.whole(300);
  const other = new PackedWriter();
  other.byte(7);
  const long = Buffer.alloc(1000, 9);
  const out = new PackedWriter(first.finish(KEY));
  out.bytes(long);
  out.append(other);
  const record = out.finish(KEY);
  const expected = [...packNaively(300n), ...long, 7];
  assert.deepEqual([...record.subarray(CHECKSUM_BYTES)], expected);
  assert.equal(record.length, out.length);
});

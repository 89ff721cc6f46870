/** Amounts written as bytes, compared with their text. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseAddress } from '../../src/exact/address.ts';
import { formatUnits } from '../../src/exact/decimal.ts';
import { AnswerWriter, fixedText } from '../../src/info/answer-writer.ts';
import { runs, SEED_NOTE } from '../seed.ts';

const SAFE_MAX = Number.MAX_SAFE_INTEGER;

function written(write: (out: AnswerWriter) => void): string {
  const out = new AnswerWriter();
  out.reserve(1000);
  write(out);
  return out.toString();
}

/** Around every power of ten, where the number of digits changes. */
const EDGES = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent).flatMap((power) => [
  power - 1,
  power,
  power + 1,
]);
const amount = fc.oneof(
  fc.maxSafeInteger(),
  fc.constantFrom(0, SAFE_MAX, -SAFE_MAX, ...EDGES, ...EDGES.map((edge) => -edge)),
  fc.tuple(fc.maxSafeInteger(), fc.nat(15)).map(([value, digits]) => {
    return Math.trunc(value / 10 ** digits);
  }),
);

test(`amounts are written as they are formatted ${SEED_NOTE}`, () => {
  fc.assert(
    fc.property(amount, fc.integer({ min: 0, max: 10 }), (units, decimals) => {
      assert.equal(
        written((out) => out.units(units, decimals)),
        formatUnits(units, decimals),
      );
    }),
    runs(20_000),
  );
});

test('amounts beyond the safe integers are written as well', () => {
  for (const units of [2n ** 53n, -(2n ** 80n), 10n ** 30n]) {
    assert.equal(
      written((out) => out.units(units, 6)),
      formatUnits(units, 6),
    );
  }
});

test(`whole numbers, alone and with decimals of their own ${SEED_NOTE}`, () => {
  const fraction = fc.integer({ min: 0, max: 9_999_999_999 });
  fc.assert(
    fc.property(amount, fraction, (value, decimals) => {
      const whole = Math.abs(value);
      assert.equal(
        written((out) => out.whole(whole)),
        String(whole),
      );
      const digits = String(decimals)
        .padStart(10, '0')
        .replace(/0{1,9}$/, '');
      assert.equal(
        written((out) => out.parts(whole, decimals, 10)),
        `${whole}.${digits}`,
      );
    }),
    runs(20_000),
  );
});

test(`addresses are written as they are formatted ${SEED_NOTE}`, () => {
  const digits = fc.array(fc.constantFrom(...'0123456789abcdef'), { minLength: 40, maxLength: 40 });
  fc.assert(
    fc.property(digits, (drawn) => {
      const text = `0x${drawn.join('')}`;
      const address = parseAddress(text) ?? assert.fail(text);
      assert.equal(
        written((out) => out.address(address)),
        text,
      );
    }),
    runs(2000),
  );
});

test('pieces follow one another without a gap, whatever their length', () => {
  const texts = Array.from({ length: 100 }, (_, length) =>
    'abcdefghij'.repeat(10).slice(0, length),
  );
  const out = new AnswerWriter(16);
  for (const text of texts) {
    out.reserve(2 * text.length);
    out.fixed(fixedText(text));
    out.text(text);
  }
  assert.equal(out.toString(), texts.map((text) => text + text).join(''));
});

test('a head is put right before a body, and leaves it as it is', () => {
  for (let length = 8; length < 40; length++) {
    const head = new AnswerWriter();
    head.text('h'.repeat(length));
    const out = new AnswerWriter(200);
    out.moveTo(100);
    out.text('body');
    const start = out.putBefore(100, head);
    assert.equal(out.textFrom(start, out.length), `${'h'.repeat(length)}body`);
  }
});

test('what is written can be read, moved and changed in place, and left to its reader', () => {
  const out = new AnswerWriter();
  out.long('head');
  out.bytes(Buffer.from('body'));
  assert.equal(out.bytesFrom(4).toString(), 'body');
  assert.equal(out.bytesBetween(2, 6).toString(), 'adbo');
  assert.equal(out.textFrom(0, 4), 'head');
  out.shift(4, 6);
  out.setByte(4, 45);
  out.setByte(5, 45);
  assert.equal(out.toString(), 'head--body');
  const read = out.bytesFrom(0);
  out.leaveBuffer();
  out.long('anew');
  assert.deepEqual([read.toString(), out.toString()], ['head--body', 'anew']);
});

test('a buffer is kept for the next answer, unless it has grown beyond 4 MiB', () => {
  const out = new AnswerWriter();
  const memory = () => out.bytesFrom(0).buffer.byteLength;
  for (const [length, isKept] of [
    [2 ** 20, true],
    [2 ** 22, false],
  ] as const) {
    out.long('x'.repeat(length));
    const grown = memory();
    out.clear();
    assert.equal(out.length, 0);
    assert.equal(memory() === grown, isKept);
    if (!isKept) assert.equal(memory(), 2 ** 16);
  }
});

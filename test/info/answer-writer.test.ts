/** Amounts written as bytes, compared with their text. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseAddress } from '../../src/exact/address.ts';
import { formatUnits } from '../../src/exact/decimal.ts';
import { AnswerWriter, fixedText } from '../../src/info/writing/answer-writer.ts';
import { runs, SEED_NOTE } from '../../tools/harness/seed.ts';

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

test(`amounts beside a whole one are written as they are formatted ${SEED_NOTE}`, () => {
  const whole = fc.oneof(
    fc.nat(999_999_999),
    fc.nat(29).map((exponent) => 2 ** exponent),
  );
  const decimals = fc.integer({ min: 0, max: 10 });
  fc.assert(
    fc.property(whole, decimals, fc.constantFrom(-1, 0, 1), (whole, decimals, beside) => {
      const units = Math.min(SAFE_MAX - 1, whole * 10 ** decimals) + beside;
      assert.equal(
        written((out) => out.units(units, decimals)),
        formatUnits(units, decimals),
      );
    }),
    runs(20_000),
  );
});

test('amounts beyond the safe integers are written as well', () => {
  assert.equal(
    written((out) => out.parts(2n ** 60n, 5, 10)),
    '1152921504606846976.0000000005',
  );
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
    const text = 'abcdefghij'.repeat(4).slice(0, length);
    head.text(text);
    const out = new AnswerWriter(200);
    out.moveTo(100);
    out.text('body');
    const start = out.putBefore(100, head);
    assert.equal(out.textFrom(start, out.length), `${text}body`);
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
  out.moveTo(1);
  out.text('EA');
  out.moveTo(10);
  assert.equal(out.toString(), 'hEAd--body');
  const read = out.bytesFrom(0);
  out.detachBuffer();
  out.long('anew');
  assert.deepEqual([read.toString(), out.toString()], ['hEAd--body', 'anew']);
});

/** The memory that a writer writes into. */
function memoryOf(out: AnswerWriter): ArrayBufferLike {
  return out.bytesFrom(0).buffer;
}

test('a buffer is kept for the next answer, unless it has more than 4 MiB', () => {
  for (const [bytes, isKept] of [
    [2 ** 22 - 24, true],
    [2 ** 22 - 23, false],
  ] as const) {
    const out = new AnswerWriter(bytes);
    out.text('x'.repeat(bytes));
    const memory = memoryOf(out);
    out.clear();
    assert.equal(out.length, 0);
    assert.equal(memoryOf(out) === memory, isKept);
    assert.equal(memoryOf(out).byteLength, isKept ? 2 ** 22 : 2 ** 16);
  }
});

test('a writer has the room that it was made with, and doubles what it needs beyond it', () => {
  const out = new AnswerWriter(9);
  const memory = memoryOf(out);
  out.reserve(9);
  out.fixed(fixedText('123456789'));
  assert.equal(memoryOf(out), memory);
  out.bytes(Buffer.from('0'));
  assert.equal(memoryOf(out).byteLength, 2 * (9 + 1 + 24));
  out.bytes(Buffer.alloc(50, 'x'));
  assert.equal(out.toString(), `1234567890${'x'.repeat(50)}`);
  out.detachBuffer();
  assert.deepEqual([out.length, memoryOf(out).byteLength], [0, 9 + 24]);
});

test('a writer has 64 KiB at first, and three words of eight bytes beyond', () => {
  assert.equal(memoryOf(new AnswerWriter()).byteLength, 2 ** 16 + 24);
  for (const [length, words] of [
    [0, 3],
    [24, 3],
    [25, 4],
    [33, 5],
  ]) {
    const fixed = fixedText('x'.repeat(length));
    assert.deepEqual([fixed.length, fixed.words.length], [length, words]);
  }
});

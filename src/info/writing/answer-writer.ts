/**
 * Writes an answer's text into one reused buffer. An answer consists of about a hundred short
 * pieces, most of them amounts. Joining strings would allocate each piece, and take longer than
 * computing the figures.
 *
 * Fixed pieces are written in steps of eight bytes, at least 24 bytes. Digits are written in steps
 * of three, from tables. The last step may write bytes beyond the end of a piece; the next piece
 * overwrites these bytes. Only ASCII is written: coins, dexes and amounts are ASCII, and other text
 * is escaped first.
 *
 * `units` and `address` duplicate `formatUnits` (decimal.ts) and `formatAddress` (address.ts) for
 * speed; test/info/answer-writer.test.ts compares them.
 */

import type { Address } from '../../exact/address.ts';
import { type Exact, formatUnits } from '../../exact/decimal.ts';

const BYTES_INITIAL = 1 << 16;
/**
 * A buffer that has become larger than this number of bytes is released when the writer is cleared.
 */
const BYTES_KEPT_MAX = 1 << 22;
const WORD_BYTES = 8;
/**
 * The number of words that are written without a loop. Most fixed texts have this number of words
 * or fewer.
 */
const WORDS_MIN = 3;
/** The number of bytes that a piece may write beyond its end. */
const EXCESS_ROOM = WORDS_MIN * WORD_BYTES;
/** Texts up to this length are written faster in a loop than by a native call. */
const LOOPED_MAX = 64;

const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const THOUSAND = 1000;
const MILLION = 1_000_000;
const BILLION = 1_000_000_000;

const POWERS_OF_TEN = Float64Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);
/**
 * Multiplication by an inverse is several times faster than division. Callers add half a unit to
 * the dividend. Below QUOTIENT_EXACT_BELOW, both rounding errors together are less than this half
 * unit, so the whole part of the quotient is exact.
 */
const INVERSES = POWERS_OF_TEN.map((power) => 1 / power);
const QUOTIENT_EXACT_BELOW = 1e15;
/**
 * The limit for each number of decimals. Below this limit, the quotient is exact and has at most
 * nine digits.
 */
const QUICK_BELOW = POWERS_OF_TEN.map((power) => Math.min(QUOTIENT_EXACT_BELOW, power * BILLION));

/** A constant piece of text, as at least WORDS_MIN words of eight bytes. */
export interface FixedText {
  readonly length: number;
  /**
   * The bytes of the text as doubles. A copy might change the bits of a NaN, but bytes of ASCII are
   * never a NaN.
   */
  readonly words: Float64Array;
}

export function fixedText(text: string): FixedText {
  const words = Math.max(WORDS_MIN, Math.ceil(text.length / WORD_BYTES));
  const bytes = new Uint8Array(words * WORD_BYTES);
  bytes.set(Buffer.from(text, 'latin1'));
  return { length: text.length, words: new Float64Array(bytes.buffer) };
}

/** Texts of up to four bytes as 32-bit numbers, little-endian. */
function wordsOf(texts: readonly string[]): Uint32Array {
  return Uint32Array.from(texts, (text) => Buffer.from(text.padEnd(4, '0')).readUInt32LE());
}

/** Texts of two bytes as 16-bit numbers, little-endian. */
function pairsOf(texts: readonly string[]): Uint16Array {
  return Uint16Array.from(texts, (text) => Buffer.from(text).readUInt16LE());
}

const [HEX_PREFIX] = pairsOf(['0x']);
/** "00" to "ff" */
const HEX_PAIRS = pairsOf(
  Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0')),
);

const GROUPS = Array.from({ length: THOUSAND }, (_, value) => String(value));
const PADDED_GROUPS = GROUPS.map((text) => text.padStart(3, '0'));
/** LEADING has "0" to "999", and PADDED has "000" to "999". */
const LEADING = wordsOf(GROUPS);
const PADDED = wordsOf(PADDED_GROUPS);
/** The number of digits of a group without leading zeros, and without trailing zeros. */
const LEADING_LENGTH = Uint8Array.from(GROUPS, (text) => text.length);
const TRIMMED_LENGTH = Uint8Array.from(PADDED_GROUPS, (text) => text.replace(/0+$/, '').length);

export class AnswerWriter {
  #buffer: Buffer<ArrayBuffer>;
  #view: DataView;
  #length = 0;
  readonly #bytesInitial: number;

  constructor(bytes = BYTES_INITIAL) {
    this.#bytesInitial = bytes;
    this.#buffer = Buffer.allocUnsafeSlow(bytes + EXCESS_ROOM);
    this.#view = new DataView(this.#buffer.buffer);
  }

  get length(): number {
    return this.#length;
  }

  clear(): void {
    this.#length = 0;
    if (this.#buffer.length > BYTES_KEPT_MAX) this.#use(Buffer.allocUnsafeSlow(BYTES_INITIAL));
  }

  toString(): string {
    return this.#buffer.toString('latin1', 0, this.#length);
  }

  /** Makes room for this many bytes; writing more than was reserved is an error. */
  reserve(bytes: number): void {
    const needed = this.#length + bytes + EXCESS_ROOM;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * needed);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#use(larger);
  }

  #use(buffer: Buffer<ArrayBuffer>): void {
    this.#buffer = buffer;
    this.#view = new DataView(buffer.buffer);
  }

  fixed({ length, words }: FixedText): void {
    const view = this.#view;
    const start = this.#length;
    this.#length = start + length;
    view.setFloat64(start, words[0], true);
    view.setFloat64(start + WORD_BYTES, words[1], true);
    view.setFloat64(start + 2 * WORD_BYTES, words[2], true);
    for (let index = WORDS_MIN; index < words.length; index++) {
      view.setFloat64(start + index * WORD_BYTES, words[index], true);
    }
  }

  text(text: string): void {
    if (text.length > LOOPED_MAX) this.#buffer.write(text, this.#length, 'latin1');
    else putText(this.#view, this.#length, text);
    this.#length += text.length;
  }

  /** Writes a text of any length. No bytes need be reserved for it. */
  long(text: string): void {
    this.reserve(text.length);
    this.text(text);
  }

  /** Writes a safe integer of 0 or more. */
  whole(value: number): void {
    this.#length = putWhole(this.#view, this.#length, value);
  }

  /** Writes an amount as `formatUnits` formats it. */
  units(units: Exact, decimals: number): void {
    if (typeof units === 'number') this.#units(units, decimals);
    else this.text(formatUnits(units, decimals));
  }

  #units(units: number, decimals: number): void {
    const magnitude = Math.abs(units);
    if (magnitude >= QUICK_BELOW[decimals]) {
      this.text(formatUnits(units, decimals));
      return;
    }
    const view = this.#view;
    let end = this.#length;
    if (units < 0) view.setUint8(end++, MINUS);
    const whole = ((magnitude + 0.5) * INVERSES[decimals]) | 0;
    end = whole < THOUSAND ? putLeading(view, end, whole) : putThousands(view, end, whole);
    view.setUint8(end++, POINT);
    const fraction = magnitude - whole * POWERS_OF_TEN[decimals];
    this.#length = putFraction(view, end, fraction, decimals);
  }

  /** Continues writing at this offset. */
  moveTo(place: number): void {
    this.#length = place;
  }

  textFrom(start: number, end: number): string {
    return this.#buffer.toString('latin1', start, end);
  }

  /** The bytes from this offset on. They are valid until more is written. */
  bytesFrom(start: number): Buffer {
    return this.#buffer.subarray(start, this.#length);
  }

  bytesBetween(start: number, end: number): Buffer {
    return this.#buffer.subarray(start, end);
  }

  /** Writes bytes of any length. No bytes need be reserved for them. */
  bytes(bytes: Buffer): void {
    this.reserve(bytes.length);
    bytes.copy(this.#buffer, this.#length);
    this.#length += bytes.length;
  }

  /** Moves the bytes from `start` on to the offset `to`. */
  shift(start: number, to: number): void {
    this.#buffer.copyWithin(to, start, this.#length);
    this.#length += to - start;
  }

  /** Overwrites one byte. */
  setByte(place: number, value: number): void {
    this.#view.setUint8(place, value);
  }

  /** Replaces the buffer, because other code still reads the old buffer. */
  detachBuffer(): void {
    this.#use(Buffer.allocUnsafeSlow(this.#bytesInitial + EXCESS_ROOM));
    this.#length = 0;
  }

  /**
   * Copies another writer's contents so that they end at `place`; returns the offset at which they
   * start.
   */
  putBefore(place: number, other: AnswerWriter): number {
    const start = place - other.#length;
    const last = other.#length - WORD_BYTES;
    for (let offset = 0; offset < last; offset += WORD_BYTES) {
      this.#view.setFloat64(start + offset, other.#view.getFloat64(offset, true), true);
    }
    this.#view.setFloat64(start + last, other.#view.getFloat64(last, true), true);
    return start;
  }

  /** Writes an address as `formatAddress` formats it. */
  address({ word0, word1, word2, word3 }: Address): void {
    const view = this.#view;
    let end = this.#length;
    view.setUint16(end, HEX_PREFIX, true);
    end = putHexWord(view, end + 2, word0);
    end = putHexWord(view, end, word1);
    end = putHexWord(view, end, word2);
    this.#length = putHexWord(view, end, word3);
  }

  /**
   * Writes a decimal that is given in two parts: the whole number, and the fraction in units of
   * 10^-decimals.
   */
  parts(whole: Exact, fraction: number, decimals: number): void {
    if (typeof whole === 'number') this.whole(whole);
    else this.text(whole.toString());
    this.#view.setUint8(this.#length++, POINT);
    this.#length = putFraction(this.#view, this.#length, fraction, decimals);
  }
}

const collected = new AnswerWriter();

/** Returns the text that the function writes. */
export function writtenText(write: (out: AnswerWriter) => void): string {
  collected.clear();
  write(collected);
  return collected.toString();
}

function putText(view: DataView, start: number, text: string): void {
  for (let index = 0; index < text.length; index++) {
    view.setUint8(start + index, text.charCodeAt(index));
  }
}

// Each of these functions writes at `start`, and returns the offset after the last byte.

/** Writes the ten hexadecimal digits of a word, the highest digit first. */
function putHexWord(view: DataView, start: number, word: number): number {
  const high = Math.floor(word / 2 ** 32);
  const low = word | 0;
  view.setUint16(start, HEX_PAIRS[high], true);
  view.setUint16(start + 2, HEX_PAIRS[low >>> 24], true);
  view.setUint16(start + 4, HEX_PAIRS[(low >>> 16) & 0xff], true);
  view.setUint16(start + 6, HEX_PAIRS[(low >>> 8) & 0xff], true);
  view.setUint16(start + 8, HEX_PAIRS[low & 0xff], true);
  return start + 10;
}

function putWhole(view: DataView, start: number, value: number): number {
  if (value < THOUSAND) return putLeading(view, start, value);
  if (value < BILLION) return putThousands(view, start, value | 0);
  const above = Math.floor(value / BILLION);
  const end = putWhole(view, start, above);
  return putNineDigits(view, end, (value - above * BILLION) | 0);
}

/** Writes a number from a thousand to below a billion. */
function putThousands(view: DataView, start: number, value: number): number {
  const above = (value / THOUSAND) | 0;
  const end = above < THOUSAND ? putLeading(view, start, above) : putMillions(view, start, above);
  view.setUint32(end, PADDED[value - above * THOUSAND], true);
  return end + 3;
}

function putMillions(view: DataView, start: number, thousands: number): number {
  const above = (thousands / THOUSAND) | 0;
  const end = putLeading(view, start, above);
  view.setUint32(end, PADDED[thousands - above * THOUSAND], true);
  return end + 3;
}

function putLeading(view: DataView, start: number, group: number): number {
  view.setUint32(start, LEADING[group], true);
  return start + LEADING_LENGTH[group];
}

function putNineDigits(view: DataView, start: number, value: number): number {
  const millions = (value / MILLION) | 0;
  view.setUint32(start, PADDED[millions], true);
  return putSixDigits(view, start + 3, value - millions * MILLION);
}

function putSixDigits(view: DataView, start: number, value: number): number {
  const thousands = (value / THOUSAND) | 0;
  view.setUint32(start, PADDED[thousands], true);
  view.setUint32(start + 3, PADDED[value - thousands * THOUSAND], true);
  return start + 6;
}

/** Writes the decimals without trailing zeros; writes "0" if all of them are zeros. */
function putFraction(view: DataView, start: number, fraction: number, decimals: number): number {
  if (fraction === 0) {
    view.setUint8(start, ZERO);
    return start + 1;
  }
  const further = decimals - 6;
  if (further <= 0) return putSixDecimals(view, start, (fraction * POWERS_OF_TEN[-further]) | 0);
  const six = ((fraction + 0.5) * INVERSES[further]) | 0;
  const rest = fraction - six * POWERS_OF_TEN[further];
  if (rest === 0) return putSixDecimals(view, start, six);
  return putFraction(view, putSixDigits(view, start, six), rest, further);
}

/** Writes six decimals, not all of them zero, without trailing zeros. */
function putSixDecimals(view: DataView, start: number, value: number): number {
  const thousands = (value / THOUSAND) | 0;
  const rest = value - thousands * THOUSAND;
  view.setUint32(start, PADDED[thousands], true);
  if (rest === 0) return start + TRIMMED_LENGTH[thousands];
  view.setUint32(start + 3, PADDED[rest], true);
  return start + 3 + TRIMMED_LENGTH[rest];
}

/**
 * Nearly every block changes marks and times, so they are stored in spans of 256 heights. The span
 * and the place of a height are computed from the height, so that no search is needed.
 */

import { allocateRecord, checkRecord, DamagedRecord, seal } from './record-encoding.ts';

export const SPAN_HEIGHTS = 256;

export function spanOf(height: number): number {
  return Math.floor(height / SPAN_HEIGHTS);
}

export function placeInSpan(height: number): number {
  return height % SPAN_HEIGHTS;
}

const TIME_BYTES = 8;

/** Packs the times of a span's blocks. The time of a height that is not in the archive is NaN. */
export function packTimes(times: Float64Array, span: number): Buffer {
  const { record, start } = allocateRecord(times.length * TIME_BYTES);
  for (const [place, time] of times.entries())
    record.writeDoubleLE(time, start + place * TIME_BYTES);
  return seal(record, span);
}

export function unpackTimes(record: Buffer, span: number): Float64Array {
  const start = checkRecord(record, span, `the record of times of span ${span}`);
  if (record.length !== start + SPAN_HEIGHTS * TIME_BYTES) {
    throw new DamagedRecord(`the record of times of span ${span} is damaged: its length is wrong`);
  }
  const times = new Float64Array(SPAN_HEIGHTS);
  // In memory, doubles are little-endian, as in the record.
  new Uint8Array(times.buffer).set(record.subarray(start, record.length));
  return times;
}

const STRIDE = 16;

/** Returns the last place whose time is not later than `time`; returns -1 if there is none. */
export function lastPlace(times: Float64Array, time: number): number {
  let place = times.length - 1;
  // Times never decrease, so STRIDE places can be skipped at once. The time of a place without a
  // block is NaN, which is neither earlier nor later than any time.
  while (place >= STRIDE && times[place - STRIDE] > time) place -= STRIDE;
  while (place >= 0 && !(times[place] <= time)) place--;
  return place;
}

/**
 * A market's marks in a span: the mark before the span, and each change with its place.
 *
 * The record contains: the width of a difference in bytes (u8), the number of changes (u16), the
 * first mark (f64), the places (u8 each), and the marks as differences from the first mark (2 or 4
 * bytes each). If a difference takes more than 4 bytes, the marks themselves follow (f64 each).
 */
export class MarkSpan {
  readonly first: number;
  readonly #places: number[] = [];
  readonly #marks: number[] = [];

  constructor(first: number) {
    this.first = first;
  }

  get last(): number {
    return this.#marks.at(-1) ?? this.first;
  }

  add(place: number, mark: number): void {
    this.#places.push(place);
    this.#marks.push(mark);
  }

  pack(key: Buffer): Buffer {
    const count = this.#marks.length;
    const differences = this.#marks.map((mark) => mark - this.first);
    const width = widthOf(differences);
    const { record, start } = allocateRecord(HEAD_BYTES + count * (1 + width));
    record.writeUInt8(width, start);
    record.writeUInt16LE(count, start + 1);
    record.writeDoubleLE(this.first, start + 3);
    const places = start + HEAD_BYTES;
    for (let index = 0; index < count; index++) {
      record.writeUInt8(this.#places[index], places + index);
      const offset = places + count + index * width;
      if (width === WIDE) record.writeDoubleLE(this.#marks[index], offset);
      else record.writeIntLE(differences[index], offset, width);
    }
    return seal(record, key);
  }

  static unpack(record: Buffer, key: Buffer, what: string): MarkSpan {
    const start = checkRecord(record, key, what);
    const { first, count, places, marks, width } = readSpanHead(record, start, what);
    const span = new MarkSpan(first);
    for (let index = 0; index < count; index++) {
      span.add(record[places + index], readMark(record, marks + index * width, width, first));
    }
    return span;
  }
}

/** Returns a market's mark after the block at each place of a span. */
export function unpackMarks(record: Buffer, key: Buffer, what: string): Float64Array {
  const start = checkRecord(record, key, what);
  const { first, count, places, marks, width } = readSpanHead(record, start, what);
  const all = new Float64Array(SPAN_HEIGHTS);
  let mark = first;
  let place = 0;
  for (let index = 0; index < count; index++) {
    for (const next = record[places + index]; place < next; place++) all[place] = mark;
    mark = readMark(record, marks + index * width, width, first);
  }
  return all.fill(mark, place);
}

/** Returns a market's mark after the block at one place of a span. */
export function unpackMark(record: Buffer, key: Buffer, what: string, place: number): number {
  const start = checkRecord(record, key, what);
  const { first, count, places, marks, width } = readSpanHead(record, start, what);
  let changes = 0;
  while (changes < count && record[places + changes] <= place) changes++;
  if (changes === 0) return first;
  return readMark(record, marks + (changes - 1) * width, width, first);
}

const HEAD_BYTES = 11;
/**
 * The width, in bytes, if a difference takes more than four bytes: the marks themselves are stored.
 */
const WIDE = 8;

function widthOf(differences: readonly number[]): number {
  const largest = differences.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
  if (largest < 2 ** 15) return 2;
  return largest < 2 ** 31 ? 4 : WIDE;
}

function readSpanHead(record: Buffer, start: number, what: string) {
  const width = record.readUInt8(start);
  const count = record.readUInt16LE(start + 1);
  if (record.length !== start + HEAD_BYTES + count * (1 + width)) {
    throw new DamagedRecord(`${what} is damaged: its length is wrong`);
  }
  const places = start + HEAD_BYTES;
  return { first: record.readDoubleLE(start + 3), count, places, marks: places + count, width };
}

function readMark(record: Buffer, offset: number, width: number, first: number): number {
  if (width === WIDE) return record.readDoubleLE(offset);
  return first + record.readIntLE(offset, width);
}

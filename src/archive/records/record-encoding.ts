/**
 * The encoding of the archive's records. Whole numbers are LEB128 varints. A record begins with a
 * checksum over its key and its contents, so that a record under a wrong key is detected too.
 */

import { crc32 } from 'node:zlib';
import { add, type Exact, negate } from '../../exact/decimal.ts';

export type RecordKey = Buffer | string | number;

const CHECKSUM_BYTES = 4;
const INITIAL_BYTES = 256;
/**
 * The maximum number of bytes of a number that is read without bigint. Each byte contains seven
 * bits of the number.
 */
const PLAIN_BYTES_MAX = 7;
const PLAIN_MAX = 2 ** 51;
/**
 * A number that takes more than four bytes has two parts: the first four bytes, for which shifts
 * are fast, and the rest.
 */
const SHIFTED_BYTES = 4;
const SHIFTED_MAX = 2 ** (7 * SHIFTED_BYTES);

/** The error for a record whose bytes were changed, or whose contents cannot be correct. */
export class DamagedRecord extends Error {
  override readonly name = 'DamagedRecord';
}

/** Writes one record. */
export class PackedWriter {
  #bytes: Buffer;
  #length: number;

  /** Continues a record, or starts an empty record. */
  constructor(record?: Buffer) {
    this.#length = record?.length ?? CHECKSUM_BYTES;
    this.#bytes = Buffer.allocUnsafe(Math.max(INITIAL_BYTES, this.#length * 2));
    record?.copy(this.#bytes);
  }

  /** The record's length, checksum included. */
  get length(): number {
    return this.#length;
  }

  byte(value: number): void {
    if (this.#length === this.#bytes.length) this.#grow();
    this.#bytes[this.#length++] = value;
  }

  /** Writes a whole number of 0 or more. */
  whole(value: number): void {
    let rest = value;
    if (value >= SHIFTED_MAX) {
      rest = Math.floor(value / SHIFTED_MAX);
      let low = value - rest * SHIFTED_MAX;
      for (let count = 0; count < SHIFTED_BYTES; count++, low >>>= 7) this.byte((low & 127) | 128);
    }
    for (; rest >= 128; rest >>>= 7) this.byte((rest & 127) | 128);
    this.byte(rest);
  }

  /**
   * Writes a number of either sign. The number is zigzag-encoded, so that small numbers are short.
   */
  signed(value: Exact): void {
    if (typeof value === 'number' && value < PLAIN_MAX && value > -PLAIN_MAX) {
      this.whole(value < 0 ? -2 * value - 1 : 2 * value);
    } else {
      this.#bigSigned(BigInt(value));
    }
  }

  #bigSigned(value: bigint): void {
    let rest = value < 0n ? -2n * value - 1n : 2n * value;
    for (; rest >= 128n; rest >>= 7n) this.byte(Number(rest & 127n) | 128);
    this.byte(Number(rest));
  }

  bytes(bytes: Buffer): void {
    while (this.#length + bytes.length > this.#bytes.length) this.#grow();
    this.#length += bytes.copy(this.#bytes, this.#length);
  }

  /** Appends the contents of another writer. */
  append(other: PackedWriter): void {
    const { length } = other;
    while (this.#length + length > this.#bytes.length) this.#grow();
    // Changes are short: a loop is faster than a call of `copy`.
    for (let place = CHECKSUM_BYTES; place < length; place++) {
      this.#bytes[this.#length++] = other.#bytes[place];
    }
  }

  /** Starts again with an empty record. */
  clear(): void {
    this.#length = CHECKSUM_BYTES;
  }

  #grow(): void {
    const larger = Buffer.allocUnsafe(this.#bytes.length * 2);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  /** Returns a copy of the record. The writer may continue to write afterwards. */
  finish(key: RecordKey): Buffer {
    return seal(Buffer.from(this.#bytes.subarray(0, this.#length)), key);
  }
}

/**
 * Allocates a record with room for this number of bytes. The caller fills the record from `start`
 * on, and then seals it.
 */
export function allocateRecord(bytes: number): { record: Buffer; start: number } {
  return { record: Buffer.alloc(CHECKSUM_BYTES + bytes), start: CHECKSUM_BYTES };
}

/** Writes the checksum at the start of the record. */
export function seal(record: Buffer, key: RecordKey): Buffer {
  record.writeUInt32LE(checksumOf(record, key));
  return record;
}

function checksumOf(record: Buffer, key: RecordKey): number {
  const ofKey = crc32(Buffer.isBuffer(key) ? key : String(key));
  // The end is given, because a record that the driver lends is in a larger buffer.
  return crc32(record.subarray(CHECKSUM_BYTES, record.length), ofKey);
}

/**
 * Throws a DamagedRecord if the checksum is wrong; returns the offset at which the contents start.
 */
export function checkRecord(record: Buffer, key: RecordKey, what: string): number {
  const isWhole =
    record.length >= CHECKSUM_BYTES && record.readUInt32LE() === checksumOf(record, key);
  if (!isWhole) throw new DamagedRecord(`${what} is damaged: its checksum is wrong`);
  return CHECKSUM_BYTES;
}

/** Packs a value that is rarely written and read, as JSON. */
export function packJson(value: object, key: RecordKey): Buffer {
  const text = Buffer.from(JSON.stringify(value));
  const { record, start } = allocateRecord(text.length);
  text.copy(record, start);
  return seal(record, key);
}

export function unpackJson(record: Buffer, key: RecordKey, what: string): unknown {
  const start = checkRecord(record, key, what);
  return JSON.parse(record.toString('utf8', start));
}

/** Reads one record, after checking it. */
export class PackedReader {
  readonly #bytes: Buffer;
  #offset: number;

  constructor(record: Buffer, key: RecordKey, what: string) {
    this.#bytes = record;
    this.#offset = checkRecord(record, key, what);
  }

  get offset(): number {
    return this.#offset;
  }

  get isAtEnd(): boolean {
    return this.#offset >= this.#bytes.length;
  }

  byte(): number {
    return this.#bytes[this.#offset++];
  }

  whole(): number {
    let value = 0;
    for (let shift = 0; shift < 7 * SHIFTED_BYTES; shift += 7) {
      const byte = this.byte();
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    for (let scale = SHIFTED_MAX; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  signed(): Exact {
    const start = this.#offset;
    const packed = this.whole();
    if (this.#offset - start > PLAIN_BYTES_MAX) {
      this.#offset = start;
      return this.#bigSigned();
    }
    const half = Math.floor(packed / 2);
    return packed === 2 * half ? half : -half - 1;
  }

  #bigSigned(): Exact {
    let packed = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.byte();
      packed |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    // `add` returns a number if the magnitude is a safe integer.
    const magnitude = add((packed + (packed & 1n)) / 2n, 0);
    return packed % 2n === 0n ? magnitude : negate(magnitude);
  }
}

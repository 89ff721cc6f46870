/**
 * Writes WebSocket frames one after the other into a reused buffer. The frames can be sent without
 * a change, because the frames of a server are not masked.
 */

import { constants, deflateRawSync } from 'node:zlib';
import { AnswerWriter } from '../../../info/writing/answer-writer.ts';

const FINAL_TEXT = 0x81;
/** The bit of a compressed message (RFC 7692). */
const COMPRESSED = 0x40;
/** Payloads below this length are not compressed. */
const COMPRESSED_BYTES_MIN = 1024;
/** The size of the compression window, 4 KiB. Widely used clients do not offer a larger window. */
export const WINDOW_BITS = 12;
const DEFLATE_OPTIONS = {
  level: constants.Z_BEST_SPEED,
  finishFlush: constants.Z_SYNC_FLUSH,
  windowBits: WINDOW_BITS,
};
/** The length of the end of every compressed message. The end is not sent. */
const FLUSH_BYTES = 4;
const FINAL_PING = 0x89;
/** If the length byte has one of these values, the length follows in 2 bytes or in 8 bytes. */
const LENGTH_IN_2 = 126;
const LENGTH_IN_8 = 127;
/**
 * Nearly every frame has a header of this length, so this number of bytes is reserved before the
 * payload.
 */
const USUAL_HEADER_BYTES = 4;
const HEADER_BYTES_MAX = 10;
/**
 * The initial size of the buffer. If a client is slow to read, its connection keeps a buffer of
 * this size.
 */
const BYTES_INITIAL = 40 << 10;

export class FrameWriter {
  /** The writer of the payload of the current frame. */
  readonly out = new AnswerWriter(BYTES_INITIAL);
  #start = 0;
  #count = 0;
  /** True if the socket still reads the buffer. `clear` must then use a new buffer. */
  #isReplacedOnClear = false;

  /** The number of bytes of all frames in the buffer. */
  get length(): number {
    return this.out.length;
  }

  /** The number of text frames in the buffer. */
  get count(): number {
    return this.#count;
  }

  clear(): void {
    if (this.#isReplacedOnClear) this.out.detachBuffer();
    else this.out.clear();
    this.#isReplacedOnClear = false;
    this.#count = 0;
  }

  begin(): void {
    this.#start = this.out.length;
    this.out.reserve(HEADER_BYTES_MAX);
    this.out.moveTo(this.#start + USUAL_HEADER_BYTES);
  }

  /** Ends the frame, and writes its header, because the length is now known. */
  end(): void {
    const { out } = this;
    const payload = this.#start + USUAL_HEADER_BYTES;
    const length = out.length - payload;
    const headerBytes = headerBytesOf(length);
    if (headerBytes !== USUAL_HEADER_BYTES) {
      out.reserve(HEADER_BYTES_MAX);
      out.shift(payload, this.#start + headerBytes);
    }
    this.#putHeader(length, headerBytes);
    this.#count++;
  }

  /** Compresses the last complete frame, unless it is too short. */
  compressLast(): void {
    const { out } = this;
    const frame = out.bytesFrom(this.#start);
    const payload = frame.subarray(headerBytesOfFrame(frame));
    if (payload.length < COMPRESSED_BYTES_MIN) return;
    const deflated = deflateRawSync(payload, DEFLATE_OPTIONS).subarray(0, -FLUSH_BYTES);
    const headerBytes = headerBytesOf(deflated.length);
    out.moveTo(this.#start + headerBytes);
    out.bytes(deflated);
    this.#putHeader(deflated.length, headerBytes, FINAL_TEXT | COMPRESSED);
  }

  #putHeader(length: number, headerBytes: number, firstByte = FINAL_TEXT): void {
    const { out } = this;
    const start = this.#start;
    out.setByte(start, firstByte);
    if (headerBytes === 2) {
      out.setByte(start + 1, length);
      return;
    }
    out.setByte(start + 1, headerBytes === USUAL_HEADER_BYTES ? LENGTH_IN_2 : LENGTH_IN_8);
    let rest = length;
    for (let place = start + headerBytes - 1; place > start + 1; place--) {
      out.setByte(place, rest % 256);
      rest = Math.floor(rest / 256);
    }
  }

  /** Writes a complete ping frame. The payload must be short. */
  ping(payload: Buffer): void {
    const { out } = this;
    out.reserve(HEADER_BYTES_MAX);
    out.setByte(out.length, FINAL_PING);
    out.setByte(out.length + 1, payload.length);
    out.moveTo(out.length + 2);
    out.bytes(payload);
  }

  /** Discards the current frame. */
  drop(): void {
    this.out.moveTo(this.#start);
  }

  /** Appends a copy of a complete frame. */
  repeat(frame: Buffer): void {
    this.#start = this.out.length;
    this.out.bytes(frame);
    this.#count++;
  }

  /** Returns the last complete frame. The bytes are valid until the next frame is written. */
  last(): Buffer {
    return this.out.bytesFrom(this.#start);
  }

  /**
   * Returns the frames between two positions. The bytes are valid until more is written, unless
   * `replaceOnClear` is called.
   */
  bytesBetween(start: number, end: number): Buffer {
    return this.out.bytesBetween(start, end);
  }

  /** Makes `clear` use a new buffer, because the socket still reads the current buffer. */
  replaceOnClear(): void {
    this.#isReplacedOnClear = true;
  }
}

function headerBytesOfFrame(frame: Buffer): number {
  if (frame[1] === LENGTH_IN_2) return USUAL_HEADER_BYTES;
  return frame[1] === LENGTH_IN_8 ? HEADER_BYTES_MAX : 2;
}

function headerBytesOf(length: number): number {
  if (length < LENGTH_IN_2) return 2;
  return length < 2 ** 16 ? USUAL_HEADER_BYTES : HEADER_BYTES_MAX;
}

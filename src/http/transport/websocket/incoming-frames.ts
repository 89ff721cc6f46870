/**
 * Limits on partial messages and control frames of a push connection. `ws` limits the bytes and the
 * fragments of a message, but neither its duration nor the control frames between its fragments, so
 * the frame headers are parsed here as well.
 *
 *   byte 0:  FIN 0x80, opcode 0x0f (from 8 on: a control frame)
 *   byte 1:  MASK 0x80, length 0x7f (126: it is in the next 2 bytes, 127: in the next 8)
 *   then the mask, 4 bytes where MASK is set, and the payload
 */

import type { Readable } from 'node:stream';

const FIN = 0x80;
const CONTROL = 0x08;
const MASK = 0x80;
const LENGTH = 0x7f;
const MASK_BYTES = 4;
/** The longest header apart from the mask. */
const HEADER_BYTES_MAX = 10;

/** Maximum burst of control frames. Pongs that answer our pings do not count. */
const CONTROL_FRAMES_MAX = 100;
/** How fast the allowance of control frames is refilled. */
const CONTROL_FRAMES_PER_MS = 10 / 1000;

function headerBytes(secondByte: number): number {
  const length = secondByte & LENGTH;
  return length === 126 ? 4 : length === 127 ? HEADER_BYTES_MAX : 2;
}

export class IncomingFrames {
  readonly #stream: Readable;
  /** The header that is being read, and how much of it has arrived. */
  readonly #header = Buffer.alloc(HEADER_BYTES_MAX);
  #headerLength = 0;
  /** Number of bytes of the current frame that are still missing after its header. */
  #restBytes = 0;
  #isInMessage = false;
  #controlFrames = CONTROL_FRAMES_MAX;
  #controlledMs = performance.now();
  /** When the current partial message or frame began, if any. */
  #partialSinceMs: number | undefined;

  /** Listens to the frames of the client. `stream` must start with the first frame. */
  constructor(stream: Readable) {
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
  }

  #read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#restBytes > 0) {
        const taken = Math.min(this.#restBytes, chunk.length - at);
        this.#restBytes -= taken;
        at += taken;
      } else {
        this.#header[this.#headerLength++] = chunk[at++];
        this.#readHeader();
      }
      if (!this.#isPartial) this.#partialSinceMs = undefined;
    }
    if (this.#isPartial) this.#partialSinceMs ??= performance.now();
  }

  /** How long the current message has been incomplete. */
  partialMs(nowMs: number): number {
    if (this.#partialSinceMs === undefined) return 0;
    // The time in which ws does not read, because of backpressure, does not count.
    if (this.#stream.isPaused()) this.#partialSinceMs = nowMs;
    return nowMs - this.#partialSinceMs;
  }

  /** Counts a control frame; false if the client is over the limit. */
  admitControlFrame(): boolean {
    const nowMs = performance.now();
    const regained = (nowMs - this.#controlledMs) * CONTROL_FRAMES_PER_MS;
    this.#controlFrames = Math.min(CONTROL_FRAMES_MAX, this.#controlFrames + regained) - 1;
    this.#controlledMs = nowMs;
    return this.#controlFrames >= 0;
  }

  get #isPartial(): boolean {
    return this.#isInMessage || this.#restBytes > 0 || this.#headerLength > 0;
  }

  #readHeader(): void {
    const [first, second] = this.#header;
    if (this.#headerLength < 2 || this.#headerLength < headerBytes(second)) return;
    this.#headerLength = 0;
    this.#restBytes = this.#payloadBytes(second) + ((second & MASK) === 0 ? 0 : MASK_BYTES);
    if ((first & CONTROL) === 0) this.#isInMessage = (first & FIN) === 0;
  }

  #payloadBytes(second: number): number {
    const length = second & LENGTH;
    if (length === 126) return this.#header.readUInt16BE(2);
    return length === 127 ? Number(this.#header.readBigUInt64BE(2)) : length;
  }
}

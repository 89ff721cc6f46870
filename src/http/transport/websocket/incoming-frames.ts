/**
 * Limits the partial messages and control frames of a push connection. `ws` limits the bytes and
 * the fragments of a message, but not its duration, and not the control frames between its
 * fragments. So this file parses the frame headers as well.
 *
 * A read brings up to thousands of short messages. `ws` parses all bytes that it has received, even
 * after it was paused or the connection was closed. So `ws` gets only a few messages at a time, and
 * no messages while the client has to wait.
 *
 *   byte 0:  FIN 0x80, opcode 0x0f (from 8 on: a control frame)
 *   byte 1:  MASK 0x80, length 0x7f (126: the length is in the next 2 bytes, 127: in the next 8)
 *   then the mask (4 bytes, only if MASK is set), and the payload
 */

import type { Readable } from 'node:stream';
import type { WebSocket } from 'ws';

const FIN = 0x80;
const CONTROL = 0x08;
const MASK = 0x80;
const LENGTH = 0x7f;
const MASK_BYTES = 4;
/** The length of the longest header, without the mask. */
const HEADER_BYTES_MAX = 10;

/** Maximum number of control frames in a burst. Pongs that answer our pings do not count. */
const CONTROL_FRAMES_MAX = 100;
/** Maximum number of messages that were passed to `ws` and that `ws` has not passed on yet. */
const MESSAGES_AHEAD_MAX = 16;
/** The number of control frames by which the allowance grows in a millisecond. */
const CONTROL_FRAMES_PER_MS = 10 / 1000;

function headerBytes(secondByte: number): number {
  const length = secondByte & LENGTH;
  return length === 126 ? 4 : length === 127 ? HEADER_BYTES_MAX : 2;
}

export class IncomingFrames {
  readonly #stream: Readable;
  readonly #socket: Pick<WebSocket, 'pause' | 'resume'>;
  /** The functions of `ws` that listened to the bytes. They get the bytes from this class. */
  readonly #readers: readonly ((bytes: Buffer) => void)[];
  /** The bytes that were read but not passed to `ws` yet. */
  #rest: Buffer | undefined;
  #messagesAhead = 0;
  #isHeld = false;
  #isPaused = false;
  /** The header that is being read, and the number of its bytes that have arrived. */
  readonly #header = Buffer.alloc(HEADER_BYTES_MAX);
  #headerLength = 0;
  /** The number of bytes of the current frame that are still missing after its header. */
  #restBytes = 0;
  #isInMessage = false;
  /** True if the current frame, or the frame before the current header, ends a message. */
  #isFinalFrame = false;
  #controlFrames = CONTROL_FRAMES_MAX;
  #controlledMs = performance.now();
  /**
   * The time at which the current partial message or frame started; undefined if nothing is
   * partial.
   */
  #partialSinceMs: number | undefined;

  /**
   * Takes the place of `ws` as the listener of the stream. `ws` must already listen to the stream.
   * `stream` must start with the first frame.
   */
  constructor(stream: Readable, socket: Pick<WebSocket, 'pause' | 'resume'>) {
    this.#stream = stream;
    this.#socket = socket;
    this.#readers = stream.listeners('data') as ((bytes: Buffer) => void)[];
    stream.removeAllListeners('data');
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.prependListener('close', () => this.#dropUnread());
  }

  /** Called with each message that `ws` passes on. */
  noteMessage(): void {
    this.#messagesAhead--;
    this.#handOn();
  }

  /** Passes no further frames to `ws` until `release` is called. */
  hold(): void {
    this.#isHeld = true;
    this.#updatePause();
  }

  release(): void {
    this.#isHeld = false;
    this.#handOn();
  }

  #take(chunk: Buffer): void {
    if (this.#stream.destroyed) return;
    this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#handOn();
  }

  #handOn(): void {
    const bytes = this.#rest;
    if (bytes !== undefined && !this.#stream.destroyed) {
      const end = this.#read(bytes);
      this.#rest = end < bytes.length ? bytes.subarray(end) : undefined;
      const part = end < bytes.length ? bytes.subarray(0, end) : bytes;
      if (end > 0) for (const reader of this.#readers) reader.call(this.#stream, part);
    }
    this.#updatePause();
  }

  #updatePause(): void {
    const isPaused = this.#isHeld || this.#rest !== undefined;
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Drops the unread bytes, because `ws` would parse them when the connection is closed. */
  #dropUnread(): void {
    if (this.#isPaused) this.#stream.read();
    this.#rest = undefined;
  }

  get #mayRead(): boolean {
    return !this.#isHeld && this.#messagesAhead < MESSAGES_AHEAD_MAX;
  }

  /** Reads the frames in `chunk`, and returns the number of bytes that may be passed to `ws`. */
  #read(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length && this.#mayRead) {
      if (this.#restBytes > 0) {
        const taken = Math.min(this.#restBytes, chunk.length - at);
        this.#restBytes -= taken;
        at += taken;
      } else {
        this.#header[this.#headerLength++] = chunk[at++];
        this.#readHeader();
      }
      if (!this.#isPartial) this.#partialSinceMs = undefined;
      if (this.#isMessageOver) this.#messagesAhead++;
    }
    if (this.#isPartial) this.#partialSinceMs ??= performance.now();
    return at;
  }

  /** True if the last byte that was read was the last byte of a message. */
  get #isMessageOver(): boolean {
    return this.#isFinalFrame && this.#headerLength === 0 && this.#restBytes === 0;
  }

  /** Returns how long the current message has been incomplete. */
  partialMs(nowMs: number): number {
    if (this.#partialSinceMs === undefined) return 0;
    // The time does not count while `ws` does not read because of backpressure.
    if (this.#stream.isPaused()) this.#partialSinceMs = nowMs;
    return nowMs - this.#partialSinceMs;
  }

  /** Counts a control frame. Returns false if the client is over the limit. */
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
    const isControl = (first & CONTROL) !== 0;
    if (!isControl) this.#isInMessage = (first & FIN) === 0;
    this.#isFinalFrame = !isControl && !this.#isInMessage;
  }

  #payloadBytes(second: number): number {
    const length = second & LENGTH;
    if (length === 126) return this.#header.readUInt16BE(2);
    return length === 127 ? Number(this.#header.readBigUInt64BE(2)) : length;
  }
}

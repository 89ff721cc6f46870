/**
 * Sends the frames of a push connection, and observes which part the client has read.
 *
 * Megabytes that the socket has accepted may still be in buffers between us and the client. So we
 * send a ping after every WINDOW_BYTES, and some seconds after the last ping. The pong acknowledges
 * all bytes before the ping. The number of unacknowledged bytes is limited.
 */

import { randomFillSync } from 'node:crypto';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { FrameWriter } from './frame-writer.ts';

/** Maximum number of unacknowledged bytes after a ping. */
const WINDOW_BYTES = 64 << 10;
/**
 * The number of random bytes in a ping. They prevent a client from guessing the pong to a ping that
 * it has not read.
 */
const PING_PAYLOAD_BYTES = 8;
/** Maximum number of bytes that are gathered into one write. Larger writes are not faster. */
const GATHERED_BYTES_MAX = 64 << 10;
/** The memory overhead of a queued frame. The measured overhead is 270 bytes of heap. */
const FRAME_OVERHEAD_BYTES = 256;
/** The length of the longest header of a frame that is sent. */
const HEADER_BYTES_MAX = 10;

/**
 * The bytes that are counted for a frame in addition to its text: the overhead of the frame, and of
 * a ping that may follow.
 */
export const SENT_OVERHEAD_BYTES =
  2 * (HEADER_BYTES_MAX + FRAME_OVERHEAD_BYTES) + PING_PAYLOAD_BYTES;

/**
 * Random bytes for many pings. Generating random bytes for each ping would cost more than sending
 * the ping.
 */
const random = Buffer.alloc(512 * PING_PAYLOAD_BYTES);
let randomUsed = random.length;

function drawPayload(): Buffer {
  if (randomUsed === random.length) {
    randomFillSync(random);
    randomUsed = 0;
  }
  randomUsed += PING_PAYLOAD_BYTES;
  return Buffer.from(random.subarray(randomUsed - PING_PAYLOAD_BYTES, randomUsed));
}

export interface OutboxOptions {
  readonly socket: WebSocket;
  /** The TCP socket of the WebSocket. */
  readonly stream: Socket;
  /** Maximum number of bytes that wait because the socket has not accepted them. */
  readonly bytesMax: number;
  /** Maximum time between two pings while few bytes are sent. */
  readonly pingMs: number;
  /** Called when the client has read enough, so that more may be sent. */
  drained(): void;
  /** Called when more than `bytesMax` bytes wait. */
  overflowed(): void;
}

export class Outbox {
  readonly #options: OutboxOptions;
  #isGathering = false;
  /** True if the client had unread bytes when the gathering started. */
  #wasUnread = false;
  #waitingSinceMs: number | undefined;
  /** The number of frames that the socket has not accepted yet. */
  #queuedFrames = 0;
  /** The payload of our unanswered ping. */
  #pingPayload: Buffer | undefined;
  #pingedMs = Number.NEGATIVE_INFINITY;
  #bytesSincePing = 0;
  /** The payload of the client's newest ping that we have not answered. */
  #pongPayload: Buffer | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** True if the client has unread bytes. Frames that are being gathered do not count. */
  get hasUnread(): boolean {
    if (this.#isGathering) return this.#wasUnread;
    const isFull = this.#pingPayload !== undefined && this.#bytesSincePing >= WINDOW_BYTES;
    return isFull || this.#queuedFrames > 0;
  }

  /**
   * The time since which bytes have been waiting or unacknowledged; undefined if there are no
   * unread bytes.
   */
  get unreadSinceMs(): number | undefined {
    return this.#waitingSinceMs ?? (this.#pingPayload && this.#pingedMs);
  }

  get #isOpen(): boolean {
    const { socket } = this.#options;
    return socket.readyState === socket.OPEN;
  }

  send(frame: string | Buffer): void {
    if (!this.#isOpen) return;
    const { socket } = this.#options;
    this.#gather();
    // The frame is not compressed. `ws` compresses asynchronously, so states that are written here
    // would overtake the frame.
    socket.send(frame, { binary: false, compress: false }, this.#noteTaken);
    this.#count(frame.length);
    if (socket.bufferedAmount > GATHERED_BYTES_MAX) this.#flush();
  }

  /** Counts frames that are about to be sent. Adds a ping if a ping is due. */
  finish(frames: FrameWriter, start: number): void {
    this.#bytesSincePing += frames.length - start;
    if (this.#isPingDue) frames.ping(this.#startPing());
  }

  /** Sends complete frames in one write, directly on the stream and not through `ws`. */
  sendFrames(frames: FrameWriter, start: number, end: number): void {
    if (!this.#isOpen) return;
    const { stream } = this.#options;
    const bytes = frames.bytesBetween(start, end);
    if (this.#isGathering) {
      // The bytes are copied, because the socket needs them until all gathered frames are flushed.
      this.#queuedFrames++;
      stream.write(Buffer.from(bytes), this.#noteTaken);
      return;
    }
    // This write has no callback, because a callback costs Node a tenth of the time of an answer.
    stream.write(bytes);
    if (stream.writableLength === 0) return;
    frames.replaceOnClear();
    this.#queuedFrames++;
    stream.write('', this.#noteTaken);
    this.#noteBacklog();
  }

  /** Pings the client, unless an earlier ping is unanswered. */
  ping(): void {
    if (this.#pingPayload !== undefined || !this.#isOpen) return;
    this.#options.socket.ping(this.#startPing(), false, this.#noteTaken);
    this.#queuedFrames++;
  }

  /** Records a new ping, which the caller sends, and returns its payload. */
  #startPing(): Buffer {
    this.#pingPayload = drawPayload();
    this.#pingedMs = performance.now();
    this.#bytesSincePing = 0;
    return this.#pingPayload;
  }

  /** Called with each pong. Returns false if the pong does not answer our ping. */
  notePong(payload: Buffer): boolean {
    if (this.#pingPayload?.equals(payload) !== true) return false;
    this.#pingPayload = undefined;
    this.#resume();
    return true;
  }

  /**
   * Answers a client's ping. If the client has unread bytes, the pong waits until the client has
   * read them, like a state. Only the newest of several waiting pings is answered, as RFC 6455,
   * 5.5.3, allows.
   */
  pong(payload: Buffer): void {
    // The payload is copied, because it is a view that would prevent the memory of a whole read
    // from being freed.
    this.#pongPayload = Buffer.from(payload);
    if (!this.hasUnread) this.#sendPong();
  }

  #sendPong(): void {
    const payload = this.#pongPayload;
    if (payload === undefined || !this.#isOpen) return;
    this.#pongPayload = undefined;
    this.#gather();
    this.#options.socket.pong(payload, false, this.#noteTaken);
    this.#count(payload.length);
  }

  #count(bytes: number): void {
    this.#queuedFrames++;
    this.#bytesSincePing += bytes;
  }

  /**
   * Gathers the frames of one tick, which are then written together, because a system call costs
   * more than a frame.
   */
  #gather(): void {
    if (this.#isGathering) return;
    this.#wasUnread = this.hasUnread;
    this.#isGathering = true;
    this.#options.stream.cork();
    process.nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    if (!this.#isGathering) return;
    if (this.#isPingDue) this.ping();
    this.#isGathering = false;
    this.#options.stream.uncork();
    this.#noteBacklog();
  };

  get #isPingDue(): boolean {
    if (this.#pingPayload !== undefined) return false;
    if (this.#bytesSincePing >= WINDOW_BYTES) return true;
    return performance.now() - this.#pingedMs >= this.#options.pingMs;
  }

  #noteBacklog(): void {
    const { socket, bytesMax } = this.#options;
    if (socket.bufferedAmount === 0) return;
    this.#waitingSinceMs ??= performance.now();
    const backlogBytes = socket.bufferedAmount + this.#queuedFrames * FRAME_OVERHEAD_BYTES;
    if (backlogBytes > bytesMax) this.#options.overflowed();
  }

  readonly #noteTaken = (): void => {
    this.#queuedFrames--;
    if (this.#options.socket.bufferedAmount > 0) return;
    this.#waitingSinceMs = undefined;
    this.#resume();
  };

  #resume(): void {
    if (this.hasUnread) return;
    this.#sendPong();
    this.#options.drained();
  }
}

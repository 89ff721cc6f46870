/**
 * The frames that are sent on a push connection, and how far the client has read.
 *
 * Megabytes that the socket has accepted may still be in buffers between us and the client. So a ping
 * of the protocol follows every WINDOW_BYTES, and some seconds after the last one: its pong acknowledges
 * everything before it. Unacknowledged bytes are bounded.
 */

import { randomFillSync } from 'node:crypto';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { FrameWriter } from './frame-writer.ts';

/** Maximum number of unacknowledged bytes after a ping. */
const WINDOW_BYTES = 64 << 10;
/** Enough that a client cannot guess the pong to a ping that it has not read. */
const PING_PAYLOAD_BYTES = 8;
/** Maximum number of bytes that are gathered into one write: a larger one saves nothing. */
const GATHERED_BYTES_MAX = 64 << 10;
/** Overhead of a queued frame; measured, 270 bytes of heap. */
const FRAME_OVERHEAD_BYTES = 256;
/** The longest header of a frame that is sent. */
const HEADER_BYTES_MAX = 10;

/** What a frame counts for beside its text: itself, and the ping that may follow it. */
export const SENT_OVERHEAD_BYTES =
  2 * (HEADER_BYTES_MAX + FRAME_OVERHEAD_BYTES) + PING_PAYLOAD_BYTES;

/** Random bytes for many pings: drawing them one by one costs more than sending a ping. */
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
  /** The TCP socket below the WebSocket. */
  readonly stream: Socket;
  /** Maximum number of bytes that wait to be taken by the socket. */
  readonly bytesMax: number;
  /** Time after which the client is pinged again while it is sent little. */
  readonly pingMs: number;
  /** Called when there is room for more. */
  drained(): void;
  /** Called when more than `bytesMax` waits. */
  overflowed(): void;
}

export class Outbox {
  readonly #options: OutboxOptions;
  #isGathering = false;
  /** Whether something was unread when gathering began. */
  #wasUnread = false;
  #waitingSinceMs: number | undefined;
  /** Frames that the socket has not taken yet. */
  #queuedFrames = 0;
  /** The payload of our ping that is unanswered. */
  #pingPayload: Buffer | undefined;
  #pingedMs = Number.NEGATIVE_INFINITY;
  #bytesSincePing = 0;
  /** The payload of the client's newest ping that is unanswered. */
  #pongPayload: Buffer | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Whether the client is behind with reading; frames that are being gathered do not count. */
  get hasUnread(): boolean {
    if (this.#isGathering) return this.#wasUnread;
    const isFull = this.#pingPayload !== undefined && this.#bytesSincePing >= WINDOW_BYTES;
    return isFull || this.#queuedFrames > 0;
  }

  /** Since when bytes have been waiting or unacknowledged, if any are. */
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
    // Not compressed: it would be overtaken by the states, which are written here.
    socket.send(frame, { binary: false, compress: false }, this.#noteTaken);
    this.#count(frame.length);
    if (socket.bufferedAmount > GATHERED_BYTES_MAX) this.#flush();
  }

  /** Counts frames that are about to be sent, and adds a ping if one is due. */
  finish(frames: FrameWriter, start: number): void {
    this.#bytesSincePing += frames.length - start;
    if (this.#isPingDue) frames.ping(this.#startPing());
  }

  /** Sends frames that are written already, in one write; `ws` has nothing to add to them. */
  sendFrames(frames: FrameWriter, start: number, end: number): void {
    if (!this.#isOpen) return;
    const { stream } = this.#options;
    const bytes = frames.bytesBetween(start, end);
    if (this.#isGathering) {
      // The socket keeps what it is given until others are flushed with it.
      this.#queuedFrames++;
      stream.write(Buffer.from(bytes), this.#noteTaken);
      return;
    }
    // Without a callback, since it takes Node as long to call one as to compute a tenth of an answer.
    stream.write(bytes);
    if (stream.writableLength === 0) return;
    frames.replaceOnClear();
    this.#queuedFrames++;
    stream.write('', this.#noteTaken);
    this.#noteBacklog();
  }

  /** Pings the client, unless a pong is outstanding. */
  ping(): void {
    if (this.#pingPayload !== undefined || !this.#isOpen) return;
    this.#options.socket.ping(this.#startPing(), false, this.#noteTaken);
    this.#queuedFrames++;
  }

  /** The payload of a new ping, which is about to be sent. */
  #startPing(): Buffer {
    this.#pingPayload = drawPayload();
    this.#pingedMs = performance.now();
    this.#bytesSincePing = 0;
    return this.#pingPayload;
  }

  /** Called with each pong; false if it answers no ping of ours. */
  notePong(payload: Buffer): boolean {
    if (this.#pingPayload?.equals(payload) !== true) return false;
    this.#pingPayload = undefined;
    this.#resume();
    return true;
  }

  /**
   * Answers a client's ping. Like a state, the pong waits while the client is behind; of several
   * waiting pings only the newest is answered, as RFC 6455, 5.5.3, allows.
   */
  pong(payload: Buffer): void {
    // Copied: the payload is a view that keeps the whole read alive.
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

  /** Frames sent in the same tick are written together: a system call costs more than a frame. */
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

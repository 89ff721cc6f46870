/**
 * What goes out on a push connection, and how much of it the client has read.
 *
 * What a socket has taken may still lie in buffers on the way, megabytes of it. So the client is asked
 * for a sign, a ping of the protocol, after each so many bytes, and at least every second: its pong
 * says that it has read everything before. Without one there is a limit to what is on its way.
 */

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** So much may be on its way beyond what the client was asked about. */
const WINDOW_BYTES = 32 << 10;
/** How often the client is asked while it is sent little. */
const ASK_MS = 1000;
/** So much is written at once at most: beyond this there is nothing to save. */
const GATHERED_BYTES_MAX = 64 << 10;

export interface OutboxOptions {
  readonly socket: WebSocket;
  /** What the socket writes to. */
  readonly stream: Socket;
  /** How much may wait to be taken by the socket. */
  readonly bytesMax: number;
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
  #isAsking = false;
  #askedMs = Number.NEGATIVE_INFINITY;
  #bytesSinceAsked = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Whether the client has too much yet to read; what is being gathered does not count. */
  get hasUnread(): boolean {
    if (this.#isGathering) return this.#wasUnread;
    const isFull = this.#isAsking && this.#bytesSinceAsked >= WINDOW_BYTES;
    return isFull || this.#options.socket.bufferedAmount > 0;
  }

  /** Since when the client has left something unread; undefined where that is not known of it. */
  get unreadSinceMs(): number | undefined {
    return this.#waitingSinceMs ?? (this.#isAsking ? this.#askedMs : undefined);
  }

  send(frame: string | Buffer): void {
    const { socket } = this.#options;
    if (socket.readyState !== socket.OPEN) return;
    this.#gather();
    socket.send(frame, { binary: false }, this.#noteTaken);
    this.#bytesSinceAsked += frame.length;
    if (socket.bufferedAmount > GATHERED_BYTES_MAX) this.#flush();
  }

  /** Asks the client for a sign that it reads, unless it owes one already. */
  ask(): void {
    const { socket } = this.#options;
    if (this.#isAsking || socket.readyState !== socket.OPEN) return;
    this.#isAsking = true;
    this.#askedMs = performance.now();
    this.#bytesSinceAsked = 0;
    socket.ping();
  }

  /** Called when the client has given the sign. */
  noteSign(): void {
    this.#isAsking = false;
    if (!this.hasUnread) this.#options.drained();
  }

  /** A system call costs more than a frame: those that are sent in one go are written together. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#wasUnread = this.hasUnread;
    this.#isGathering = true;
    this.#options.stream.cork();
    process.nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    if (!this.#isGathering) return;
    const isLongAgo = performance.now() - this.#askedMs >= ASK_MS;
    if (isLongAgo || this.#bytesSinceAsked >= WINDOW_BYTES) this.ask();
    this.#isGathering = false;
    const { socket, stream, bytesMax } = this.#options;
    stream.uncork();
    if (socket.bufferedAmount === 0) return;
    this.#waitingSinceMs ??= performance.now();
    if (socket.bufferedAmount > bytesMax) this.#options.overflowed();
  };

  readonly #noteTaken = (): void => {
    if (this.#options.socket.bufferedAmount > 0) return;
    this.#waitingSinceMs = undefined;
    if (!this.hasUnread) this.#options.drained();
  };
}

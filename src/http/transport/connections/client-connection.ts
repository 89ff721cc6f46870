/**
 * One client's connection, from accept to close, and the only owner of its socket: one reader, one
 * error listener and one deadline (`socket.setTimeout`) for its whole life. Its handler gets the bytes:
 * at first the fast lane, then Node's HTTP server. Push gets the socket itself.
 */

import type { Socket } from 'node:net';
import { Cancellation, CLIENT_GONE, STOPPING } from '../../answering/cancellation.ts';
import { readConnection } from './shared-reads.ts';

/** A transport's end of a connection. */
export interface ConnectionHandler {
  /** A request is partial or held, or its response is not written yet. */
  readonly isBusy: boolean;
  /** Takes the bytes of one read, which are only valid until it returns. */
  takeRead(bytes: Buffer, length: number): void;
  /** The client has ended its side. */
  takeEnd(): void;
  /** The socket is closed. */
  close(): void;
}

/**
 * Bytes of further requests that are read while a response is pending: the end of a connection comes after
 * them, and ends the work on the response.
 */
export const READ_AHEAD_BYTES_MAX = 64 << 10;
/** How long a client may keep sending after our last response. */
const LINGER_MS = 1_000;

export class ClientConnection {
  readonly socket: Socket;
  #handler: ConnectionHandler | undefined;
  #stopReading: (() => void) | undefined;
  #hasEnded = false;
  #isReleased = false;
  /** Further bytes of the client are dropped. */
  #isEnding = false;
  #isDraining = false;
  /** Requests on it without a known key, path or method. */
  probeCount = 0;
  readonly cancellation = new Cancellation();

  constructor(socket: Socket, closed: (connection: ClientConnection) => void) {
    this.socket = socket;
    socket.on('error', () => socket.destroy());
    socket.on('timeout', () => socket.destroy());
    socket.on('close', () => {
      closed(this);
      this.cancellation.cancel(CLIENT_GONE);
      this.#handler?.close();
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** The service is stopping: the connection is closed once it is not busy. */
  startDraining(): void {
    this.#isDraining = true;
    this.cancellation.cancel(STOPPING);
  }

  /** Whether push owns the socket now, and closes it. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  get isBusy(): boolean {
    return this.socket.writableLength > 0 || (this.#handler?.isBusy ?? false);
  }

  /** Gives all further reads to this handler. */
  handleWith(handler: ConnectionHandler): void {
    this.#handler = handler;
    if (this.#stopReading !== undefined) return;
    this.#stopReading = readConnection(this.socket, (bytes, length) => {
      if (!this.#isEnding) this.#handler?.takeRead(bytes, length);
    });
    this.socket.on('end', this.#noteEnd);
  }

  readonly #noteEnd = (): void => {
    this.#hasEnded = true;
    this.cancellation.cancel(CLIENT_GONE);
    if (this.#isEnding) this.socket.destroySoon();
    else this.#handler?.takeEnd();
  };

  /** Backpressure: the client is not read from until `resume`. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Hands the socket to push for good, with the bytes that were read but not used. */
  release(unused: Buffer): void {
    this.#isReleased = true;
    this.#handler = undefined;
    this.#stopReading?.();
    this.socket.off('end', this.#noteEnd);
    if (unused.length > 0) this.socket.unshift(unused);
    this.socket.resume();
  }

  /** Closes the connection once everything is written. */
  endSoon(): void {
    this.#isEnding = true;
    this.socket.destroySoon();
  }

  /**
   * Ends our side, and closes when the client ends its own, or LINGER_MS after everything is written.
   * What it sends until then is read and dropped: closing a socket with unread bytes resets the
   * connection, and the client could lose our last response.
   */
  linger(): void {
    const { socket } = this;
    if (this.#hasEnded) {
      this.endSoon();
      return;
    }
    if (this.#isEnding) return;
    this.#isEnding = true;
    // Reading before that would renew the deadline of a client that sends but does not read.
    socket.pause();
    socket.end(() => {
      socket.resume();
      this.#destroyLater();
    });
  }

  #destroyLater(): void {
    const { socket } = this;
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  }
}

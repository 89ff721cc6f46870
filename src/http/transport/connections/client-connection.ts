/**
 * The connection of one client, from accept to close. ClientConnection is the only owner of the socket: the socket
 * has one reader, one error listener and one deadline (`socket.setTimeout`) until it is closed. A handler gets
 * the bytes: first the fast lane, later Node's HTTP server. Push takes over the socket itself.
 */

import type { Socket } from 'node:net';
import { Cancellation, CLIENT_GONE, STOPPING } from '../../answering/cancellation.ts';
import { readConnection } from './shared-reads.ts';

/** A transport that handles the bytes of a connection. */
export interface ConnectionHandler {
  /** True if a request is incomplete or waits, or if a response is not written yet. */
  readonly isBusy: boolean;
  /** Takes the bytes of one read. The bytes are valid only until this method returns. */
  takeRead(bytes: Buffer, length: number): void;
  /** The client has ended its side. */
  takeEnd(): void;
  /** The socket is closed. */
  close(): void;
}

/**
 * Maximum number of bytes that are read while a response is pending. Reading on is needed to notice that the client
 * has closed the connection, which cancels the work on the response.
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
  /** The connection is being closed. Further bytes of the client are dropped. */
  #isEnding = false;
  #isDraining = false;
  /** Number of requests with an unknown key, path or method. */
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

  /** The service is stopping. drain.ts closes the connection once it is not busy. */
  startDraining(): void {
    this.#isDraining = true;
    this.cancellation.cancel(STOPPING);
  }

  /** Whether push owns the socket now. Push then also closes the socket. */
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

  /** Backpressure: stops reading from the client until `resume`. */
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
   * Ends our side of the connection, and closes the socket when the client ends its side, at the latest LINGER_MS
   * after everything is written. Bytes that arrive until then are read and dropped. Closing a socket with unread
   * bytes would reset the connection, and the client could lose our last response.
   */
  linger(): void {
    const { socket } = this;
    if (this.#hasEnded) {
      this.endSoon();
      return;
    }
    if (this.#isEnding) return;
    this.#isEnding = true;
    // Reading before everything is written would renew the deadline of a client that sends but does not read.
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

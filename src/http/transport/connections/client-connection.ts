/**
 * The connection of one client, from accept to close. Until push takes over the socket,
 * ClientConnection is the only owner of the socket. The socket has one reader, one error listener
 * and one deadline (`socket.setTimeout`) until it is closed. A handler gets the bytes: first the
 * fast lane, later Node's HTTP server.
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
  /** Called when the client has ended its side of the connection. */
  takeEnd(): void;
  /** Called when the socket is closed. */
  close(): void;
}

/**
 * Maximum number of bytes that are read while a response is pending. The connection is read to
 * notice that the client has closed it, which cancels the work on the response.
 */
export const READ_AHEAD_BYTES_MAX = 64 << 10;
/** How long a client may continue to send after our last response. */
const LINGER_MS = 1_000;

export class ClientConnection {
  readonly socket: Socket;
  #handler: ConnectionHandler | undefined;
  #stopReading: (() => void) | undefined;
  #hasEnded = false;
  #isReleased = false;
  /** True while the connection is being closed. Further bytes of the client are then dropped. */
  #isEnding = false;
  #isDraining = false;
  /** The number of requests with an unknown key, path or method. */
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

  /** Called when the service stops. drain.ts closes the connection when it is no longer busy. */
  startDraining(): void {
    this.#isDraining = true;
    this.cancellation.cancel(STOPPING);
  }

  /** True if push owns the socket. Push then also closes the socket. */
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

  /** Applies backpressure: stops reading from the client until `resume` is called. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Gives the socket to push permanently, with the bytes that were read but not used. */
  release(unused: Buffer): void {
    this.#isReleased = true;
    this.#handler = undefined;
    this.#stopReading?.();
    this.socket.off('end', this.#noteEnd);
    if (unused.length > 0) this.socket.unshift(unused);
    this.socket.resume();
  }

  /** Closes the connection when everything is written. */
  endSoon(): void {
    this.#isEnding = true;
    this.socket.destroySoon();
  }

  /**
   * Ends our side of the connection. Closes the socket when the client ends its side, but at the
   * latest LINGER_MS after everything is written. Bytes that arrive until then are read and
   * dropped: closing a socket with unread bytes would reset the connection, and the client could
   * lose our last response.
   */
  linger(): void {
    const { socket } = this;
    if (this.#hasEnded) {
      this.endSoon();
      return;
    }
    if (this.#isEnding) return;
    this.#isEnding = true;
    // If we read before everything is written, a client that sends but does not read would renew
    // its deadline.
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

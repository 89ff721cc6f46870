/**
 * One client's connection, from accept to close. It is the one owner of the socket: nobody else reads
 * from it, and it has one error listener and one deadline (`socket.setTimeout`) for as long as it
 * lives. What is read goes to its handler: the fast lane at first, then Node's HTTP server, and none
 * once the socket was released to push.
 */

import type { Socket } from 'node:net';
import { readConnection } from './shared-reads.ts';

/** Whoever takes what a client sends, and answers. */
export interface ConnectionHandler {
  /** Something is under way: a request was begun, or is held, or its response is not out yet. */
  readonly isBusy: boolean;
  /** What one read brought; the bytes are only there until it returns. */
  takeRead(bytes: Buffer, length: number): void;
  /** The client has ended its side. */
  takeEnd(): void;
  /** The socket is closed. */
  close(): void;
}

/** How long a client that has been refused may go on sending until it has read why. */
const LINGER_MS = 1_000;

export class ClientConnection {
  readonly socket: Socket;
  #handler: ConnectionHandler | undefined;
  #stopReading: (() => void) | undefined;
  #hasEnded = false;
  #isReleased = false;
  /** What still comes is dropped. */
  #isEnding = false;
  /** The service is stopping: the connection ends once nothing is under way on it. */
  isDraining = false;
  /** Requests on it without a known key, path or method. */
  strangeRequests = 0;

  constructor(socket: Socket, closed: (connection: ClientConnection) => void) {
    this.socket = socket;
    socket.on('error', () => socket.destroy());
    socket.on('timeout', () => socket.destroy());
    socket.on('close', () => {
      closed(this);
      this.#handler?.close();
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether push has it: then it is for push to end it in time. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  get isBusy(): boolean {
    return this.socket.writableLength > 0 || (this.#handler?.isBusy ?? false);
  }

  /** From now on, what the client sends goes there. */
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

  /** Leaves the socket to push, for good, with what was read of it and not used. */
  release(unused: Buffer): void {
    this.#isReleased = true;
    this.#handler = undefined;
    this.#stopReading?.();
    this.socket.off('end', this.#noteEnd);
    if (unused.length > 0) this.socket.unshift(unused);
    this.socket.resume();
  }

  /** Closes the connection once all that was written is out. */
  endSoon(): void {
    this.#isEnding = true;
    this.socket.destroySoon();
  }

  /**
   * Ends our side, and closes when the client has ended its own, or after a while. What it sends until
   * then is read and dropped: were it left unread, the system would discard our last words with it.
   */
  linger(): void {
    const { socket } = this;
    if (this.#hasEnded) {
      this.endSoon();
      return;
    }
    if (this.#isEnding) return;
    this.#isEnding = true;
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
    socket.resume();
  }
}

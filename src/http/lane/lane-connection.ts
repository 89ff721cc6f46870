/** A connection on the fast lane: the bytes that are not answered yet, and what is known of them. */

import type { ClientConnection, ConnectionHandler } from '../connections/client-connection.ts';
import type { RequestHead } from '../request-head.ts';
import { PartialHead } from './ordinary-request.ts';

/** Whoever answers what a connection brings. */
export interface LaneReader {
  takeRead(connection: LaneConnection, bytes: Buffer, length: number): void;
  takeEnd(connection: LaneConnection): void;
  forget(connection: LaneConnection): void;
}

/** The head of a request, and what follows from it as long as the next one is the same. */
export interface LaneHead {
  readonly bytes: Buffer;
  readonly parsed: RequestHead;
  readonly bodyLength: number;
  /** The client wants the connection to be closed after the response. */
  readonly isLast: boolean;
}

const NOTHING = Buffer.alloc(0);
/** A buffer of this size stays with the connection: a client that sends requests in parts goes on so. */
const KEPT_BYTES_MIN = 1024;

export class LaneConnection implements ConnectionHandler {
  readonly client: ClientConnection;
  readonly #reader: LaneReader;
  /** When it last sent something, or had read all that it was sent. */
  activeMs: number;
  hasAsked = false;
  /** In the turn that is being gathered. */
  isQueued = false;
  /** What is kept holds requests that wait for their turn; the client is not read from. */
  isHeld = false;
  /** A request waits for its height. */
  isWaiting = false;
  /** Its responses are not all written to the system yet. */
  isSending = false;
  /** Node's server has it now, or it was cut off. */
  hasLeft = false;
  /** Connection: close has been sent. */
  isOver = false;
  /** What was read in this turn, among the turn's bytes; nothing where something is kept. */
  readStart = 0;
  readEnd = 0;
  /** What was read before, beginning with a request. */
  #kept: Buffer = NOTHING;
  #keptLength = 0;
  /** Responses that are to be sent. */
  text = '';
  head: LaneHead | undefined;
  /** Since when a request has been under way that is not whole; 0 where none is. */
  begunMs = 0;
  /** The head of that request is whole, and nothing is wrong with it. */
  isHeadAdmitted = false;
  readonly partialHead = new PartialHead();
  /** Bytes of a body that nobody needs: the request was answered by its head. */
  skipLength = 0;

  constructor(client: ClientConnection, reader: LaneReader, nowMs: number) {
    this.client = client;
    this.#reader = reader;
    this.activeMs = nowMs;
  }

  get isBusy(): boolean {
    return this.isQueued || this.isWaiting || this.#keptLength > 0 || this.skipLength > 0;
  }

  takeRead(bytes: Buffer, length: number): void {
    this.#reader.takeRead(this, bytes, length);
  }

  takeEnd(): void {
    this.#reader.takeEnd(this);
  }

  close(): void {
    this.#reader.forget(this);
  }

  get kept(): Buffer {
    return this.#kept;
  }

  get keptLength(): number {
    return this.#keptLength;
  }

  /** Keeps bytes after those that are kept already. The room doubles, so that each is copied rarely. */
  keep(bytes: Buffer): void {
    const length = this.#keptLength + bytes.length;
    if (length > this.#kept.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(KEPT_BYTES_MIN, 2 * length));
      this.#kept.copy(larger, 0, 0, this.#keptLength);
      this.#kept = larger;
    }
    bytes.copy(this.#kept, this.#keptLength);
    this.#keptLength = length;
  }

  /** Forgets the first of the bytes that are kept. */
  drop(length: number): void {
    this.#kept.copyWithin(0, length, this.#keptLength);
    this.#keptLength -= length;
    if (this.#keptLength === 0 && this.#kept.length > KEPT_BYTES_MIN) this.#kept = NOTHING;
  }

  /** The next request is one of which nothing is known. */
  expectNext(): void {
    this.begunMs = 0;
    this.isHeadAdmitted = false;
    this.partialHead.clear();
  }
}

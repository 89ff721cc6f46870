/** A connection on the fast lane: its unanswered bytes, and the state of its requests. */

import type { QuestionHead } from '../../answering/question-head.ts';
import type { Reply } from '../../message/reply.ts';
import type { ClientConnection, ConnectionHandler } from '../connections/client-connection.ts';
import { makeRoom, SMALL_SIZE } from '../connections/growing-buffer.ts';
import type { UnfinishedRequest } from '../connections/unfinished-bytes.ts';
import { PartialHead } from './ordinary-request.ts';
import type { VaryingPart } from './varying-part.ts';

/** The fast lane, as its connections see it. */
export interface LaneReader {
  takeRead(connection: LaneConnection, bytes: Buffer, length: number): void;
  takeEnd(connection: LaneConnection): void;
  forget(connection: LaneConnection): void;
  /** Called with the size of the buffer that its bytes are kept in, when that has changed. */
  noteBufferSize(connection: LaneConnection, bufferBytes: number): void;
  refuseUnfinished(connection: LaneConnection): void;
}

/** A parsed head with its bytes: a client that sends the same bytes again gets the same result. */
export interface LaneHead {
  bytes: Buffer;
  readonly varying: VaryingPart | undefined;
  parsed: QuestionHead;
  bodyLength: number;
  /** The client wants the connection to be closed after the response. */
  readonly isLast: boolean;
  /** Nothing was wrong with it when its body was incomplete; a whole request is checked again. */
  isAdmitted: boolean;
}

const NOTHING = Buffer.alloc(0);

export class LaneConnection implements ConnectionHandler, UnfinishedRequest {
  readonly client: ClientConnection;
  readonly #reader: LaneReader;
  /** When the client last sent something, or had taken all its responses. */
  activeMs: number;
  hasAsked = false;
  /** The connection is part of the turn that is being gathered. */
  isQueued = false;
  /** The kept bytes wait for the next turn; the client is not read from. */
  isHeld = false;
  /** A reply is pending, or a long body is still being sent: further requests wait. */
  isWaiting = false;
  /** Not all responses are written to the system yet. */
  isSending = false;
  /** The connection has moved to Node's server, or was closed after a bug. */
  hasLeft = false;
  /** Connection: close has been sent, or nothing is read after the pending reply. */
  isOver = false;
  #isClosed = false;
  /** The range of the connection's read in the turn's bytes; empty if older bytes are kept. */
  readStart = 0;
  readEnd = 0;
  /** Bytes of earlier turns; they begin with a request. */
  #kept: Buffer = NOTHING;
  #keptLength = 0;
  /** Responses that are to be sent; `longReply` is the last of them, if its body is long. */
  text = '';
  longReply: Reply | undefined;
  head: LaneHead | undefined;
  /** When the current partial request began; 0 if there is none. */
  partialSinceMs = 0;
  /** The head of that request is complete, and was admitted. */
  isHeadAdmitted = false;
  readonly partialHead = new PartialHead();
  /** Bytes of a body to be skipped: the head alone was answered. */
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
    this.#isClosed = true;
    this.drop(this.#keptLength);
    this.#reader.forget(this);
  }

  refuseUnfinished(): void {
    this.#reader.refuseUnfinished(this);
  }

  get kept(): Buffer {
    return this.#kept;
  }

  get keptLength(): number {
    return this.#keptLength;
  }

  /** Appends bytes to those that are kept, unless the client is gone. */
  keep(bytes: Buffer, start: number, end: number): void {
    if (this.#isClosed) return;
    const length = this.#keptLength + end - start;
    this.#keepIn(makeRoom(this.#kept, this.#keptLength, length));
    bytes.copy(this.#kept, this.#keptLength, start, end);
    this.#keptLength = length;
  }

  /** Drops the first of the kept bytes. */
  drop(length: number): void {
    if (length === 0) return;
    if (length < this.#keptLength) this.#kept.copyWithin(0, length, this.#keptLength);
    this.#keptLength -= length;
    // A small buffer is not released: a client that sends one request in parts sends all requests in parts.
    if (this.#keptLength === 0 && this.#kept.length > SMALL_SIZE) this.#keepIn(NOTHING);
  }

  #keepIn(buffer: Buffer): void {
    if (buffer === this.#kept) return;
    this.#kept = buffer;
    this.#reader.noteBufferSize(this, buffer.length);
  }

  /** Deadlines do not count the time in which the client was not read from. */
  restartDeadlines(nowMs: number): void {
    this.activeMs = nowMs;
    if (this.partialSinceMs > 0) this.partialSinceMs = nowMs;
  }

  /** Clears the state of the request that was just answered. */
  expectNext(): void {
    this.partialSinceMs = 0;
    this.isHeadAdmitted = false;
    this.partialHead.clear();
  }
}

/** A connection on the fast lane: its unanswered bytes, and the state of its current request. */

import type { QuestionHead } from '../../answering/question-head.ts';
import type { Reply } from '../../message/reply.ts';
import type { ClientConnection, ConnectionHandler } from '../connections/client-connection.ts';
import { makeRoom, SMALL_SIZE } from '../connections/growing-buffer.ts';
import type { UnfinishedRequest } from '../connections/unfinished-bytes.ts';
import { PartialHead } from './ordinary-request.ts';
import type { VaryingPart } from './varying-part.ts';

/** The methods of the fast lane that its connections call. */
export interface LaneReader {
  takeRead(connection: LaneConnection, bytes: Buffer, length: number): void;
  takeEnd(connection: LaneConnection): void;
  forget(connection: LaneConnection): void;
  /** Called when the size of the connection's buffer has changed. */
  noteBufferSize(connection: LaneConnection, bufferBytes: number): void;
  refuseUnfinished(connection: LaneConnection): void;
}

/** A parsed head with its bytes. If the client sends the same bytes again, the parsed head is reused. */
export interface LaneHead {
  bytes: Buffer;
  readonly varying: VaryingPart | undefined;
  parsed: QuestionHead;
  bodyLength: number;
  /** The client wants the connection to be closed after the response. */
  readonly isLast: boolean;
  /** The head was admitted while its body was incomplete. The whole request is checked again. */
  isAdmitted: boolean;
}

const NOTHING = Buffer.alloc(0);

export class LaneConnection implements ConnectionHandler, UnfinishedRequest {
  readonly client: ClientConnection;
  readonly #reader: LaneReader;
  /** When the client last sent bytes, or when it had read all of its responses. */
  activeMs: number;
  hasAsked = false;
  /** The connection is in the list of the current turn. */
  isQueued = false;
  /** The buffered bytes wait for the next turn. Nothing is read from the client. */
  isHeld = false;
  /** A reply is pending, or a long body is being sent. Further requests wait. */
  isWaiting = false;
  /** The operating system has not taken all responses yet. */
  isSending = false;
  /** The connection has moved to Node's server, or was closed after a bug. */
  hasLeft = false;
  /** `Connection: close` was sent, or the connection is closed after the pending reply. */
  isOver = false;
  #isClosed = false;
  /** The range of the connection's bytes in the turn's buffer; empty if the connection uses its own buffer. */
  readStart = 0;
  readEnd = 0;
  /** Bytes of earlier turns that are not answered yet. They begin at the start of a request. */
  #kept: Buffer = NOTHING;
  #keptLength = 0;
  /** The responses that are not sent yet. If the last one has a long body, it is `longReply`. */
  text = '';
  longReply: Reply | undefined;
  head: LaneHead | undefined;
  /** When the first bytes of the current incomplete request arrived; 0 if there is none. */
  partialSinceMs = 0;
  /** The head of the incomplete request is complete, and was admitted. */
  isHeadAdmitted = false;
  readonly partialHead = new PartialHead();
  /** Number of bytes of a body that are skipped, because the request was answered by its head alone. */
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

  /** Appends bytes to the buffer, unless the client is gone. */
  keep(bytes: Buffer, start: number, end: number): void {
    if (this.#isClosed) return;
    const length = this.#keptLength + end - start;
    this.#keepIn(makeRoom(this.#kept, this.#keptLength, length));
    bytes.copy(this.#kept, this.#keptLength, start, end);
    this.#keptLength = length;
  }

  /** Drops the first bytes of the buffer. */
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

  /** Restarts the deadlines after a time in which nothing was read from the client. */
  restartDeadlines(nowMs: number): void {
    this.activeMs = nowMs;
    if (this.partialSinceMs > 0) this.partialSinceMs = nowMs;
  }

  /** Resets the state after a request was answered. */
  expectNext(): void {
    this.partialSinceMs = 0;
    this.isHeadAdmitted = false;
    this.partialHead.clear();
  }
}

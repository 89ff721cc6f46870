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

/**
 * A parsed head with its bytes. If the client sends the same bytes again, the parsed head is
 * reused.
 */
export interface LaneHead {
  bytes: Buffer;
  readonly varying: VaryingPart | undefined;
  parsed: QuestionHead;
  bodyLength: number;
  /** True if the client wants the connection to be closed after the response. */
  readonly isLast: boolean;
  /**
   * True if the head was admitted while its body was incomplete. The whole request is checked again
   * later.
   */
  isAdmitted: boolean;
}

/** The state of a connection. Only the named transitions of LaneConnection change the state. */
export type LaneState =
  /**
   * The connection reads from the client. Every complete request is answered; the last request may
   * be incomplete.
   */
  | 'reading'
  /**
   * The connection is in the list of the current turn. Its bytes are answered at the end of the
   * turn.
   */
  | 'queued'
  /**
   * Buffered requests wait for the next turn, and for the client to read its responses. Nothing is
   * read.
   */
  | 'held'
  /**
   * The reply to a request is pending. Further requests wait; some of their bytes are read ahead.
   */
  | 'waiting'
  /** A long body is sent in pieces. Further requests wait, as in 'waiting'. */
  | 'sending'
  /** The last response is written. Further bytes of the client are dropped. */
  | 'ending'
  /** Node's server handles the connection. */
  | 'left'
  /** The socket is closed. */
  | 'closed';

const NOTHING = Buffer.alloc(0);

export class LaneConnection implements ConnectionHandler, UnfinishedRequest {
  readonly client: ClientConnection;
  readonly #reader: LaneReader;
  /** The time at which the client last sent bytes, or at which it had read all of its responses. */
  activeMs: number;
  #state: LaneState = 'reading';
  /** True if the client has received a response on this connection. */
  hasAsked = false;
  /** True if the operating system has not accepted all responses yet. */
  hasUnsent = false;
  /** True if the connection is closed after the response that is pending or being sent. */
  isClosing = false;
  /**
   * The range of the connection's bytes in the turn's buffer. The range is empty if the connection
   * uses its own buffer.
   */
  readStart = 0;
  readEnd = 0;
  /** Bytes of earlier turns that are not answered yet. The first byte is the start of a request. */
  #kept: Buffer = NOTHING;
  #keptLength = 0;
  /**
   * The responses that are not sent yet. If the last response has a long body, `text` has only its
   * head, and `longReply` has the reply with the body.
   */
  text = '';
  longReply: Reply | undefined;
  head: LaneHead | undefined;
  /**
   * The time at which the first bytes of the current incomplete request arrived; 0 if no request is
   * incomplete.
   */
  partialSinceMs = 0;
  readonly partialHead = new PartialHead();
  /**
   * The number of body bytes that must be skipped, because the request was answered from its head
   * alone.
   */
  skipLength = 0;

  constructor(client: ClientConnection, reader: LaneReader, nowMs: number) {
    this.client = client;
    this.#reader = reader;
    this.activeMs = nowMs;
  }

  get state(): LaneState {
    return this.#state;
  }

  /** True while the response to the current request is not complete. */
  get isAnswering(): boolean {
    return this.#state === 'waiting' || this.#state === 'sending';
  }

  get isBusy(): boolean {
    const isInTurn = this.#state === 'queued' || this.isAnswering;
    return isInTurn || this.#keptLength > 0 || this.skipLength > 0;
  }

  /** Joins the current turn. */
  enterTurn(): void {
    this.#become('queued', 'reading', 'held');
  }

  /** Called when the requests of the connection are answered. */
  leaveTurn(): void {
    this.#become('reading', 'queued');
  }

  /** Makes the buffered requests wait for the next turn. */
  hold(): void {
    this.#become('held', 'reading');
  }

  /** Called when the reply to a request is pending. */
  awaitReply(): void {
    this.#become('waiting', 'reading');
  }

  /** Called when the reply has a long body, which is sent in pieces. */
  startSending(): void {
    this.#become('sending', 'reading', 'held');
  }

  /** Called when the pending reply has arrived, or when the long body is sent. */
  finishReply(): void {
    this.#become(this.#keptLength > 0 ? 'held' : 'reading', 'waiting', 'sending');
  }

  /** Called when the last response is written. */
  startEnding(): void {
    this.#become('ending', 'reading', 'held');
  }

  /** Called when Node's server takes over the connection. */
  leave(): void {
    this.#become('left', 'reading');
  }

  #become(next: LaneState, from: LaneState, orFrom: LaneState = from): void {
    const state = this.#state;
    if (state !== from && state !== orFrom) {
      throw new Error(`a connection of the fast lane became ${next} from ${state}`);
    }
    this.#state = next;
  }

  takeRead(bytes: Buffer, length: number): void {
    this.#reader.takeRead(this, bytes, length);
  }

  takeEnd(): void {
    this.#reader.takeEnd(this);
  }

  close(): void {
    this.#state = 'closed';
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
    if (this.#state === 'closed') return;
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
    // A small buffer is not released, because a client that sends one request in parts usually
    // sends all requests in parts.
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
    this.partialHead.clear();
  }
}

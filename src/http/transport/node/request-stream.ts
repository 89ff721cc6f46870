/**
 * The stream that Node's HTTP server gets instead of a client's socket. The stream passes on one
 * request at a time. Until the response is written, the next request waits here, and nothing is
 * read from the client. So a client that pipelines thousands of requests, or does not read its
 * responses, costs the time and memory of one request. Also, no other request is in flight when a
 * CONNECT, an upgrade, or bytes that are not HTTP arrive.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import {
  type ClientConnection,
  type ConnectionHandler,
  READ_AHEAD_BYTES_MAX,
} from '../connections/client-connection.ts';
import type { UnfinishedBytes, UnfinishedRequest } from '../connections/unfinished-bytes.ts';
import type { Pumpable, TurnQueue } from './turn-queue.ts';

type Done = (error?: Error | null) => void;

/** A request on Node's server, and its response. */
export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Bytes that were read from the client before the stream was created. */
export interface SentBytes {
  /** One complete head of a request. */
  readonly head?: Buffer;
  readonly rest?: Buffer;
}

const NOTHING = Buffer.alloc(0);
/** The bytes that end the headers of a request. They also end a chunked body. */
const SECTION_END = '\r\n\r\n';
/** Maximum number of pieces that are passed to Node in one turn. */
const PIECES_PER_TURN = 16;

/**
 * Returns the end of the headers or of the body in `bytes`; returns -1 if the end is not there.
 * `before` contains the bytes before `bytes`.
 */
function findSectionEnd(bytes: Buffer, before: string): number {
  for (let missing = 1; missing < SECTION_END.length; missing++) {
    const isBegun = before.endsWith(SECTION_END.slice(0, -missing));
    const rest = bytes.toString('latin1', 0, missing);
    if (isBegun && rest === SECTION_END.slice(-missing)) return missing;
  }
  const start = bytes.indexOf(SECTION_END, 0, 'latin1');
  return start === -1 ? -1 : start + SECTION_END.length;
}

const LINE_ENDS: readonly number[] = [0x0d, 0x0a];

/** Returns the number of bytes of the empty lines at the start. */
function countEmptyLines(bytes: Buffer): number {
  let length = 0;
  while (length < bytes.length && LINE_ENDS.includes(bytes[length])) length++;
  return length;
}

/**
 * Casts a stream of Node's server. The cast is safe, because Node's server gets no other streams
 * (info-server.ts).
 */
export function asRequestStream(stream: Duplex): RequestStream {
  return stream as RequestStream;
}

export class RequestStream
  extends Duplex
  implements ConnectionHandler, Pumpable, UnfinishedRequest
{
  readonly client: ClientConnection;
  readonly #queue: TurnQueue;
  readonly #unfinished: UnfinishedBytes;
  #held: Buffer = NOTHING;
  /** The bytes that come before `#held`. */
  #firstPiece: Buffer = NOTHING;
  /**
   * True if Node has started to read the stream. From then on, Node parses each piece as soon as it
   * is pushed.
   */
  #isRead = false;
  /**
   * The last bytes that Node got. They are needed because the end of the headers may be split
   * between two reads.
   */
  #lastBytes = '';
  /**
   * True if the next request has not started. Only empty lines, which Node skips, may have arrived.
   */
  #isBeforeRequest = true;
  #exchange: HttpExchange | undefined;
  /**
   * The number of bytes of the current body that are still missing; infinite if the body is
   * chunked.
   */
  #bodyBytesLeft = 0;
  #isPumping = false;
  #hasPushedEnd = false;
  /**
   * True if Node gets no more bytes, because the last response is being sent, or because another
   * handler has the client.
   */
  #isOver = false;

  constructor(client: ClientConnection, queue: TurnQueue, unfinished: UnfinishedBytes) {
    // The stream may be half open: a client may end its side and still wait for the response.
    super({ allowHalfOpen: true, decodeStrings: false });
    this.client = client;
    this.#queue = queue;
    this.#unfinished = unfinished;
    // This stream needs its own listener, because Node removes Node's listener at a CONNECT or an
    // upgrade.
    this.on('error', () => undefined);
    this.on('resume', () => this.#queue.add(this));
  }

  get isBusy(): boolean {
    return this.#hasBytes || this.exchange !== undefined || this.writableLength > 0;
  }

  /** True if no further request of this connection will be answered. */
  get isLastRequest(): boolean {
    return this.#isOver || (this.client.isDraining && this.#held.length <= this.#bodyBytesLeft);
  }

  /** Starts the stream with bytes that were read before the stream was created. */
  start(head: Buffer, rest: Buffer): void {
    this.#firstPiece = head;
    this.#hold(rest);
    if (this.#hasBytes) this.client.pause();
    this.#queue.add(this);
  }

  takeRead(bytes: Buffer, length: number): void {
    // The client is read again after these bytes were passed on.
    this.client.pause();
    if (this.#isOver) return;
    const read = Buffer.from(bytes.subarray(0, length));
    this.#hold(this.#held.length === 0 ? read : Buffer.concat([this.#held, read]));
    this.#queue.add(this);
  }

  takeEnd(): void {
    this.#queue.add(this);
  }

  close(): void {
    this.destroy();
  }

  /** Called with each request when the request starts. */
  begin(exchange: HttpExchange): void {
    const { request, response } = exchange;
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    this.#exchange = exchange;
    this.#bodyBytesLeft = coding === undefined ? Number(length ?? 0) : Number.POSITIVE_INFINITY;
    response.once('close', () => this.#queue.add(this));
  }

  /** The request in flight; undefined if no request is in flight. */
  get exchange(): HttpExchange | undefined {
    return this.#exchange?.request.complete && this.#exchange.response.closed
      ? undefined
      : this.#exchange;
  }

  /** Stops passing on bytes, and returns the remaining bytes. */
  stop(): Buffer {
    this.#isOver = true;
    const held = this.#held;
    this.#hold(NOTHING);
    return held;
  }

  #hold(bytes: Buffer): void {
    this.#held = bytes;
    // A view of a buffer prevents the whole buffer from being freed, so the size of the whole
    // buffer is counted.
    this.#unfinished.note(this, bytes.length === 0 ? 0 : bytes.buffer.byteLength);
  }

  /**
   * Drops the requests that wait for a response, without reading them. Does nothing unless a
   * complete request is in flight.
   */
  refuseUnfinished(): void {
    const { exchange } = this;
    if (exchange === undefined || !exchange.request.complete) return;
    this.stop();
    exchange.response.once('close', () => this.destroySoon());
  }

  get isStopped(): boolean {
    return this.#isOver;
  }

  /** Called by Node when the last response is written. A socket has the same method. */
  destroySoon(): void {
    this.stop();
    this.client.linger();
  }

  /** Writes the last response. */
  endWith(text: string): void {
    this.stop();
    this.client.socket.write(text, 'latin1');
    this.client.linger();
  }

  /** Sets the connection's only deadline. Called by Node. */
  setTimeout(ms: number): this {
    this.client.socket.setTimeout(ms);
    return this;
  }

  override _read(): void {
    this.#isRead = true;
    process.nextTick(() => {
      // A new request waits for its turn. The rest of the current request is passed on immediately.
      if (this.#exchange === undefined || this.#exchange.request.complete) this.#queue.add(this);
      else if (!this.#queue.has(this)) this.pump();
    });
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    // A failed write closes the socket, and the socket then closes this stream.
    this.client.socket.write(chunk, encoding, (error) => {
      if (!error) done();
    });
  }

  override _writev(parts: { chunk: Buffer | string; encoding: BufferEncoding }[], done: Done) {
    const { socket } = this.client;
    socket.cork();
    const last = parts.length - 1;
    for (const [index, { chunk, encoding }] of parts.entries()) {
      if (index < last) socket.write(chunk, encoding);
      else this._write(chunk, encoding, done);
    }
    socket.uncork();
  }

  override _final(done: Done): void {
    this.client.socket.end(() => done());
  }

  override _destroy(_error: Error | null, done: Done): void {
    this.stop();
    if (!this.client.isEnding) this.client.socket.destroy();
    done();
  }

  /**
   * Passes on the bytes that Node may get now: the rest of the current request, or the next
   * request.
   */
  pump(): void {
    if (this.#isPumping || this.#isOver || this.destroyed) return;
    this.#isPumping = true;
    for (let pieces = 0; pieces < PIECES_PER_TURN && this.#canPump(); pieces++) {
      this.push(this.#takePiece());
    }
    this.#isPumping = false;
    if (this.#isOver || this.destroyed) return;
    if (this.#hasBytes) {
      if (this.#canPump()) this.#queue.add(this);
      else if (this.#mayReadAhead) this.client.resume();
    } else if (this.client.hasEnded) {
      this.#pumpEnd();
    } else {
      this.client.resume();
    }
  }

  /**
   * True if the client may be read while a response is pending, to notice that the client is gone.
   */
  get #mayReadAhead(): boolean {
    const { exchange } = this;
    const isPending = exchange?.request.complete === true && !exchange.response.headersSent;
    return isPending && this.#held.length <= READ_AHEAD_BYTES_MAX;
  }

  #canPump(): boolean {
    const isTaking = this.#isRead && this.readableLength === 0 && !this.isPaused();
    return this.#hasBytes && isTaking && this.#isNext();
  }

  get #hasBytes(): boolean {
    return this.#firstPiece.length > 0 || this.#held.length > 0;
  }

  /**
   * Returns true if Node may get the next bytes: no response is pending, or the bytes belong to the
   * current body.
   */
  #isNext(): boolean {
    if (this.#isOver || this.destroyed) return false;
    if (this.#exchange === undefined || !this.#exchange.request.complete) return true;
    if (!this.#exchange.response.closed) return false;
    this.#exchange = undefined;
    this.#bodyBytesLeft = 0;
    this.#isBeforeRequest = true;
    return true;
  }

  /** Takes the part of a body or of the headers that has arrived. */
  #takePiece(): Buffer {
    if (this.#firstPiece.length > 0) return this.#takeFirstPiece();
    const length = Math.min(this.#pieceLength(), this.#held.length);
    const piece = this.#held.subarray(0, length);
    this.#hold(length === this.#held.length ? NOTHING : this.#held.subarray(length));
    this.#lastBytes = (this.#lastBytes + piece.toString('latin1', Math.max(0, length - 3))).slice(
      -3,
    );
    if (this.#bodyBytesLeft > 0) this.#bodyBytesLeft -= length;
    return piece;
  }

  #takeFirstPiece(): Buffer {
    const piece = this.#firstPiece;
    this.#firstPiece = NOTHING;
    this.#isBeforeRequest = false;
    return piece;
  }

  #pieceLength(): number {
    // All empty lines are one piece. If each empty line were a piece, a client could keep the
    // server busy with empty lines.
    const emptyLength = this.#isBeforeRequest ? countEmptyLines(this.#held) : 0;
    if (emptyLength > 0) return emptyLength;
    this.#isBeforeRequest = false;
    const isBody = this.#exchange !== undefined && this.#bodyBytesLeft > 0;
    if (isBody && Number.isFinite(this.#bodyBytesLeft)) return this.#bodyBytesLeft;
    const end = findSectionEnd(this.#held, this.#lastBytes);
    return end === -1 ? this.#held.length : end;
  }

  /**
   * Ends the stream after all responses. If the client ended in the middle of a request, ends the
   * stream immediately.
   */
  #pumpEnd(): void {
    if (this.#hasPushedEnd || this.readableLength > 0 || !this.#isNext()) return;
    this.#hasPushedEnd = true;
    this.push(null);
  }
}

/**
 * The fast lane: requests of the ordinary shape (ordinary-request.ts) that come whole in one read are
 * answered straight on the socket, past Node's HTTP server, which takes several times as long for a
 * request as its answer does. Only answers are given here, status 200, with the bytes that Node would
 * have sent. At the first sign of anything else (a part of a request, an unusual header, a question
 * that is refused, a client that does not read) the connection is handed to Node's server with all
 * its bytes, for good: its behaviour is the reference, and this file has none of its own.
 *
 * What is read in one turn of the event loop is first gathered, then answered, then sent, all of it
 * together. Each of the three runs its own code many times in a row, which is then in the processor's
 * cache; and a write wakes the client up, but while it is awake the next one costs much less.
 */

import type { Socket } from 'node:net';
import type { Settings } from '../../config.ts';
import type { Admission } from '../admission.ts';
import { hashSecret } from '../keys.ts';
import type { Metrics } from '../metrics.ts';
import { stalledMsMax, TIMEOUT_CHECK_MS } from '../stalled.ts';
import { parseOrdinaryHead } from './ordinary-request.ts';
import { Responder } from './responder.ts';
import { readConnection } from './shared-reads.ts';

export interface LaneParts {
  readonly admission: Admission;
  readonly metrics: Metrics;
  readonly settings: Settings<LaneSettingName>;
}

type LaneSettingName =
  | 'bodyBytesMax'
  | 'headerBytesMax'
  | 'headerTimeout'
  | 'requestTimeout'
  | 'idleTimeout'
  | 'minHeightWait';

/** Takes a connection that is no longer for the fast lane. */
export type HandOver = (socket: Socket) => void;

const HEAD_END = '\r\n\r\n';
/** What one turn gathers at most; nobody waits for more than so many others. */
const TURN_BYTES = 1 << 18;
const TURN_READS_MAX = 128;
/** How much longer than it says Node keeps a connection, lest a request meets its end. */
const KEPT_LONGER_MS = 1000;

/** A connection of the lane, and what is remembered of it. */
class LaneConnection {
  readonly socket: Socket;
  stopReading: () => void = () => undefined;
  /** Forgets it, once its reading has stopped. */
  release: () => void = () => undefined;
  activeMs: number;
  hasAsked = false;
  /** Still sending, longer than it took to write. */
  isSending = false;
  isClosing = false;
  hasLeft = false;
  /** What was read in this turn, among the turn's bytes; nothing where both are the same. */
  readStart = 0;
  readEnd = 0;
  /** The responses to it. */
  text = '';
  /** The head of the last request: as long as the next is the same, it means the same. */
  head: Buffer = Buffer.alloc(0);
  secretHash = '';
  bodyLength = 0;

  constructor(socket: Socket, nowMs: number) {
    this.socket = socket;
    this.activeMs = nowMs;
  }
}

/** A request that was found in the turn's bytes, and where. */
interface LaneRequest {
  readonly start: number;
  readonly bodyStart: number;
  readonly end: number;
  readonly secretHash: string;
}

export class FastLane {
  readonly #parts: LaneParts;
  readonly #handOver: HandOver;
  readonly #responder: Responder;
  readonly #connections = new Set<LaneConnection>();
  readonly #timer: NodeJS.Timeout;
  /** What this turn has read so far: the bytes of each connection that has sent any. */
  readonly #bytes = Buffer.allocUnsafeSlow(TURN_BYTES);
  #bytesUsed = 0;
  readonly #turn: LaneConnection[] = [];
  #turnStartedMs = 0;
  /** The requests in one read, and how many of each type the turn has answered. */
  readonly #requests: LaneRequest[] = [];
  readonly #answered = new Map<string, number>();

  constructor(parts: LaneParts, handOver: HandOver) {
    this.#parts = parts;
    this.#handOver = handOver;
    this.#responder = new Responder(parts);
    this.#timer = setInterval(() => this.#closeExpired(performance.now()), TIMEOUT_CHECK_MS);
    this.#timer.unref();
  }

  accept(socket: Socket): void {
    const connection = new LaneConnection(socket, performance.now());
    this.#connections.add(connection);
    const stopReading = readConnection(socket, (bytes, length) => {
      this.#read(connection, bytes, length);
    });
    const end = () => {
      this.#finishTurn();
      socket.end();
    };
    const fail = () => socket.destroy();
    const close = () => this.#connections.delete(connection);
    socket.on('end', end).on('error', fail).on('close', close);
    connection.stopReading = () => {
      stopReading();
      socket.off('end', end);
    };
    connection.release = () => {
      socket.off('error', fail).off('close', close);
      this.#connections.delete(connection);
    };
  }

  /** Closes the connections that wait for nothing; those on their way to Node wait for its answer. */
  closeIdle(): void {
    this.#finishTurn();
    for (const connection of this.#connections) {
      if (connection.hasLeft || connection.isClosing) continue;
      connection.isClosing = true;
      connection.socket.destroySoon();
    }
  }

  closeAll(): void {
    for (const { socket } of this.#connections) socket.destroy();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #closeExpired(nowMs: number): void {
    const { idleTimeout, headerTimeout, requestTimeout } = this.#parts.settings;
    const firstMs = Math.min(headerTimeout, requestTimeout);
    for (const { socket, activeMs, hasAsked, isSending } of this.#connections) {
      const allowedMs = hasAsked ? idleTimeout + KEPT_LONGER_MS : firstMs;
      if (!isSending && nowMs - activeMs > allowedMs) socket.destroy();
    }
  }

  /** Puts what was read aside until the turn is over. */
  #read(connection: LaneConnection, bytes: Buffer, length: number): void {
    const hasRead = connection.readEnd > connection.readStart;
    if (hasRead || this.#bytesUsed + length > TURN_BYTES || this.#turn.length === TURN_READS_MAX) {
      this.#finishTurn();
    }
    // The first read of this turn may just have been handed over: this one goes the same way.
    if (connection.hasLeft) {
      connection.socket.push(Buffer.from(bytes.subarray(0, length)));
      return;
    }
    if (this.#turn.length === 0) this.#startTurn();
    connection.readStart = this.#bytesUsed;
    connection.readEnd = this.#bytesUsed + length;
    bytes.copy(this.#bytes, this.#bytesUsed, 0, length);
    connection.activeMs = this.#turnStartedMs;
    this.#bytesUsed += length;
    this.#turn.push(connection);
  }

  #startTurn(): void {
    this.#turnStartedMs = performance.now();
    setImmediate(() => this.#finishTurn());
  }

  /** Answers all that was read, then sends all answers. */
  #finishTurn(): void {
    if (this.#turn.length === 0) return;
    const connections = this.#turn.splice(0);
    this.#bytesUsed = 0;
    for (const connection of connections) this.#answerRead(connection);
    for (const connection of connections) this.#send(connection);
    const seconds = (performance.now() - this.#turnStartedMs) / 1000;
    for (const [type, count] of this.#answered) {
      this.#parts.metrics.countAnswers(type, seconds, count);
    }
    this.#answered.clear();
  }

  /** Answers what a connection has sent, as far as it can be; the rest is handed over. */
  #answerRead(connection: LaneConnection): void {
    const { readStart, readEnd } = connection;
    connection.readStart = connection.readEnd;
    const isOrdinary = this.#findRequests(connection, readStart, readEnd);
    let start = readStart;
    for (const request of isOrdinary ? this.#requests : []) {
      if (!this.#answer(connection, request)) break;
      start = request.end;
    }
    if (start < readEnd) this.#leave(connection, Buffer.from(this.#bytes.subarray(start, readEnd)));
  }

  /** Finds the requests in what was read; false where it is not made of ordinary ones, and whole. */
  #findRequests(connection: LaneConnection, readStart: number, readEnd: number): boolean {
    this.#requests.length = 0;
    // A client that has not read what it was sent is for Node to hold back.
    if (connection.socket.writableLength > 0) return false;
    for (let start = readStart; start < readEnd; ) {
      if (!this.#readHead(connection, start, readEnd)) return false;
      const bodyStart = start + connection.head.length;
      const end = bodyStart + connection.bodyLength;
      if (end > readEnd) return false;
      this.#requests.push({ start, bodyStart, end, secretHash: connection.secretHash });
      start = end;
    }
    return true;
  }

  /** Understands the head that starts there; false where it is not whole, or not ordinary. */
  #readHead(connection: LaneConnection, start: number, readEnd: number): boolean {
    const { head } = connection;
    const sameEnd = start + head.length;
    const isLong = head.length > 0 && sameEnd <= readEnd;
    if (isLong && this.#bytes.compare(head, 0, head.length, start, sameEnd) === 0) return true;
    const end = this.#bytes.indexOf(HEAD_END, start, 'latin1');
    const bodyStart = end + HEAD_END.length;
    const { headerBytesMax, bodyBytesMax } = this.#parts.settings;
    if (end === -1 || bodyStart > readEnd || end - start >= headerBytesMax) return false;
    const ordinary = parseOrdinaryHead(this.#bytes.toString('latin1', start, end));
    if (ordinary === undefined || ordinary.bodyLength > bodyBytesMax) return false;
    connection.head = Buffer.from(this.#bytes.subarray(start, bodyStart));
    connection.secretHash = hashSecret(ordinary.secret);
    connection.bodyLength = ordinary.bodyLength;
    return true;
  }

  /** Keeps the answer to a request to be sent; false where it is not answered, but refused. */
  #answer(connection: LaneConnection, { secretHash, bodyStart, end }: LaneRequest): boolean {
    const responder = this.#responder;
    try {
      connection.text += responder.respond(secretHash, this.#bytes, bodyStart, end);
    } catch {
      // Whatever it is, Node's server meets it again, and tells the client.
      return false;
    }
    connection.hasAsked = true;
    this.#answered.set(responder.type, (this.#answered.get(responder.type) ?? 0) + 1);
    return true;
  }

  #send(connection: LaneConnection): void {
    const { socket, text } = connection;
    if (text === '') return;
    connection.text = '';
    if (socket.destroyed) return;
    socket.write(text, 'latin1');
    if (socket.writableLength > 0) this.#awaitReader(connection);
  }

  /** As long as the client takes what it is sent it is not idle; Node's server waits as long for one. */
  #awaitReader(connection: LaneConnection): void {
    if (connection.isSending) return;
    const { socket } = connection;
    const stop = () => socket.destroy();
    connection.isSending = true;
    socket.setTimeout(stalledMsMax(this.#parts.settings), stop);
    socket.write('', () => {
      socket.setTimeout(0, stop);
      connection.isSending = false;
      connection.activeMs = performance.now();
    });
  }

  /** Node's server gets the connection once all that was answered here is out. */
  #leave(connection: LaneConnection, bytes: Buffer): void {
    const { socket } = connection;
    connection.hasLeft = true;
    this.#send(connection);
    connection.stopReading();
    socket.pause();
    socket.unshift(bytes);
    const leave = () => {
      if (socket.destroyed) return;
      connection.release();
      this.#handOver(socket);
      socket.resume();
    };
    if (socket.writableLength === 0) leave();
    else socket.write('', leave);
  }
}

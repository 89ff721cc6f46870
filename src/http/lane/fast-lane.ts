/**
 * The fast lane: requests of the ordinary shape (ordinary-request.ts) that come whole in one read are
 * answered straight on the socket, past Node's HTTP server, which takes several times as long for a
 * request as its answer does. Only answers are given here, status 200, with the bytes that Node would
 * have sent. At the first sign of anything else (a part of a request, an unusual header, a question
 * that is refused, a client that does not read) the connection is handed to Node's server with all
 * its bytes, for good: its behaviour is the reference, and this file has none of its own.
 *
 * What the reads of one turn of the event loop ask is answered first and sent then, all together:
 * a write wakes the client up, and while it is awake the next one costs much less.
 */

import type { Socket } from 'node:net';
import type { Settings } from '../../config.ts';
import { AnswerWriter, type FixedText, fixedText } from '../../info/answer-writer.ts';
import type { StateView } from '../../state/state.ts';
import type { Admission } from '../admission.ts';
import { hashSecret, type Key } from '../keys.ts';
import type { Metrics } from '../metrics.ts';
import { COMMON_HEADERS } from '../respond.ts';
import { LaneAnswers } from './lane-answers.ts';
import { parseOrdinaryHead } from './ordinary-request.ts';
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
  | 'pipelineMax';

/** Takes a connection that is not, or no longer, for the fast lane. */
export type HandOver = (socket: Socket) => void;

const HEAD_END = '\r\n\r\n';
const HEAD_END_BYTES = HEAD_END.length;
/** Answers are not held back for more connections than this. */
const TURN_CONNECTIONS_MAX = 128;
const TIMEOUT_CHECK_MS = 500;
/** More than the head of any response takes. */
const HEAD_BYTES_MAX = 1024;

const HEAD_START = fixedText(
  `HTTP/1.1 200 OK\r\n${Object.entries(COMMON_HEADERS)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}Content-Length: `,
);
const LIMIT = fixedText('\r\nRateLimit-Limit: ');
const REMAINING = fixedText('\r\nRateLimit-Remaining: ');
const RESET = fixedText('\r\nRateLimit-Reset: ');

/** A connection of the lane, and what is remembered of its requests. */
class LaneConnection {
  readonly socket: Socket;
  stopReading: () => void = () => undefined;
  /** Forgets it, once its reading has stopped. */
  release: () => void = () => undefined;
  activeMs: number;
  hasAsked = false;
  /** The head of the last request: as long as the next is the same, it means the same. */
  head: Buffer = Buffer.alloc(0);
  secretHash = '';
  bodyLength = 0;
  /** Responses that have not been sent yet. */
  text = '';

  constructor(socket: Socket, nowMs: number) {
    this.socket = socket;
    this.activeMs = nowMs;
  }
}

/** A request that was found in the bytes of a read, and where. */
interface LaneRequest {
  readonly start: number;
  readonly bodyStart: number;
  readonly end: number;
  readonly secretHash: string;
}

export class FastLane {
  readonly #parts: LaneParts;
  readonly #handOver: HandOver;
  readonly #answers = new LaneAnswers();
  readonly #requests: LaneRequest[] = [];
  readonly #responses = new AnswerWriter();
  readonly #connections = new Set<LaneConnection>();
  readonly #timer: NodeJS.Timeout;
  /** Those that have responses to be sent in this turn, how many of which type, and since when. */
  readonly #turn: LaneConnection[] = [];
  readonly #turnTypes = new Map<string, number>();
  #turnStartedMs = 0;
  #isTurnOpen = false;
  /** The headers that all responses of a height, or of a second, have in common. */
  #ledgerHead = { height: -1, text: fixedText('') };
  #endOfHead = { second: -1, text: fixedText('') };

  constructor(parts: LaneParts, handOver: HandOver) {
    this.#parts = parts;
    this.#handOver = handOver;
    this.#timer = setInterval(() => this.#closeExpired(performance.now()), TIMEOUT_CHECK_MS);
    this.#timer.unref();
  }

  accept(socket: Socket): void {
    const connection = new LaneConnection(socket, performance.now());
    this.#connections.add(connection);
    const end = () => {
      this.#send(connection);
      socket.end();
    };
    const fail = () => socket.destroy();
    const close = () => this.#connections.delete(connection);
    const stopReading = readConnection(socket, (bytes, length) => {
      this.#read(connection, bytes, length);
    });
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

  /** Closes the connections that wait for nothing. */
  closeIdle(): void {
    for (const { socket, text } of this.#connections) if (text === '') socket.destroySoon();
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
    for (const { socket, activeMs, hasAsked } of this.#connections) {
      if (nowMs - activeMs > (hasAsked ? idleTimeout : firstMs)) socket.destroy();
    }
  }

  #read(connection: LaneConnection, bytes: Buffer, length: number): void {
    this.#openTurn();
    connection.activeMs = this.#turnStartedMs;
    const isOrdinary = this.#findRequests(connection, bytes, length);
    const requests = this.#requests;
    let answered = 0;
    this.#responses.clear();
    while (isOrdinary && answered < requests.length && this.#answer(bytes, requests[answered])) {
      answered++;
    }
    this.#keep(connection);
    if (isOrdinary && answered === requests.length) return;
    const start = answered === 0 ? 0 : requests[answered].start;
    this.#leave(connection, Buffer.from(bytes.subarray(start, length)));
  }

  /** Finds the requests in what was read; false where it is not made of ordinary ones, and whole. */
  #findRequests(connection: LaneConnection, bytes: Buffer, length: number): boolean {
    this.#requests.length = 0;
    // A client that has not read what it was sent is for Node to hold back.
    if (connection.socket.writableLength > 0) return false;
    for (let start = 0; start < length; ) {
      if (!this.#readHead(connection, bytes, start, length)) return false;
      const bodyStart = start + connection.head.length;
      const end = bodyStart + connection.bodyLength;
      if (end > length) return false;
      this.#requests.push({ start, bodyStart, end, secretHash: connection.secretHash });
      start = end;
    }
    // With more than may be sent ahead, Node's server cuts the connection off.
    return this.#requests.length <= this.#parts.settings.pipelineMax;
  }

  #openTurn(): void {
    if (this.#isTurnOpen) return;
    this.#isTurnOpen = true;
    this.#turnStartedMs = performance.now();
    setImmediate(() => this.#closeTurn());
  }

  /** Holds the responses to what was just read until the turn is over. */
  #keep(connection: LaneConnection): void {
    if (this.#responses.length === 0) return;
    if (connection.text === '') this.#turn.push(connection);
    connection.text += this.#responses.toString();
    connection.hasAsked = true;
    if (this.#turn.length >= TURN_CONNECTIONS_MAX) this.#sendAll();
  }

  #closeTurn(): void {
    this.#isTurnOpen = false;
    this.#sendAll();
  }

  #sendAll(): void {
    for (const connection of this.#turn) this.#send(connection);
    this.#turn.length = 0;
    const seconds = (performance.now() - this.#turnStartedMs) / 1000;
    for (const [type, count] of this.#turnTypes) {
      this.#parts.metrics.countAnswers(type, seconds, count);
    }
    this.#turnTypes.clear();
  }

  #send(connection: LaneConnection): void {
    const { socket, text } = connection;
    if (text === '') return;
    connection.text = '';
    if (!socket.destroyed) socket.write(text, 'latin1');
  }

  /** Node's server gets the connection once all that was answered here is out. */
  #leave(connection: LaneConnection, bytes: Buffer): void {
    const { socket } = connection;
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

  /** Writes the answer to a request; false where it is not answered, but refused. */
  #answer(bytes: Buffer, { secretHash, bodyStart, end }: LaneRequest): boolean {
    try {
      this.#respond(secretHash, bytes, bodyStart, end);
      return true;
    } catch {
      // Whatever it is, Node's server meets it again, and tells the client.
      return false;
    }
  }

  /** Understands the head that starts there; false where it is not whole, or not ordinary. */
  #readHead(connection: LaneConnection, bytes: Buffer, start: number, length: number): boolean {
    const { head } = connection;
    const sameEnd = start + head.length;
    if (head.length > 0 && sameEnd <= length && isAt(bytes, start, head)) return true;
    const end = bytes.indexOf(HEAD_END, start, 'latin1');
    const headEnd = end + HEAD_END_BYTES;
    const { headerBytesMax, bodyBytesMax } = this.#parts.settings;
    if (end === -1 || headEnd > length || end - start >= headerBytesMax) return false;
    const ordinary = parseOrdinaryHead(bytes.toString('latin1', start, end));
    if (ordinary === undefined || ordinary.bodyLength > bodyBytesMax) return false;
    connection.head = Buffer.from(bytes.subarray(start, headEnd));
    connection.secretHash = hashSecret(ordinary.secret);
    connection.bodyLength = ordinary.bodyLength;
    return true;
  }

  /** Writes the response to a question; throws, and has changed nothing, where it is not an answer. */
  #respond(secretHash: string, bytes: Buffer, start: number, end: number): void {
    const { admission } = this.#parts;
    const key = admission.requireKey(secretHash);
    const state = admission.requireState();
    const question = this.#answers.understand(state, bytes, start, end);
    admission.checkBudget(key, question.weight);
    admission.checkLoad();
    question.compute(state);
    this.#writeHead(state, key, question.weight, question.length);
    question.write(this.#responses);
    this.#turnTypes.set(question.type, (this.#turnTypes.get(question.type) ?? 0) + 1);
  }

  /** The head of a response, byte for byte as Node writes what respond.ts gives it. */
  #writeHead(state: StateView, key: Key, weight: number, bodyLength: number): void {
    const out = this.#responses;
    out.reserve(HEAD_BYTES_MAX);
    out.fixed(HEAD_START);
    out.whole(bodyLength);
    out.fixed(this.#ledgerHeadOf(state));
    const allowance = this.#parts.admission.charge(key, weight);
    if (allowance !== undefined) {
      out.fixed(LIMIT);
      out.whole(allowance.limit);
      out.fixed(REMAINING);
      out.whole(allowance.remaining);
      out.fixed(RESET);
      out.whole(allowance.resetSeconds);
    }
    out.fixed(this.#endOfHeadNow());
  }

  #ledgerHeadOf({ height, time }: StateView): FixedText {
    if (this.#ledgerHead.height !== height) {
      const text = fixedText(`\r\nLedger-Height: ${height}\r\nLedger-Time: ${time}`);
      this.#ledgerHead = { height, text };
    }
    return this.#ledgerHead.text;
  }

  #endOfHeadNow(): FixedText {
    const nowMs = Date.now();
    const second = Math.floor(nowMs / 1000);
    if (this.#endOfHead.second !== second) {
      const date = new Date(nowMs).toUTCString();
      const keptSeconds = Math.floor(this.#parts.settings.idleTimeout / 1000);
      const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${keptSeconds}`;
      this.#endOfHead = { second, text: fixedText(`\r\nDate: ${date}\r\n${keepAlive}${HEAD_END}`) };
    }
    return this.#endOfHead.text;
  }
}

/** Whether the bytes stand there. From the end, where heads differ: in the length of their body. */
function isAt(bytes: Buffer, start: number, expected: Buffer): boolean {
  for (let index = expected.length - 1; index >= 0; index--) {
    if (bytes[start + index] !== expected[index]) return false;
  }
  return true;
}

/**
 * The fast lane: requests of the ordinary shape (ordinary-request.ts) that come whole in one read are
 * answered straight on the socket, past Node's HTTP server, which takes several times as long for a
 * request as its answer does. Only answers are given here, status 200, with the bytes that Node would
 * have sent. At the first sign of anything else (a part of a request, an unusual header, a question
 * that is refused) the connection goes to Node's server with the rest of its bytes, for good: its
 * behaviour is the reference, and this file has none of its own.
 *
 * What is read in one turn of the event loop is first gathered, then answered, then sent, all of it
 * together. Each of the three runs its own code many times in a row, which is then in the processor's
 * cache; and a write wakes the client up, but while it is awake the next one costs much less.
 *
 * A connection's share of a turn is bounded. What it has sent beyond that is held, and it is not read
 * from, until the next turn and until it has taken the responses before.
 */

import type { Logger } from 'pino';
import { hashSecret } from '../../access/keys.ts';
import type { Settings } from '../../config/settings.ts';
import { RequestError } from '../../info/request-error.ts';
import type { LaneExit, Metrics } from '../../service/metrics.ts';
import type { Admission } from '../admission.ts';
import type { ClientConnection, ConnectionHandler } from '../connections/client-connection.ts';
import { stalledMsMax, TIMEOUT_CHECK_MS } from '../connections/timeouts.ts';
import { parseOrdinaryHead } from './ordinary-request.ts';
import { Responder } from './responder.ts';

export interface LaneParts {
  readonly admission: Admission;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly settings: Settings<LaneSettingName>;
}

type LaneSettingName =
  | 'bodyBytesMax'
  | 'headerBytesMax'
  | 'headerTimeout'
  | 'requestTimeout'
  | 'idleTimeout'
  | 'minHeightWait';

/** Takes a connection that is no longer for the fast lane, with the bytes that it has sent. */
export interface NodeTransport {
  readonly isDraining: boolean;
  passToNode(client: ClientConnection, sent: { readonly rest: Buffer }): void;
}

const HEAD_END = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);
/** What one turn gathers at most; nobody waits for more than so many others. */
const TURN_BYTES = 1 << 18;
const TURN_READS_MAX = 128;
/** A connection's share of a turn: it gets so many answers, and none beyond so many bytes. */
const SHARE_REQUESTS_MAX = 16;
const SHARE_BYTES_MAX = 1 << 16;
/** How much longer than it says Node keeps a connection, lest a request meets its end. */
const KEPT_LONGER_MS = 1000;

/** A connection of the lane, and what is remembered of it. */
class LaneConnection implements ConnectionHandler {
  readonly client: ClientConnection;
  readonly #lane: FastLane;
  activeMs: number;
  hasAsked = false;
  /** Still sending, longer than it took to write. */
  isSending = false;
  hasLeft = false;
  /** What was read in this turn, among the turn's bytes; nothing where both are the same. */
  readStart = 0;
  readEnd = 0;
  /** What was read and is beyond this turn. */
  held: Buffer = NOTHING;
  /** The responses to it. */
  text = '';
  /** The head of the last request: as long as the next is the same, it means the same. */
  head: Buffer = NOTHING;
  secretHash = '';
  bodyLength = 0;

  constructor(client: ClientConnection, lane: FastLane, nowMs: number) {
    this.client = client;
    this.#lane = lane;
    this.activeMs = nowMs;
  }

  get isBusy(): boolean {
    return this.readEnd > this.readStart || this.held.length > 0;
  }

  takeRead(bytes: Buffer, length: number): void {
    this.#lane.read(this, bytes, length);
  }

  takeEnd(): void {
    this.#lane.readEnd(this);
  }

  close(): void {
    this.#lane.forget(this);
  }

  holdLast(bytes: Buffer): void {
    this.held = Buffer.concat([this.held, bytes]);
    this.client.pause();
  }

  holdFirst(bytes: Buffer): void {
    this.held = Buffer.concat([bytes, this.held]);
    this.client.pause();
  }
}

/** Why a request is not answered now: its turn is later, an error of ours, or it is not for the lane. */
type NotAnswered = 'held' | 'failed' | LaneExit;
type Outcome = 'answered' | Exclude<NotAnswered, 'held'>;

export class FastLane {
  readonly #parts: LaneParts;
  readonly #node: NodeTransport;
  readonly #responder: Responder;
  readonly #connections = new Set<LaneConnection>();
  readonly #timer: NodeJS.Timeout;
  /** What this turn has read so far: the bytes of each connection that has sent any. */
  readonly #bytes = Buffer.allocUnsafeSlow(TURN_BYTES);
  #bytesUsed = 0;
  readonly #turn: LaneConnection[] = [];
  #turnStartedMs = 0;
  /** How many of each type the turn has answered. */
  readonly #answered = new Map<string, number>();

  constructor(parts: LaneParts, node: NodeTransport) {
    this.#parts = parts;
    this.#node = node;
    this.#responder = new Responder(parts);
    this.#timer = setInterval(() => this.#closeExpired(performance.now()), TIMEOUT_CHECK_MS);
    this.#timer.unref();
  }

  accept(client: ClientConnection): void {
    const connection = new LaneConnection(client, this, performance.now());
    this.#connections.add(connection);
    client.handleWith(connection);
  }

  forget(connection: LaneConnection): void {
    this.#connections.delete(connection);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #closeExpired(nowMs: number): void {
    const { idleTimeout, headerTimeout, requestTimeout } = this.#parts.settings;
    const firstMs = Math.min(headerTimeout, requestTimeout);
    for (const { client, activeMs, hasAsked, isSending } of this.#connections) {
      const allowedMs = hasAsked ? idleTimeout + KEPT_LONGER_MS : firstMs;
      if (!isSending && nowMs - activeMs > allowedMs) client.socket.destroy();
    }
  }

  /** Puts what was read aside until the turn is over. */
  read(connection: LaneConnection, bytes: Buffer, length: number): void {
    if (connection.isBusy) {
      connection.holdLast(bytes.subarray(0, length));
      return;
    }
    if (this.#bytesUsed + length > TURN_BYTES || this.#turn.length === TURN_READS_MAX) {
      this.#finishTurn();
    }
    if (this.#turn.length === 0) this.#startTurn();
    connection.readStart = this.#bytesUsed;
    connection.readEnd = this.#bytesUsed + length;
    bytes.copy(this.#bytes, this.#bytesUsed, 0, length);
    connection.activeMs = this.#turnStartedMs;
    this.#bytesUsed += length;
    this.#turn.push(connection);
  }

  /** The client has ended its side: ours ends when all that it asked is answered. */
  readEnd(connection: LaneConnection): void {
    if (!connection.isBusy) connection.client.socket.end();
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

  /** Answers what a connection has sent, as far as its share goes; what the lane does not take leaves. */
  #answerRead(connection: LaneConnection): void {
    const { readEnd } = connection;
    let start = connection.readStart;
    connection.readStart = readEnd;
    const isWaiting = connection.client.socket.writableLength > 0;
    for (let count = 0; start < readEnd; count++) {
      const isShareOver = count === SHARE_REQUESTS_MAX || connection.text.length > SHARE_BYTES_MAX;
      const outcome =
        isWaiting || isShareOver ? 'held' : this.#answerNext(connection, start, readEnd);
      if (outcome !== 'answered') {
        this.#putAway(connection, this.#bytes.subarray(start, readEnd), outcome);
        return;
      }
      start += connection.head.length + connection.bodyLength;
    }
  }

  /** What is not answered now: it is held, it goes with the connection, or the connection ends. */
  #putAway(connection: LaneConnection, bytes: Buffer, outcome: NotAnswered): void {
    if (outcome === 'held') connection.holdFirst(bytes);
    else if (outcome === 'failed') this.#cutOff(connection);
    else this.#leave(connection, bytes, outcome);
  }

  /** Answers the request that starts there. */
  #answerNext(connection: LaneConnection, start: number, readEnd: number): Outcome {
    if (this.#node.isDraining) return 'draining';
    const unreadable = this.#readHead(connection, start, readEnd);
    if (unreadable !== undefined) return unreadable;
    const bodyStart = start + connection.head.length;
    const end = bodyStart + connection.bodyLength;
    if (end > readEnd) return 'partial';
    return this.#answer(connection, bodyStart, end);
  }

  /** Understands the head that starts there; otherwise says why it cannot. */
  #readHead(
    connection: LaneConnection,
    start: number,
    readEnd: number,
  ): 'partial' | 'unusual' | undefined {
    const { head } = connection;
    const sameEnd = start + head.length;
    const isLong = head.length > 0 && sameEnd <= readEnd;
    if (isLong && this.#bytes.compare(head, 0, head.length, start, sameEnd) === 0) return undefined;
    const end = this.#bytes.indexOf(HEAD_END, start, 'latin1');
    const bodyStart = end + HEAD_END.length;
    const { headerBytesMax, bodyBytesMax } = this.#parts.settings;
    if (end === -1 || bodyStart > readEnd) return 'partial';
    if (end - start >= headerBytesMax) return 'unusual';
    const ordinary = parseOrdinaryHead(this.#bytes.toString('latin1', start, end));
    if (ordinary === undefined || ordinary.bodyLength > bodyBytesMax) return 'unusual';
    connection.head = Buffer.from(this.#bytes.subarray(start, bodyStart));
    connection.secretHash = hashSecret(ordinary.secret);
    connection.bodyLength = ordinary.bodyLength;
    return undefined;
  }

  /** Keeps the answer to a request to be sent. A refusal is for Node's server to tell. */
  #answer(connection: LaneConnection, bodyStart: number, end: number): Outcome {
    const responder = this.#responder;
    try {
      connection.text += responder.respond(connection.secretHash, this.#bytes, bodyStart, end);
    } catch (error) {
      if (error instanceof RequestError) return 'refused';
      this.#parts.metrics.countFailure();
      this.#parts.log.error({ err: error }, 'the fast lane failed to answer a request');
      return 'failed';
    }
    connection.hasAsked = true;
    this.#answered.set(responder.type, (this.#answered.get(responder.type) ?? 0) + 1);
    return 'answered';
  }

  #send(connection: LaneConnection): void {
    const { text } = connection;
    const { socket } = connection.client;
    connection.text = '';
    if (socket.destroyed) return;
    if (text !== '') socket.write(text, 'latin1');
    if (socket.writableLength > 0) this.#awaitReader(connection);
    else this.#goOn(connection);
  }

  /** As long as the client takes what it is sent it is not idle; Node's server waits as long for one. */
  #awaitReader(connection: LaneConnection): void {
    if (connection.isSending) return;
    const { socket } = connection.client;
    connection.isSending = true;
    socket.setTimeout(stalledMsMax(this.#parts.settings));
    socket.write('', () => {
      connection.isSending = false;
      connection.activeMs = performance.now();
      if (connection.hasLeft) return;
      socket.setTimeout(0);
      this.#goOn(connection);
    });
  }

  /** Reads what is held, in a turn of its own; once there is nothing, the client is read from again. */
  #goOn(connection: LaneConnection): void {
    const { client, held } = connection;
    if (connection.hasLeft || client.socket.destroyed) return;
    if (held.length > 0) {
      setImmediate(() => this.#readHeld(connection));
    } else if (client.hasEnded) {
      client.socket.end();
    } else {
      client.resume();
    }
  }

  #readHeld(connection: LaneConnection): void {
    const { held } = connection;
    if (connection.hasLeft || held.length === 0) return;
    connection.held = NOTHING;
    this.read(connection, held, held.length);
  }

  /** One connection pays for an error of ours. */
  #cutOff(connection: LaneConnection): void {
    connection.hasLeft = true;
    this.#send(connection);
    connection.client.socket.destroy();
  }

  /** From here on Node's server handles the client, after what was answered here. */
  #leave(connection: LaneConnection, bytes: Buffer, reason: LaneExit): void {
    const { client, held } = connection;
    this.#parts.metrics.countLaneExit(reason);
    connection.hasLeft = true;
    connection.held = NOTHING;
    this.#send(connection);
    this.#connections.delete(connection);
    this.#node.passToNode(client, { rest: Buffer.concat([bytes, held]) });
  }
}

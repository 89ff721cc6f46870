/**
 * The fast lane answers requests of the ordinary form (ordinary-request.ts) directly on the socket.
 * Node's HTTP server would take several times as long as the answer itself. At the first request of
 * another form, the connection moves to Node's server and stays there.
 *
 * All reads of one turn of the event loop are gathered, then answered together, then sent together.
 * The code of each step is then in the processor's cache. Also, a write that wakes up the client's
 * process is expensive, but further writes to a process that is awake are cheap.
 *
 * Each connection has a limited share of a turn. Requests over the limit wait for the next turn,
 * and until the client has read its earlier responses. During this wait, nothing is read from the
 * client. The duration of a turn is limited too. Requests that are left when the time is up are
 * answered first in the next turn.
 */

import type { RequestError } from '../../../info/request-error.ts';
import type { Answers } from '../../answering/answers.ts';
import type { LaneCounters, LaneExit } from '../../answering/counters.ts';
import { CUT_REQUEST, replyToBadBytes } from '../../message/refusal-reply.ts';
import type { Reply } from '../../message/reply.ts';
import { ReplyText } from '../../message/reply-text.ts';
import type { HttpSettings } from '../../settings.ts';
import { type ClientConnection, READ_AHEAD_BYTES_MAX } from '../connections/client-connection.ts';
import { refuseLateness, stalledMsMax } from '../connections/timeouts.ts';
import { TOO_MUCH_UNFINISHED, type UnfinishedBytes } from '../connections/unfinished-bytes.ts';
import { LaneConnection, type LaneReader } from './lane-connection.ts';
import { DeadlineTimer, findMissedDeadline } from './lane-deadlines.ts';
import { type LaneOutcome, LaneResponder } from './lane-responder.ts';
import { sendInPieces } from './long-body.ts';
import { TurnClock } from './turn-clock.ts';
import { TurnTally } from './turn-tally.ts';

export interface LaneParts {
  readonly answers: Answers;
  readonly counters: LaneCounters;
  readonly unfinished: UnfinishedBytes;
  readonly settings: Pick<
    HttpSettings,
    | 'bodyBytesMax'
    | 'headerBytesMax'
    | 'headerTimeout'
    | 'requestTimeout'
    | 'idleTimeout'
    | 'minHeightWait'
    | 'followWait'
  >;
}

/** Passes a connection to Node's server, with the bytes that were read but not answered. */
type PassToNode = (client: ClientConnection, sent: { readonly rest: Buffer }) => void;

/** Maximum number of bytes, and of reads, that are gathered in one turn. */
const TURN_BYTES = 1 << 18;
const TURN_READS_MAX = 128;

export class FastLane implements LaneReader {
  readonly #parts: LaneParts;
  readonly #passToNode: PassToNode;
  readonly #text: ReplyText;
  readonly #tally: TurnTally;
  readonly #clock = new TurnClock();
  readonly #responder: LaneResponder;
  readonly #connections = new Set<LaneConnection>();
  readonly #deadlines: DeadlineTimer;
  /** The bytes that were read in this turn, one connection after the other. */
  readonly #bytes = Buffer.allocUnsafeSlow(TURN_BYTES);
  #bytesUsed = 0;
  readonly #turn: LaneConnection[] = [];
  #turnStartedMs = 0;
  /** True if the last turn had too little time to answer all requests that were read. */
  #isBehind = false;

  constructor(parts: LaneParts, passToNode: PassToNode) {
    this.#parts = parts;
    this.#passToNode = passToNode;
    this.#text = new ReplyText(parts.settings.idleTimeout);
    this.#tally = new TurnTally(parts.counters);
    this.#responder = new LaneResponder({
      answers: parts.answers,
      settings: parts.settings,
      text: this.#text,
      tally: this.#tally,
      clock: this.#clock,
      awaitReply: (connection, reply) => this.#awaitReply(connection, reply),
    });
    parts.answers.turns.answerFirst(() => this.#finishTurn());
    this.#deadlines = new DeadlineTimer((nowMs) => this.#closeExpired(nowMs));
  }

  accept(client: ClientConnection): void {
    const connection = new LaneConnection(client, this, performance.now());
    this.#connections.add(connection);
    client.handleWith(connection);
  }

  forget(connection: LaneConnection): void {
    this.#connections.delete(connection);
  }

  noteBufferSize(connection: LaneConnection, bufferBytes: number): void {
    this.#parts.unfinished.note(connection, bufferBytes);
  }

  stop(): void {
    this.#deadlines.stop();
  }

  /** Gathers the bytes of a read. They are answered at the end of the turn. */
  takeRead(connection: LaneConnection, bytes: Buffer, length: number): void {
    if (connection.isClosing) {
      // More reads would renew the deadline of a client that sends but does not read.
      connection.client.pause();
      return;
    }
    if (connection.state !== 'reading') {
      this.#keepRead(connection);
      connection.keep(bytes, 0, length);
      if (connection.isAnswering) this.#readAhead(connection);
      else connection.client.pause();
      return;
    }
    const hasRoom = this.#bytesUsed + length <= TURN_BYTES;
    if (!hasRoom && !this.#isBehind) this.#finishTurn();
    this.#queue(connection);
    connection.activeMs = this.#turnStartedMs;
    if (connection.keptLength > 0 || this.#bytesUsed + length > TURN_BYTES) {
      connection.keep(bytes, 0, length);
      return;
    }
    connection.readStart = this.#bytesUsed;
    connection.readEnd = this.#bytesUsed + length;
    bytes.copy(this.#bytes, this.#bytesUsed, 0, length);
    this.#bytesUsed += length;
  }

  /**
   * Continues to read while a reply is pending, to notice that the client is gone. The number of
   * bytes that are read is limited.
   */
  #readAhead({ client, keptLength, skipLength }: LaneConnection): void {
    // The bytes that will be skipped are the body of the pending request, not a further request.
    if (keptLength - skipLength > READ_AHEAD_BYTES_MAX) client.pause();
    else client.resume();
  }

  /**
   * Copies the bytes that the connection has in the turn's buffer to the connection's own buffer.
   */
  #keepRead(connection: LaneConnection): void {
    const { readStart, readEnd } = connection;
    if (readEnd > readStart) connection.keep(this.#bytes, readStart, readEnd);
    connection.readEnd = readStart;
  }

  /**
   * Called when the client has ended its side of the connection. Our side ends when all requests
   * are answered.
   */
  takeEnd(connection: LaneConnection): void {
    if (connection.state === 'reading') this.#finishEnd(connection);
  }

  #finishEnd(connection: LaneConnection): void {
    const { client, keptLength, skipLength } = connection;
    if (keptLength > 0) this.#refuseRest(connection, CUT_REQUEST);
    else if (skipLength > 0) client.endSoon();
    else client.socket.end();
  }

  #queue(connection: LaneConnection): void {
    connection.enterTurn();
    this.#addToTurn(connection);
  }

  #addToTurn(connection: LaneConnection): void {
    if (this.#turn.length >= TURN_READS_MAX && !this.#isBehind) this.#finishTurn();
    if (this.#turn.length === 0) this.#startTurn();
    this.#turn.push(connection);
  }

  #startTurn(): void {
    this.#turnStartedMs = performance.now();
    setImmediate(() => this.#finishTurn());
  }

  /** Answers the requests that were read in this turn, then sends all responses. */
  #finishTurn(): void {
    if (this.#turn.length === 0) return;
    const connections = this.#turn.splice(0);
    const startedMs = performance.now();
    this.#bytesUsed = 0;
    this.#isBehind = false;
    this.#clock.start(startedMs);
    let isAnswered = false;
    let count = 0;
    while (count < connections.length && !this.#clock.isOver) {
      if (this.#answerRead(connections[count])) isAnswered = true;
      count++;
    }
    if (isAnswered) this.#parts.answers.turns.answeredCount++;
    for (let index = 0; index < count; index++) {
      if (connections[index].state !== 'left') this.#send(connections[index]);
    }
    for (let index = count; index < connections.length; index++) this.#postpone(connections[index]);
    const endMs = performance.now();
    this.#parts.counters.countWork('requests', (endMs - startedMs) / 1000);
    this.#tally.flush((endMs - this.#turnStartedMs) / 1000);
  }

  /** Moves a connection and its unanswered bytes to the next turn. */
  #postpone(connection: LaneConnection): void {
    this.#isBehind = true;
    this.#keepRead(connection);
    this.#addToTurn(connection);
  }

  /**
   * Answers the requests of a connection, up to the connection's share of the turn. The rest of the
   * bytes stays in the connection's buffer. Returns false if the last request is incomplete, or
   * will be answered later.
   */
  #answerRead(connection: LaneConnection): boolean {
    const { keptLength, readStart, readEnd } = connection;
    const isKept = keptLength > 0;
    const input = isKept
      ? { bytes: connection.kept, start: 0, end: keptLength }
      : { bytes: this.#bytes, start: readStart, end: readEnd };
    connection.readEnd = readStart;
    if (connection.client.socket.destroyed) return false;
    connection.leaveTurn();
    const outcome = this.#responder.answerAll(connection, input);
    if (isKept) connection.drop(input.start);
    else if (input.start < input.end) connection.keep(input.bytes, input.start, input.end);
    this.#note(connection, outcome);
    return outcome !== 'waiting' && outcome !== 'partial';
  }

  #note(connection: LaneConnection, outcome: LaneOutcome | 'held'): void {
    if (outcome === 'answered') return;
    if (outcome === 'partial') {
      if (connection.partialSinceMs === 0) connection.partialSinceMs = this.#turnStartedMs;
    } else if (outcome === 'waiting') {
      this.#readAhead(connection);
    } else if (outcome === 'held') {
      connection.hold();
      connection.client.pause();
    } else if (outcome === 'failed') {
      this.#cutOff(connection);
    } else if (outcome === 'last') {
      connection.isClosing = true;
    } else {
      this.#leave(connection, outcome);
    }
  }

  /** Waits for the reply to a request. Further requests of the connection wait too. */
  #awaitReply(connection: LaneConnection, promise: Promise<Reply>): void {
    const startedMs = this.#turnStartedMs;
    connection.awaitReply();
    promise
      .then((reply) => this.#finishWait(connection, reply, startedMs))
      .catch((error: unknown) => {
        this.#parts.answers.reportFailure(error);
        this.#cutOff(connection);
      });
  }

  #finishWait(connection: LaneConnection, reply: Reply, startedMs: number): void {
    if (connection.client.socket.destroyed) {
      reply.releaseBody?.(true);
      return;
    }
    connection.finishReply();
    connection.activeMs = performance.now();
    const outcome = this.#responder.put(
      connection,
      reply,
      connection.keptLength <= connection.skipLength,
    );
    this.#tally.flush((performance.now() - startedMs) / 1000);
    this.#note(connection, outcome);
    this.#send(connection);
  }

  #send(connection: LaneConnection): void {
    const { longReply, client } = connection;
    this.#write(connection);
    connection.longReply = undefined;
    if (client.socket.destroyed) longReply?.releaseBody?.(true);
    else if (longReply === undefined) this.#finishSending(connection);
    else this.#sendLong(connection, longReply);
  }

  #write(connection: LaneConnection): void {
    const { text, client } = connection;
    connection.text = '';
    if (text !== '' && !client.socket.destroyed) client.socket.write(text, 'latin1');
  }

  /** Sends a long body. The next request of the connection waits until the body is sent. */
  #sendLong(connection: LaneConnection, { body, releaseBody }: Reply): void {
    const { answers, settings } = this.#parts;
    const { socket } = connection.client;
    connection.startSending();
    socket.setTimeout(stalledMsMax(settings));
    sendInPieces(socket, body as Buffer, answers.turns, (isSent) => {
      releaseBody?.(isSent);
      if (!isSent || socket.destroyed) return;
      connection.finishReply();
      connection.restartDeadlines(performance.now());
      socket.setTimeout(0);
      this.#finishSending(connection);
    });
  }

  #finishSending(connection: LaneConnection): void {
    if (connection.isClosing) this.#end(connection);
    else if (connection.client.socket.writableLength > 0) this.#awaitReader(connection);
    else this.#proceed(connection);
  }

  /** Ends a connection whose last response is written. */
  #end(connection: LaneConnection): void {
    const { client } = connection;
    connection.startEnding();
    this.#connections.delete(connection);
    client.socket.setTimeout(stalledMsMax(this.#parts.settings));
    connection.drop(connection.keptLength);
    client.linger();
  }

  /**
   * Waits until the client has read its responses. The deadline is the same as on Node's server.
   */
  #awaitReader(connection: LaneConnection): void {
    if (connection.hasUnsent) return;
    const { socket } = connection.client;
    connection.hasUnsent = true;
    socket.setTimeout(stalledMsMax(this.#parts.settings));
    socket.write('', () => {
      connection.hasUnsent = false;
      connection.restartDeadlines(performance.now());
      // The deadline may now belong to a long body, or to Node's server.
      const { state, isClosing } = connection;
      if (state === 'sending' || state === 'left' || isClosing) return;
      socket.setTimeout(0);
      this.#proceed(connection);
    });
  }

  /**
   * Puts a waiting request into the next turn. If no request waits, reads from the client again.
   */
  #proceed(connection: LaneConnection): void {
    const { client, state } = connection;
    if (client.socket.destroyed) return;
    if (state === 'held') setImmediate(() => this.#queueHeld(connection));
    else if (state !== 'reading') return;
    else if (client.hasEnded) this.#finishEnd(connection);
    else client.resume();
  }

  #queueHeld(connection: LaneConnection): void {
    const { client, state } = connection;
    if (state === 'held' && !client.socket.destroyed) this.#queue(connection);
  }

  /** Closes only this connection, after an unexpected error. */
  #cutOff(connection: LaneConnection): void {
    this.#write(connection);
    connection.client.socket.destroy();
    connection.longReply?.releaseBody?.(true);
    connection.longReply = undefined;
  }

  /** Passes the client to Node's server, after its finished responses were written. */
  #leave(connection: LaneConnection, reason: LaneExit): void {
    const { client, kept, keptLength } = connection;
    this.#parts.counters.countLaneExit(reason);
    connection.leave();
    this.#write(connection);
    if (client.socket.writableLength > 0) {
      client.socket.setTimeout(stalledMsMax(this.#parts.settings));
    }
    this.#connections.delete(connection);
    const rest = Buffer.from(kept.subarray(0, keptLength));
    connection.drop(keptLength);
    this.#passToNode(client, { rest });
  }

  #closeExpired(nowMs: number): void {
    for (const connection of this.#connections) {
      const missed = findMissedDeadline(connection, this.#parts.settings, nowMs);
      if (missed === 'request') {
        this.#refuseRest(connection, refuseLateness(this.#parts.settings));
      } else if (missed === 'idle') {
        connection.client.socket.destroy();
      }
    }
  }

  /** Refuses an incomplete request. If a reply is pending, drops the requests after it instead. */
  refuseUnfinished(connection: LaneConnection): void {
    if (connection.state === 'queued') return;
    if (!connection.isAnswering) {
      this.#refuseRest(connection, TOO_MUCH_UNFINISHED);
      return;
    }
    connection.isClosing = true;
    connection.skipLength = 0;
    connection.drop(connection.keptLength);
    connection.client.pause();
  }

  /**
   * Closes a connection, and refuses its next request. If only the body of an answered request is
   * incomplete, nothing is refused.
   */
  #refuseRest(connection: LaneConnection, refusal: RequestError): void {
    connection.isClosing = true;
    if (connection.keptLength > connection.skipLength) {
      const reply = replyToBadBytes(refusal);
      connection.text += this.#text.format(reply);
      this.#parts.counters.countRequests(reply.type, reply.status, 0, 1);
    }
    this.#send(connection);
  }
}

/**
 * The fast lane: requests of the ordinary form (ordinary-request.ts) are answered straight on the
 * socket, without Node's HTTP server, which takes several times as long as the answer itself. At the
 * first request of another form, a connection moves to Node's server for good.
 *
 * The reads of one turn of the event loop are first gathered, then answered, then sent, all together.
 * Each step then runs with its code in the processor's cache; and a write that wakes the client up is
 * expensive, but further writes to a client that is awake are not.
 *
 * A connection's share of a turn is bounded. Requests beyond it are held, and the client is not read
 * from, until the next turn, and until it has taken its earlier responses. A turn is bounded too: what it
 * has no time for is answered first in the next one.
 */

import type { RequestError } from '../../../info/request-error.ts';
import type { Answers } from '../../answering/answers.ts';
import type { LaneCounters, LaneExit } from '../../answering/counters.ts';
import { MALFORMED_REQUEST, replyToBadBytes } from '../../message/refusal-reply.ts';
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

/** Takes a connection that has left the fast lane, with the bytes that it has sent. */
type PassToNode = (client: ClientConnection, sent: { readonly rest: Buffer }) => void;

/** Maximum number of bytes and of reads that are gathered in one turn. */
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
  /** The bytes that this turn has read so far, connection after connection. */
  readonly #bytes = Buffer.allocUnsafeSlow(TURN_BYTES);
  #bytesUsed = 0;
  readonly #turn: LaneConnection[] = [];
  #turnStartedMs = 0;
  /** The last turn had no time for all that was read. */
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

  /** Gathers a read, to be answered at the end of the turn. */
  takeRead(connection: LaneConnection, bytes: Buffer, length: number): void {
    if (connection.isOver) {
      // Reading on would renew the deadline of a client that sends but does not read.
      connection.client.pause();
      return;
    }
    if (connection.isQueued || connection.isHeld || connection.isWaiting) {
      this.#keepRead(connection);
      connection.keep(bytes, 0, length);
      if (connection.isWaiting) this.#readAhead(connection);
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

  /** Goes on reading while a reply is pending, to notice a client that is gone; up to a limit. */
  #readAhead(connection: LaneConnection): void {
    const { client, keptLength, skipLength } = connection;
    connection.isHeld = keptLength > 0;
    // What is skipped is the body of the request that waits.
    if (keptLength - skipLength > READ_AHEAD_BYTES_MAX) client.pause();
    else client.resume();
  }

  /** Moves what the connection has in this turn's bytes to its own. */
  #keepRead(connection: LaneConnection): void {
    const { readStart, readEnd } = connection;
    if (readEnd > readStart) connection.keep(this.#bytes, readStart, readEnd);
    connection.readEnd = readStart;
  }

  /** The client has ended its side: ours ends when all its requests are answered. */
  takeEnd(connection: LaneConnection): void {
    const { isQueued, isHeld, isWaiting } = connection;
    if (!isQueued && !isHeld && !isWaiting) this.#finishEnd(connection);
  }

  #finishEnd(connection: LaneConnection): void {
    const { client, keptLength, skipLength } = connection;
    if (keptLength > 0) this.#refuseRest(connection, MALFORMED_REQUEST);
    else if (skipLength > 0) client.endSoon();
    else client.socket.end();
  }

  #queue(connection: LaneConnection): void {
    if (this.#turn.length >= TURN_READS_MAX && !this.#isBehind) this.#finishTurn();
    if (this.#turn.length === 0) this.#startTurn();
    connection.isQueued = true;
    this.#turn.push(connection);
  }

  #startTurn(): void {
    this.#turnStartedMs = performance.now();
    setImmediate(() => this.#finishTurn());
  }

  /** Answers all that was read, then sends all responses. */
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
    for (let index = 0; index < count; index++) this.#send(connections[index]);
    for (let index = count; index < connections.length; index++) this.#postpone(connections[index]);
    const endMs = performance.now();
    this.#parts.counters.countWork('requests', (endMs - startedMs) / 1000);
    this.#tally.flush((endMs - this.#turnStartedMs) / 1000);
  }

  /** Leaves what a connection has sent to the next turn. */
  #postpone(connection: LaneConnection): void {
    this.#isBehind = true;
    this.#keepRead(connection);
    this.#queue(connection);
  }

  /**
   * Answers what a connection has sent, up to its share of the turn; the rest is kept. False if the last
   * request is answered later, or has not come whole.
   */
  #answerRead(connection: LaneConnection): boolean {
    const { keptLength, readStart, readEnd } = connection;
    const isKept = keptLength > 0;
    const input = isKept
      ? { bytes: connection.kept, start: 0, end: keptLength }
      : { bytes: this.#bytes, start: readStart, end: readEnd };
    connection.isQueued = false;
    connection.readEnd = readStart;
    if (connection.hasLeft || connection.client.socket.destroyed) return false;
    const outcome = this.#responder.answerAll(connection, input);
    if (isKept) connection.drop(input.start);
    else if (input.start < input.end) connection.keep(input.bytes, input.start, input.end);
    this.#note(connection, outcome);
    return outcome !== 'waiting' && outcome !== 'partial';
  }

  #note(connection: LaneConnection, outcome: LaneOutcome | 'held'): void {
    const { client, keptLength } = connection;
    if (outcome === 'answered') return;
    if (outcome === 'partial') {
      if (connection.partialSinceMs === 0) connection.partialSinceMs = this.#turnStartedMs;
    } else if (outcome === 'waiting') {
      this.#readAhead(connection);
    } else if (outcome === 'held') {
      connection.isHeld = keptLength > 0;
      client.pause();
    } else if (outcome === 'failed') {
      this.#cutOff(connection);
    } else if (outcome === 'last') {
      connection.isOver = true;
    } else {
      this.#leave(connection, outcome);
    }
  }

  /** Requests after this one wait with it. */
  #awaitReply(connection: LaneConnection, promise: Promise<Reply>): void {
    const startedMs = this.#turnStartedMs;
    connection.isWaiting = true;
    promise
      .then((reply) => this.#finishWait(connection, reply, startedMs))
      .catch((error: unknown) => {
        this.#parts.answers.reportFailure(error);
        this.#cutOff(connection);
      });
  }

  #finishWait(connection: LaneConnection, reply: Reply, startedMs: number): void {
    connection.isWaiting = false;
    connection.activeMs = performance.now();
    if (connection.client.socket.destroyed) {
      reply.releaseBody?.(true);
      return;
    }
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
    const { text, longReply } = connection;
    const { socket } = connection.client;
    connection.text = '';
    connection.longReply = undefined;
    if (socket.destroyed) {
      longReply?.releaseBody?.(true);
      return;
    }
    if (text !== '') socket.write(text, 'latin1');
    if (longReply === undefined) this.#finishSending(connection);
    else this.#sendLong(connection, longReply);
  }

  /** Until it is sent, the connection's next request waits. */
  #sendLong(connection: LaneConnection, { body, releaseBody }: Reply): void {
    const { answers, settings } = this.#parts;
    const { socket } = connection.client;
    connection.isWaiting = true;
    socket.setTimeout(stalledMsMax(settings));
    sendInPieces(socket, body as Buffer, answers.turns, (isSent) => {
      releaseBody?.(isSent);
      if (!isSent) return;
      connection.isWaiting = false;
      connection.restartDeadlines(performance.now());
      socket.setTimeout(0);
      this.#finishSending(connection);
    });
  }

  #finishSending(connection: LaneConnection): void {
    const { isOver, client } = connection;
    if (isOver) this.#end(connection);
    else if (client.socket.writableLength > 0) this.#awaitReader(connection);
    else this.#proceed(connection);
  }

  /** Ends a connection whose last response is written. */
  #end(connection: LaneConnection): void {
    const { client } = connection;
    this.#connections.delete(connection);
    client.socket.setTimeout(stalledMsMax(this.#parts.settings));
    connection.drop(connection.keptLength);
    client.linger();
  }

  /** Waits until the client has taken its responses, as long as Node's server would. */
  #awaitReader(connection: LaneConnection): void {
    if (connection.isSending) return;
    const { socket } = connection.client;
    connection.isSending = true;
    socket.setTimeout(stalledMsMax(this.#parts.settings));
    socket.write('', () => {
      connection.isSending = false;
      connection.restartDeadlines(performance.now());
      if (connection.hasLeft || connection.isOver) return;
      socket.setTimeout(0);
      this.#proceed(connection);
    });
  }

  /** Queues what is held for the next turn; if nothing is, reads from the client again. */
  #proceed(connection: LaneConnection): void {
    const { client, hasLeft, isWaiting, isQueued, isHeld } = connection;
    if (hasLeft || isWaiting || isQueued || client.socket.destroyed) return;
    if (isHeld) setImmediate(() => this.#queueHeld(connection));
    else if (client.hasEnded) this.#finishEnd(connection);
    else client.resume();
  }

  #queueHeld(connection: LaneConnection): void {
    const { client, hasLeft, isWaiting, isQueued, isHeld } = connection;
    if (hasLeft || isWaiting || isQueued || !isHeld || client.socket.destroyed) return;
    connection.isHeld = false;
    this.#queue(connection);
  }

  /** After a bug of ours, only this connection is closed. */
  #cutOff(connection: LaneConnection): void {
    connection.hasLeft = true;
    this.#send(connection);
    connection.client.socket.destroy();
  }

  /** Hands the client to Node's server, after the responses that are due here. */
  #leave(connection: LaneConnection, reason: LaneExit): void {
    const { client, kept, keptLength } = connection;
    this.#parts.counters.countLaneExit(reason);
    connection.hasLeft = true;
    this.#send(connection);
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

  /** Of a connection that waits for its reply, the requests after that are dropped unread. */
  refuseUnfinished(connection: LaneConnection): void {
    if (connection.isQueued) return;
    if (!connection.isWaiting) {
      this.#refuseRest(connection, TOO_MUCH_UNFINISHED);
      return;
    }
    connection.isOver = true;
    connection.skipLength = 0;
    connection.drop(connection.keptLength);
    connection.client.pause();
  }

  /** Ends a connection. Its next request is refused, unless its head alone has been answered. */
  #refuseRest(connection: LaneConnection, refusal: RequestError): void {
    connection.isOver = true;
    connection.isHeld = false;
    if (connection.keptLength > connection.skipLength) {
      const reply = replyToBadBytes(refusal);
      connection.text += this.#text.format(reply);
      this.#parts.counters.countRequests(reply.type, reply.status, 0, 1);
    }
    this.#send(connection);
  }
}

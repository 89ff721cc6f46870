/**
 * The fast lane: requests of the ordinary form (ordinary-request.ts) are answered straight on the
 * socket, past Node's HTTP server, which takes several times as long for a request as its answer does.
 * A connection that sends anything else goes to Node's server with the rest of its bytes, for good.
 *
 * What is read in one turn of the event loop is first gathered, then answered, then sent, all of it
 * together. Each of the three runs its own code many times in a row, which is then in the processor's
 * cache; and a write wakes the client up, but while it is awake the next one costs much less.
 *
 * A connection's share of a turn is bounded. What it has sent beyond that is held, and it is not read
 * from, until the next turn and until it has taken the responses before.
 */

import type { Settings } from '../../config/settings.ts';
import { type Answers, refuseBytes } from '../answers.ts';
import type { ClientConnection } from '../connections/client-connection.ts';
import {
  headerMsMax,
  refuseLateness,
  stalledMsMax,
  TIMEOUT_CHECK_MS,
} from '../connections/timeouts.ts';
import type { LaneCounters, LaneExit } from '../counters.ts';
import { BodySource } from '../question-source.ts';
import type { Reply } from '../reply.ts';
import { ReplyText } from '../reply-text.ts';
import { HeadReader } from './head-reader.ts';
import { LaneConnection, type LaneHead, type LaneReader } from './lane-connection.ts';
import { TurnTally } from './turn-tally.ts';

export interface LaneParts {
  readonly answers: Answers;
  readonly counters: LaneCounters;
  readonly settings: Settings<
    | 'bodyBytesMax'
    | 'headerBytesMax'
    | 'headerTimeout'
    | 'requestTimeout'
    | 'idleTimeout'
    | 'minHeightWait'
  >;
}

/** Takes a connection that has left the fast lane, with the bytes that it has sent. */
type PassToNode = (client: ClientConnection, sent: { readonly rest: Buffer }) => void;

/** Maximum number of bytes and of reads that are gathered in one turn. */
const TURN_BYTES = 1 << 18;
const TURN_READS_MAX = 128;
/** A connection's share of a turn: maximum number of responses, and bytes after which none follows. */
const SHARE_REQUESTS_MAX = 16;
const SHARE_BYTES_MAX = 1 << 16;
/** Grace added to the keep-alive timeout, as Node's server adds it. */
const KEEP_ALIVE_GRACE_MS = 1000;

/** Replies are rendered before anything else is answered. */
const AT_ONCE = { isRenderedAtOnce: true };

/** What became of the request that comes next among a connection's bytes. */
type Outcome = 'answered' | 'partial' | 'waiting' | 'last' | 'failed' | LaneExit;

/** Where a connection's bytes are, and how far they go. */
interface Input {
  readonly bytes: Buffer;
  /** The start of the next request. */
  start: number;
  readonly end: number;
}

export class FastLane implements LaneReader {
  readonly #parts: LaneParts;
  readonly #passToNode: PassToNode;
  readonly #heads: HeadReader;
  readonly #text: ReplyText;
  readonly #tally: TurnTally;
  readonly #connections = new Set<LaneConnection>();
  readonly #timer: NodeJS.Timeout;
  /** What this turn has read so far: the bytes of each connection that has sent any. */
  readonly #bytes = Buffer.allocUnsafeSlow(TURN_BYTES);
  #bytesUsed = 0;
  readonly #turn: LaneConnection[] = [];
  #turnStartedMs = 0;

  constructor(parts: LaneParts, passToNode: PassToNode) {
    this.#parts = parts;
    this.#passToNode = passToNode;
    this.#heads = new HeadReader(parts);
    this.#text = new ReplyText(parts.settings.idleTimeout);
    this.#tally = new TurnTally(parts.counters);
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

  /** Puts what was read aside until the turn is over. */
  takeRead(connection: LaneConnection, bytes: Buffer, length: number): void {
    if (connection.isQueued || connection.isHeld || connection.isWaiting) {
      this.#keepRead(connection);
      connection.keep(bytes.subarray(0, length));
      connection.client.pause();
      return;
    }
    if (this.#bytesUsed + length > TURN_BYTES) this.#finishTurn();
    this.#queue(connection);
    connection.activeMs = this.#turnStartedMs;
    if (connection.keptLength > 0) {
      connection.keep(bytes.subarray(0, length));
      return;
    }
    connection.readStart = this.#bytesUsed;
    connection.readEnd = this.#bytesUsed + length;
    bytes.copy(this.#bytes, this.#bytesUsed, 0, length);
    this.#bytesUsed += length;
  }

  /** Keeps what the connection has in this turn's bytes. */
  #keepRead(connection: LaneConnection): void {
    const { readStart, readEnd } = connection;
    if (readEnd > readStart) connection.keep(this.#bytes.subarray(readStart, readEnd));
    connection.readEnd = readStart;
  }

  /** The client has ended its side: ours ends when all that it asked is answered. */
  takeEnd(connection: LaneConnection): void {
    const { isQueued, isHeld, isWaiting } = connection;
    if (!isQueued && !isHeld && !isWaiting) this.#finishEnd(connection);
  }

  #finishEnd(connection: LaneConnection): void {
    const { client, keptLength, skipLength } = connection;
    if (keptLength > 0) this.#leave(connection, 'truncated');
    else if (skipLength > 0) client.endSoon();
    else client.socket.end();
  }

  #queue(connection: LaneConnection): void {
    if (this.#turn.length === TURN_READS_MAX) this.#finishTurn();
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
    this.#bytesUsed = 0;
    for (const connection of connections) this.#answerRead(connection);
    for (const connection of connections) this.#send(connection);
    this.#tally.flush((performance.now() - this.#turnStartedMs) / 1000);
  }

  /** Answers what a connection has sent, as far as its share goes; the rest is kept. */
  #answerRead(connection: LaneConnection): void {
    const { keptLength, readStart, readEnd } = connection;
    const isKept = keptLength > 0;
    const input = isKept
      ? { bytes: connection.kept, start: 0, end: keptLength }
      : { bytes: this.#bytes, start: readStart, end: readEnd };
    connection.isQueued = false;
    connection.readEnd = readStart;
    if (connection.hasLeft) return;
    const outcome = this.#answerAll(connection, input);
    if (isKept) connection.drop(input.start);
    else if (input.start < input.end) connection.keep(input.bytes.subarray(input.start, input.end));
    this.#note(connection, outcome);
  }

  /** Answers one request after the other, until there is none, or one that is not answered now. */
  #answerAll(connection: LaneConnection, input: Input): Outcome | 'held' {
    let outcome: Outcome = 'answered';
    for (let count = 0; outcome === 'answered'; count++) {
      skipBody(connection, input);
      if (input.start === input.end) return connection.skipLength > 0 ? 'partial' : 'answered';
      const isShareOver = count === SHARE_REQUESTS_MAX || connection.text.length > SHARE_BYTES_MAX;
      if (isShareOver || connection.client.socket.writableLength > 0) return 'held';
      outcome = this.#answerNext(connection, input);
    }
    return outcome;
  }

  #note(connection: LaneConnection, outcome: Outcome | 'held'): void {
    const { client, keptLength } = connection;
    if (outcome === 'answered') return;
    if (outcome === 'partial') {
      if (connection.begunMs === 0) connection.begunMs = this.#turnStartedMs;
    } else if (outcome === 'held' || outcome === 'waiting') {
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

  /** Answers the request that starts there. */
  #answerNext(connection: LaneConnection, input: Input): Outcome {
    const head = this.#heads.read(connection, input.bytes, input.start, input.end);
    if (typeof head === 'string') return head;
    const bodyStart = input.start + head.bytes.length;
    const bodyEnd = bodyStart + head.bodyLength;
    const isInBody = head.parsed.method === 'POST';
    try {
      const reply = isInBody
        ? this.#answerBody(connection, head, input, bodyStart)
        : this.#parts.answers.answer(head.parsed, connection.client, undefined, AT_ONCE);
      if (reply === undefined) return 'partial';
      connection.expectNext();
      input.start = bodyStart;
      connection.skipLength = head.bodyLength;
      if (reply instanceof Promise) return this.#await(connection, reply);
      return this.#put(connection, reply, bodyEnd >= input.end);
    } catch (error) {
      this.#parts.answers.reportFailure(error);
      return 'failed';
    }
  }

  /** Undefined where the body is not all there, and nothing is wrong with the head. */
  #answerBody(
    connection: LaneConnection,
    { parsed, bodyLength }: LaneHead,
    { bytes, end }: Input,
    bodyStart: number,
  ): Reply | Promise<Reply> | undefined {
    const { answers } = this.#parts;
    const bodyEnd = bodyStart + bodyLength;
    if (bodyEnd <= end) {
      const body = new BodySource(bytes, bodyStart, bodyEnd);
      return answers.answer(parsed, connection.client, body, AT_ONCE);
    }
    if (connection.isHeadAdmitted) return undefined;
    const reply = answers.answerHead(parsed, connection.client);
    connection.isHeadAdmitted = reply === undefined;
    return reply;
  }

  /** Puts a response to those that are to be sent; nothing follows it where the service is stopping. */
  #put(connection: LaneConnection, reply: Reply, isNothingLeft: boolean): 'answered' | 'last' {
    const { client, head } = connection;
    const isLast = reply.isLast || head?.isLast === true || (client.isDraining && isNothingLeft);
    const isHead = head?.parsed.method === 'HEAD';
    connection.text += this.#text.format(reply, { isHead, isLast });
    connection.hasAsked = true;
    this.#tally.count(reply.type, reply.status);
    return isLast ? 'last' : 'answered';
  }

  /** Requests after this one wait with it. */
  #await(connection: LaneConnection, promise: Promise<Reply>): 'waiting' {
    const startedMs = this.#turnStartedMs;
    connection.isWaiting = true;
    promise
      .then((reply) => this.#finishWait(connection, reply, startedMs))
      .catch((error: unknown) => {
        this.#parts.answers.reportFailure(error);
        this.#cutOff(connection);
      });
    return 'waiting';
  }

  #finishWait(connection: LaneConnection, reply: Reply, startedMs: number): void {
    connection.isWaiting = false;
    connection.activeMs = performance.now();
    if (connection.client.socket.destroyed) return;
    const outcome = this.#put(connection, reply, connection.keptLength <= connection.skipLength);
    this.#tally.flush((performance.now() - startedMs) / 1000);
    this.#note(connection, outcome);
    this.#send(connection);
  }

  #send(connection: LaneConnection): void {
    const { text, isOver, client } = connection;
    const { socket } = client;
    connection.text = '';
    if (socket.destroyed) return;
    if (text !== '') socket.write(text, 'latin1');
    if (isOver) this.#end(connection);
    else if (socket.writableLength > 0) this.#awaitReader(connection);
    else this.#goOn(connection);
  }

  /** Connection: close has been sent, or is in what is being sent. */
  #end(connection: LaneConnection): void {
    const { client } = connection;
    this.#connections.delete(connection);
    client.socket.setTimeout(stalledMsMax(this.#parts.settings));
    connection.drop(connection.keptLength);
    client.linger();
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
      if (connection.hasLeft || connection.isOver) return;
      socket.setTimeout(0);
      this.#goOn(connection);
    });
  }

  /** Queues what is held for the next turn; once there is nothing, the client is read from again. */
  #goOn(connection: LaneConnection): void {
    const { client, hasLeft, isWaiting, isQueued, isHeld } = connection;
    if (hasLeft || isWaiting || isQueued || client.socket.destroyed) return;
    if (isHeld) setImmediate(() => this.#queueHeld(connection));
    else if (client.hasEnded) this.#finishEnd(connection);
    else client.resume();
  }

  #queueHeld(connection: LaneConnection): void {
    if (connection.hasLeft || !connection.isHeld) return;
    connection.isHeld = false;
    this.#queue(connection);
  }

  /** One connection pays for an error of ours. */
  #cutOff(connection: LaneConnection): void {
    connection.hasLeft = true;
    this.#send(connection);
    connection.client.socket.destroy();
  }

  /** From here on Node's server handles the client, after what was answered here. */
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
    const { idleTimeout, requestTimeout } = this.#parts.settings;
    const headerMs = headerMsMax(this.#parts.settings);
    for (const connection of this.#connections) {
      const { activeMs, begunMs, hasAsked, isHeadAdmitted, skipLength } = connection;
      if (connection.isSending || connection.isWaiting) continue;
      if (begunMs > 0) {
        const isHeadWhole = isHeadAdmitted || skipLength > 0;
        if (nowMs - begunMs > (isHeadWhole ? requestTimeout : headerMs)) this.#expire(connection);
      } else if (nowMs - activeMs > (hasAsked ? idleTimeout + KEEP_ALIVE_GRACE_MS : headerMs)) {
        connection.client.socket.destroy();
      }
    }
  }

  /** A request that was begun is not whole in time; nobody waits for the rest of one that is answered. */
  #expire(connection: LaneConnection): void {
    connection.isOver = true;
    if (connection.skipLength === 0) {
      const reply = refuseBytes(refuseLateness(this.#parts.settings));
      connection.text = this.#text.format(reply);
      this.#parts.counters.countRequests(reply.type, reply.status, 0, 1);
    }
    this.#send(connection);
  }
}

/** Passes over what is there of a body that nobody needs. */
function skipBody(connection: LaneConnection, input: Input): void {
  const length = Math.min(connection.skipLength, input.end - input.start);
  connection.skipLength -= length;
  input.start += length;
  if (connection.skipLength === 0 && length > 0) connection.begunMs = 0;
}

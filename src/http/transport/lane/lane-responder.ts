/**
 * Answers the requests in a connection's bytes, and renders the responses. fast-lane.ts sends the
 * responses.
 */

import type { LaneExit } from '../../answering/counters.ts';
import { BodySource } from '../../answering/question-source.ts';
import type { Reply } from '../../message/reply.ts';
import type { ReplyText } from '../../message/reply-text.ts';
import { HeadReader, type HeadReaderParts } from './head-reader.ts';
import type { LaneConnection, LaneHead } from './lane-connection.ts';
import type { TurnClock } from './turn-clock.ts';
import type { TurnTally } from './turn-tally.ts';

export interface LaneResponderParts extends HeadReaderParts {
  readonly text: ReplyText;
  readonly tally: TurnTally;
  readonly clock: TurnClock;
  /** Called with a connection whose reply is pending. */
  awaitReply(connection: LaneConnection, reply: Promise<Reply>): void;
}

/**
 * The limits of a connection in one turn: the number of responses, and the number of bytes after
 * which no response is added.
 */
const SHARE_REQUESTS_MAX = 16;
const SHARE_BYTES_MAX = 1 << 16;

/** The fast lane renders each reply before it answers another request. */
const AT_ONCE = { isRenderedAtOnce: true };

/** The result of handling the next request of a connection. */
export type LaneOutcome = 'answered' | 'partial' | 'waiting' | 'last' | 'failed' | LaneExit;

/** The range of a connection's unanswered bytes. */
interface LaneInput {
  readonly bytes: Buffer;
  /** The start of the next request. */
  start: number;
  readonly end: number;
}

export class LaneResponder {
  readonly #parts: LaneResponderParts;
  readonly #heads: HeadReader;

  constructor(parts: LaneResponderParts) {
    this.#parts = parts;
    this.#heads = new HeadReader(parts);
  }

  /**
   * Answers one request after the other, until no request is left, or until a request cannot be
   * answered now.
   */
  answerAll(connection: LaneConnection, input: LaneInput): LaneOutcome | 'held' {
    const { clock } = this.#parts;
    let outcome: LaneOutcome = 'answered';
    for (let count = 0; outcome === 'answered'; count++) {
      skipBody(connection, input);
      if (input.start === input.end) return connection.skipLength > 0 ? 'partial' : 'answered';
      const lengthBefore = connection.text.length;
      const isShareOver = count === SHARE_REQUESTS_MAX || lengthBefore > SHARE_BYTES_MAX;
      // A long body is sent after the text, so no further response may be added to the text.
      const isOver = isShareOver || clock.isOver || connection.longReply !== undefined;
      if (isOver || connection.client.socket.writableLength > 0) return 'held';
      outcome = this.#answerNext(connection, input);
      clock.note(connection.text.length - lengthBefore + connection.skipLength);
    }
    return outcome;
  }

  /** Answers the request at the start of the input. */
  #answerNext(connection: LaneConnection, input: LaneInput): LaneOutcome {
    try {
      const head = this.#heads.read(connection, input.bytes, input.start, input.end);
      if (typeof head === 'string') return head;
      const bodyStart = input.start + head.bytes.length;
      const bodyEnd = bodyStart + head.bodyLength;
      const isInBody = head.parsed.method === 'POST';
      const reply = isInBody
        ? this.#answerBody(connection, head, input, bodyStart)
        : this.#parts.answers.answer(head.parsed, connection.client, undefined, AT_ONCE);
      if (reply === undefined) return 'partial';
      connection.expectNext();
      input.start = bodyStart;
      connection.skipLength = head.bodyLength;
      if (reply instanceof Promise) {
        this.#parts.awaitReply(connection, reply);
        return 'waiting';
      }
      return this.put(connection, reply, bodyEnd >= input.end);
    } catch (error) {
      this.#parts.answers.reportFailure(error);
      return 'failed';
    }
  }

  /**
   * Answers a request with a body. Returns undefined if the body is incomplete and the head is
   * admitted.
   */
  #answerBody(
    connection: LaneConnection,
    head: LaneHead,
    { bytes, end }: LaneInput,
    bodyStart: number,
  ): Reply | Promise<Reply> | undefined {
    const { answers } = this.#parts;
    const { parsed, bodyLength } = head;
    const bodyEnd = bodyStart + bodyLength;
    if (bodyEnd <= end) {
      const body = new BodySource(bytes, bodyStart, bodyEnd);
      return answers.answer(parsed, connection.client, body, AT_ONCE);
    }
    const reply = head.isAdmitted ? undefined : answers.answerHead(parsed, connection.client);
    head.isAdmitted = reply === undefined;
    connection.partialHead.isAdmitted = head.isAdmitted;
    return reply;
  }

  /**
   * Appends a response to the unsent responses. Returns "last" if the connection must be closed
   * after this response. While the service drains, the connection's last response closes it.
   */
  put(connection: LaneConnection, reply: Reply, isNothingLeft: boolean): 'answered' | 'last' {
    const { client, head } = connection;
    const isOver = connection.isClosing || reply.isLast || head?.isLast === true;
    const isLast = isOver || (client.isDraining && isNothingLeft);
    const isHead = head?.parsed.method === 'HEAD';
    connection.text += this.#parts.text.format(reply, { isHead, isLast });
    if (isHead) reply.releaseBody?.(true);
    else if (Buffer.isBuffer(reply.body)) connection.longReply = reply;
    connection.hasAsked = true;
    this.#parts.tally.count(reply.type, reply.status);
    return isLast ? 'last' : 'answered';
  }
}

/** Skips the body of a request that was answered from its head alone. */
function skipBody(connection: LaneConnection, input: LaneInput): void {
  const length = Math.min(connection.skipLength, input.end - input.start);
  connection.skipLength -= length;
  input.start += length;
  if (connection.skipLength === 0 && length > 0) connection.partialSinceMs = 0;
}

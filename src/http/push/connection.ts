/**
 * One push connection: its frames, its subscriptions and its backpressure. While the client has
 * unread bytes, no further states are sent. When the client has read them, it gets the newest state
 * of each subscription. So a slow client needs no memory for waiting states, and never gets an
 * outdated state.
 */

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { UNKNOWN_KEY } from '../../access/admission.ts';
import type { Key } from '../../access/keys.ts';
import { RequestError } from '../../info/request-error.ts';
import { Cancellation, CLIENT_GONE, STOPPING } from '../answering/cancellation.ts';
import type { PushCounters } from '../answering/counters.ts';
import type { HandledFrame } from '../answering/limits/refusal-rate-limit.ts';
import { headOfPost, type QuestionHead } from '../answering/question-head.ts';
import { JsonSource } from '../answering/question-source.ts';
import type { RequestingClient } from '../answering/requesting-client.ts';
import { weighLength } from '../message/parse-limits.ts';
import type { Reply } from '../message/reply.ts';
import { POLICY_VIOLATION } from '../transport/websocket/close-codes.ts';
import { IncomingFrames } from '../transport/websocket/incoming-frames.ts';
import { Outbox, SENT_OVERHEAD_BYTES } from '../transport/websocket/outbox.ts';
import {
  ConnectionSubscriptions,
  FRAME_WEIGHT,
  type SubscriptionContext,
} from './connection-subscriptions.ts';
import { describeRefusal, formatError } from './error-frames.ts';
import { type Frame, FrameError, findPostId, formatAnswer, PONG, parseFrame } from './frames.ts';
import { HeldMessages } from './held-messages.ts';

/** Maximum number of posts of a connection that wait for their answers. */
const POSTS_IN_FLIGHT_MAX = 100;

/** The parts of the push service that all connections share. */
export interface PushContext extends SubscriptionContext {
  readonly counters: PushCounters;
  /** Called with a connection that has too many unread bytes. */
  cutOff(connection: PushConnection, reason: string): void;
  /** Called with a connection whose client violates a limit of the protocol. */
  closeForViolation(connection: PushConnection, reason: string): void;
  /** Called with a connection on which an unexpected error occurred. */
  fail(connection: PushConnection, error: unknown): void;
  readonly backlogBytesMax: number;
  readonly pingMs: number;
}

/** The client of a handshake that was accepted. */
export interface PushClient {
  readonly socket: WebSocket;
  readonly intervalMs: number;
  /** The TCP socket of the WebSocket. */
  readonly stream: Socket;
  readonly key: Key;
  readonly secretHash: string;
}

type PostFrame = Extract<Frame, { method: 'post' }>;

export class PushConnection {
  readonly socket: WebSocket;
  readonly keyId: string;
  readonly secretHash: string;
  readonly intervalMs: number;
  readonly isCompressed: boolean;
  readonly outbox: Outbox;
  readonly incoming: IncomingFrames;
  readonly #context: PushContext;
  /** The request head of every post on this connection. */
  readonly #head: QuestionHead;
  readonly cancellation = new Cancellation();
  readonly #client: RequestingClient = { probeCount: 0, cancellation: this.cancellation };
  readonly #subscriptions: ConnectionSubscriptions;
  readonly #messages: HeldMessages;
  #postsInFlight = 0;
  /** The time at which the client last sent anything. */
  heardMs = performance.now();

  constructor({ socket, stream, intervalMs, key, secretHash }: PushClient, context: PushContext) {
    this.socket = socket;
    this.intervalMs = intervalMs;
    this.isCompressed = socket.extensions !== '';
    this.keyId = key.id;
    this.secretHash = secretHash;
    this.#head = headOfPost(secretHash);
    this.#context = context;
    this.#subscriptions = new ConnectionSubscriptions(this, context);
    this.incoming = new IncomingFrames(stream, socket);
    this.#messages = new HeldMessages({
      socket,
      incoming: this.incoming,
      handle: (bytes) => this.#receiveNext(bytes),
      overflowed: () => context.closeForViolation(this, 'too many messages without a budget'),
      failed: (error) => this.fail(error),
    });
    const { backlogBytesMax: bytesMax, pingMs } = context;
    this.outbox = new Outbox({
      socket,
      stream,
      bytesMax,
      pingMs,
      drained: () => this.#subscriptions.resume(),
      overflowed: () => context.cutOff(this, `more than ${bytesMax} bytes were left unread`),
    });
  }

  /** Called with each ping frame of the WebSocket protocol. */
  receivePing(payload: Buffer): void {
    this.heardMs = performance.now();
    if (this.#admitControlFrame()) this.outbox.pong(payload);
  }

  /**
   * Called with each pong frame of the WebSocket protocol. Only a pong that answers our ping proves
   * that the client reads.
   */
  receivePong(payload: Buffer): void {
    this.heardMs = performance.now();
    if (!this.outbox.notePong(payload)) this.#admitControlFrame();
  }

  #admitControlFrame(): boolean {
    if (this.incoming.admitControlFrame()) return true;
    this.#context.closeForViolation(this, 'too many control frames');
    return false;
  }

  receive(bytes: Buffer): void {
    this.heardMs = performance.now();
    this.#messages.receive(bytes);
    this.incoming.noteMessage();
  }

  /**
   * Called with each frame that the key may not have paid for. If the key has to wait, the
   * connection is not read until the wait is over.
   */
  limitFrames(frame: HandledFrame): void {
    const { answers } = this.#context;
    const turn = answers.limitFrames(frame, this.secretHash, this.cancellation);
    if (turn !== undefined) this.#messages.holdUntil(turn);
  }

  #receiveNext(bytes: Buffer): void {
    const key = this.#context.admission.findKey(this.secretHash);
    if (key === undefined) {
      this.socket.close(POLICY_VIOLATION, UNKNOWN_KEY.message);
      return;
    }
    const spent = this.#context.answers.lengthWeights.findSpentBudget(key, bytes.length);
    if (spent !== undefined) {
      this.#refuseUnread(bytes, spent);
      this.limitFrames({ refusal: spent, allowance: undefined });
      return;
    }
    try {
      this.#handle(parseFrame(bytes.toString()), key, bytes.length);
    } catch (error) {
      this.#refuse(error, key, bytes.length);
    }
  }

  /**
   * Refuses a message without parsing it. A client matches errors by the post's id, so only the id
   * is read.
   */
  #refuseUnread(bytes: Buffer, refusal: RequestError): void {
    this.outbox.send(formatError(refusal, describeRefusal(refusal), findPostId(bytes)));
  }

  #handle(frame: Frame, key: Key, length: number): void {
    if (frame.method === 'post') {
      this.#answer(frame, length);
      return;
    }
    // The weight of the frame itself is charged separately.
    const lengthWeight = weighLength(length) - FRAME_WEIGHT;
    if (lengthWeight > 0) this.#context.admission.chargeWhatIsLeft(key, lengthWeight);
    if (frame.method === 'ping') this.#answerPing(key);
    else this.#subscriptions.change(frame, key);
  }

  /**
   * Answers a ping. The ping is answered even if the budget is spent, because the client would
   * reconnect without a pong.
   */
  #answerPing(key: Key): void {
    const allowance = this.#context.admission.chargeWhatIsLeft(key, FRAME_WEIGHT);
    this.outbox.send(PONG);
    this.limitFrames({ allowance });
  }

  #refuse(error: unknown, key: Key, length: number): void {
    if (!(error instanceof FrameError)) throw error;
    const { refusal, message, postId } = error;
    const allowance = this.#context.admission.chargeWhatIsLeft(key, weighLength(length));
    this.outbox.send(formatError(refusal, message, postId));
    this.limitFrames({ refusal, allowance });
  }

  #answer({ id, question }: PostFrame, length: number): void {
    const { answers } = this.#context;
    const startedMs = performance.now();
    if (this.#postsInFlight === POSTS_IN_FLIGHT_MAX) {
      const message = `too many pending post requests id=${id}`;
      throw new FrameError(new RequestError('rate_limited', message), id);
    }
    const source = new JsonSource(question, 'request.payload', length);
    const reply = answers.answer(this.#head, this.#client, source);
    if (!(reply instanceof Promise)) {
      this.#sendAnswer(id, reply, startedMs);
      return;
    }
    this.#postsInFlight++;
    reply
      .then((later) => this.#sendAnswer(id, later, startedMs))
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        this.#postsInFlight--;
      });
  }

  #sendAnswer(id: number, reply: Reply, startedMs: number): void {
    const answer = reply.refusal ?? this.#formatAnswer(id, reply);
    const isRefused = answer instanceof RequestError;
    this.outbox.send(isRefused ? formatError(answer, describeRefusal(answer), id) : answer);
    reply.releaseBody?.(true);
    const status = isRefused ? answer.status : reply.status;
    const seconds = (performance.now() - startedMs) / 1000;
    this.#context.counters.countRequests(reply.type, status, seconds, 1);
  }

  /**
   * Formats the frame of an answer. Returns a refusal if the frame is over the backlog limit,
   * because sending the frame would close the connection.
   */
  #formatAnswer(id: number, reply: Reply): string | RequestError {
    // The length of the body is checked before the frame is formatted. This avoids a copy of a body
    // that is too long.
    const fault = this.#findLengthFault(reply.body.length);
    if (fault !== undefined) return fault;
    const frame = formatAnswer(id, reply);
    return this.#findLengthFault(Buffer.byteLength(frame)) ?? frame;
  }

  #findLengthFault(length: number): RequestError | undefined {
    const { backlogBytesMax } = this.#context;
    const bytes = length + SENT_OVERHEAD_BYTES;
    if (bytes <= backlogBytesMax) return undefined;
    const message =
      `type: the answer takes ${bytes} bytes, expected at most ${backlogBytesMax} on a push ` +
      'connection: ask for less, or over HTTP';
    return new RequestError('invalid_field', message, 'type');
  }

  /** Called when the service stops. Refuses the posts that are not answered yet. */
  startDraining(): void {
    this.cancellation.cancel(STOPPING);
  }

  /** Called once, when the connection is closed. */
  release(): void {
    this.cancellation.cancel(CLIENT_GONE);
    this.#subscriptions.release();
  }

  fail(error: unknown): void {
    this.#context.fail(this, error);
  }
}

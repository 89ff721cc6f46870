/**
 * One push connection: its frames, its subscriptions and its backpressure. While the client has unread
 * bytes it is sent no further states; afterwards it gets the newest state of each subscription. So a
 * slow client costs no memory, and never sees a stale state.
 */

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { type Admission, UNKNOWN_KEY } from '../../access/admission.ts';
import type { Key } from '../../access/keys.ts';
import { parseSubscription } from '../../info/registry.ts';
import { RequestError } from '../../info/request-error.ts';
import type { StateView } from '../../state/state.ts';
import type { Answers, Peer } from '../answers.ts';
import type { PushCounters } from '../counters.ts';
import { JsonSource } from '../question-source.ts';
import { headOfPost, type RequestHead } from '../request-head.ts';
import { Incoming } from './frame-limits.ts';
import {
  describeRefusal,
  echo,
  type Frame,
  FrameError,
  formatAck,
  formatAnswer,
  formatError,
  formatPostError,
  formatSubscription,
  PONG,
  PostError,
  parseFrame,
} from './frames.ts';
import { Outbox } from './outbox.ts';
import type { PushSchedule } from './schedule.ts';
import { type Subscriber, Subscription } from './subscription.ts';
import type { Topics } from './topics.ts';

/** Close codes of the WebSocket protocol. */
export const GOING_AWAY = 1001;
export const POLICY_VIOLATION = 1008;
export const INTERNAL_ERROR = 1011;

/** The weight of a frame that asks no question: a ping, an unsubscribe, a malformed frame. */
const FRAME_WEIGHT = 1;

/** Shared by all connections. */
export interface PushContext {
  readonly answers: Answers;
  readonly admission: Admission;
  readonly topics: Topics;
  readonly schedule: PushSchedule;
  readonly counters: PushCounters;
  /** Why a key may not have one more subscription; undefined if it may. */
  refuseSubscription(keyId: string): RequestError | undefined;
  countSubscriptions(keyId: string, change: 1 | -1): void;
  readState(): StateView | undefined;
  /** Called with a connection that has too many unread bytes. */
  cutOff(connection: PushConnection, reason: string): void;
  /** Called with a connection whose client violates a limit of the protocol. */
  turnAway(connection: PushConnection, reason: string): void;
  /** Called with a connection on which a bug of ours came up. */
  fail(connection: PushConnection, error: unknown): void;
  readonly backlogBytesMax: number;
}

/** A client whose handshake was accepted. */
export interface PushClient {
  readonly socket: WebSocket;
  /** The TCP socket below the WebSocket. */
  readonly stream: Socket;
  readonly key: Key;
  readonly secretHash: string;
}

type SubscriptionFrame = Extract<Frame, { subscription: unknown }>;
type PostFrame = Extract<Frame, { method: 'post' }>;

export class PushConnection implements Subscriber {
  readonly socket: WebSocket;
  readonly keyId: string;
  readonly secretHash: string;
  readonly outbox: Outbox;
  readonly incoming: Incoming;
  readonly #context: PushContext;
  /** The request head of every post on this connection. */
  readonly #head: RequestHead;
  readonly #peer: Peer = { strangeRequests: 0 };
  readonly #subscriptions = new Map<string, Subscription>();
  /** Those whose newest state could not be sent yet. */
  readonly #missed = new Set<Subscription>();
  /** When the client last sent anything. */
  heardMs = performance.now();

  constructor({ socket, stream, key, secretHash }: PushClient, context: PushContext) {
    this.socket = socket;
    this.keyId = key.id;
    this.secretHash = secretHash;
    this.#head = headOfPost(secretHash);
    this.#context = context;
    this.incoming = new Incoming(stream);
    const bytesMax = context.backlogBytesMax;
    this.outbox = new Outbox({
      socket,
      stream,
      bytesMax,
      drained: () => this.#sendMissed(),
      overflowed: () => context.cutOff(this, `more than ${bytesMax} bytes were left unread`),
    });
  }

  /** Called with each ping of the protocol. */
  receivePing(payload: Buffer): void {
    this.heardMs = performance.now();
    if (this.#admitControlFrame()) this.outbox.pong(payload);
  }

  /** Called with each pong of the protocol; only one that answers our ping shows that the client reads. */
  receivePong(payload: Buffer): void {
    this.heardMs = performance.now();
    if (!this.outbox.notePong(payload)) this.#admitControlFrame();
  }

  #admitControlFrame(): boolean {
    if (this.incoming.admitControlFrame()) return true;
    this.#context.turnAway(this, 'too many control frames');
    return false;
  }

  receive(text: string): void {
    this.heardMs = performance.now();
    const key = this.#context.admission.findKey(this.secretHash);
    if (key === undefined) {
      this.socket.close(POLICY_VIOLATION, UNKNOWN_KEY.message);
      return;
    }
    try {
      this.#handle(parseFrame(text), key);
    } catch (error) {
      this.#refuse(error, key);
    }
  }

  #handle(frame: Frame, key: Key): void {
    if (frame.method === 'ping') this.#answerPing(key);
    else if (frame.method === 'post') this.#answer(frame);
    else this.#change(frame, key);
  }

  /** Even if the budget is spent: without a pong the client would reconnect. */
  #answerPing(key: Key): void {
    this.#context.admission.charge(key, FRAME_WEIGHT);
    this.outbox.send(PONG);
  }

  #refuse(error: unknown, key: Key): void {
    if (!(error instanceof FrameError)) throw error;
    this.#context.admission.charge(key, FRAME_WEIGHT);
    if (error instanceof PostError) this.outbox.send(formatPostError(error.id, error.message));
    else this.outbox.send(formatError(error.message));
  }

  #answer({ id, question }: PostFrame): void {
    const { answers, counters } = this.#context;
    const startedMs = performance.now();
    const reply = answers.answer(this.#head, this.#peer, new JsonSource(question));
    if (reply instanceof Promise)
      throw new Error('a post has no minimum height, but its answer waits for one');
    const { type, status, refusal } = reply;
    if (refusal === undefined) this.outbox.send(formatAnswer(id, reply));
    else this.outbox.send(formatPostError(id, describeRefusal(refusal)));
    counters.countRequests(type, status, (performance.now() - startedMs) / 1000, 1);
  }

  #change({ method, subscription }: SubscriptionFrame, key: Key): void {
    const refusal = this.#tryChange(method, subscription, key);
    if (refusal === undefined) return;
    this.#context.answers.chargeRefusal(key, refusal);
    const isWrong = refusal.status === 422;
    const what = isWrong ? 'Invalid subscription' : 'Subscription refused';
    const about = isWrong ? subscription : { method, subscription };
    this.outbox.send(formatError(`${what}: ${describeRefusal(refusal)}`, echo(about)));
  }

  #tryChange(
    method: SubscriptionFrame['method'],
    subscription: unknown,
    key: Key,
  ): RequestError | undefined {
    try {
      if (method === 'subscribe') return this.#subscribe(subscription, key);
      this.#unsubscribe(subscription, key);
      return undefined;
    } catch (error) {
      if (error instanceof RequestError) return error;
      throw error;
    }
  }

  /** Returns the refusal, if it is refused. */
  #subscribe(asked: unknown, key: Key): RequestError | undefined {
    const { answers, admission, topics, schedule } = this.#context;
    const question = parseSubscription(asked);
    const name = formatSubscription(question);
    if (this.#subscriptions.has(name)) {
      admission.charge(key, FRAME_WEIGHT);
      this.outbox.send(formatError('Already subscribed:', name));
      return undefined;
    }
    const state = answers.admitSubscription(question, key);
    if (state instanceof RequestError) return state;
    const refusal = this.#context.refuseSubscription(this.keyId);
    if (refusal !== undefined) return refusal;
    admission.charge(key, question.weight);
    const subscription = new Subscription(topics.join(name, question), this);
    this.#subscriptions.set(name, subscription);
    this.#context.countSubscriptions(this.keyId, 1);
    this.outbox.send(formatAck('subscribe', name));
    subscription.deliver(state);
    schedule.add(subscription);
    return undefined;
  }

  /** Even if the budget is spent: it reduces the work. */
  #unsubscribe(asked: unknown, key: Key): void {
    const name = formatSubscription(parseSubscription(asked));
    this.#context.admission.charge(key, FRAME_WEIGHT);
    const subscription = this.#subscriptions.get(name);
    if (subscription === undefined) {
      this.outbox.send(formatError('Already unsubscribed:', name));
      return;
    }
    this.#subscriptions.delete(name);
    this.#forget(subscription);
    this.outbox.send(formatAck('unsubscribe', name));
  }

  #forget(subscription: Subscription): void {
    this.#missed.delete(subscription);
    this.#context.schedule.delete(subscription);
    this.#context.topics.leave(subscription.topic);
    this.#context.countSubscriptions(this.keyId, -1);
  }

  /** Called once, when the connection is closed. */
  release(): void {
    for (const subscription of this.#subscriptions.values()) this.#forget(subscription);
    this.#subscriptions.clear();
  }

  noteMissed(subscription: Subscription): void {
    this.#missed.add(subscription);
  }

  sendState(frame: Buffer): void {
    this.#context.counters.countState();
    this.outbox.send(frame);
  }

  fail(error: unknown): void {
    this.#context.fail(this, error);
  }

  #sendMissed(): void {
    const state = this.#context.readState();
    if (state === undefined) return;
    for (const subscription of this.#missed) {
      if (this.outbox.hasUnread) return;
      this.#missed.delete(subscription);
      if (subscription.deliver(state)) this.#context.schedule.add(subscription);
    }
  }
}

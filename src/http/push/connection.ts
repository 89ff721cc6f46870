/**
 * One push connection: what comes on it, what it is subscribed to, and how fast it reads. While the
 * client has not taken what it was sent, it is sent no further states; once it has, the newest one
 * of each subscription. So a slow client costs no memory, and none sees a state that is long past.
 */

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { RequestError } from '../../errors.ts';
import { parseQuestion, parseSubscription } from '../../info/registry.ts';
import type { Question } from '../../info/request.ts';
import type { StateView } from '../../state/state.ts';
import type { Admission } from '../admission.ts';
import type { Key } from '../keys.ts';
import { type Metrics, NO_TYPE } from '../metrics.ts';
import {
  describeRefusal,
  echoSubscription,
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
import type { PushSchedule, Scheduled } from './schedule.ts';
import type { Look, Topic, Topics } from './topics.ts';

/** Close codes of the WebSocket protocol. */
export const GOING_AWAY = 1001;
export const POLICY_VIOLATION = 1008;
export const INTERNAL_ERROR = 1011;

/** What all connections share. */
export interface PushDesk {
  readonly admission: Admission;
  readonly topics: Topics;
  readonly schedule: PushSchedule;
  readonly metrics: Metrics;
  /** Refuses one more subscription of a key that has enough. */
  checkSubscriptions(keyId: string): void;
  countSubscriptions(keyId: string, change: 1 | -1): void;
  readState(): StateView | undefined;
  /** Called with a connection that has left more unread than it may. */
  cutOff(connection: PushConnection, reason: string): void;
  /** Called with a connection on which an error of our own came up. */
  fail(connection: PushConnection, error: unknown): void;
  readonly backlogBytesMax: number;
}

/** Who is connected, and how. */
export interface PushClient {
  readonly socket: WebSocket;
  /** What the socket writes to. */
  readonly stream: Socket;
  readonly key: Key;
  readonly secretHash: string;
}

/** So much is written at once at most: beyond this there is nothing to save. */
const GATHERED_BYTES_MAX = 64 << 10;

type SubscriptionFrame = Extract<Frame, { subscription: unknown }>;
type PostFrame = Extract<Frame, { method: 'post' }>;

export class PushConnection {
  readonly socket: WebSocket;
  readonly keyId: string;
  readonly secretHash: string;
  readonly #stream: Socket;
  readonly #desk: PushDesk;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Those with a state that could not be sent yet. */
  readonly #missed = new Set<Subscription>();
  /** When the client last showed that it is there. */
  heardMs = performance.now();
  /** Since when it has left something unread; undefined where it has read all. */
  unreadSinceMs: number | undefined;
  #isGathering = false;
  /** Whether something was unread when gathering began. */
  #wasUnread = false;

  constructor({ socket, stream, key, secretHash }: PushClient, desk: PushDesk) {
    this.socket = socket;
    this.#stream = stream;
    this.keyId = key.id;
    this.secretHash = secretHash;
    this.#desk = desk;
  }

  /** Whether the client has yet to take what it was sent; what is being gathered does not count. */
  get hasUnread(): boolean {
    return this.#isGathering ? this.#wasUnread : this.socket.bufferedAmount > 0;
  }

  receive(text: string): void {
    this.heardMs = performance.now();
    let key: Key;
    try {
      key = this.#desk.admission.requireKey(this.secretHash);
    } catch (error) {
      this.socket.close(POLICY_VIOLATION, (error as Error).message);
      return;
    }
    try {
      this.#handle(parseFrame(text), key);
    } catch (error) {
      this.#refuse(error, key);
    }
  }

  #handle(frame: Frame, key: Key): void {
    if (frame.method === 'ping') this.send(PONG);
    else if (frame.method === 'post') this.#answer(frame, key);
    else this.#change(frame, key);
  }

  #refuse(error: unknown, key: Key): void {
    if (!(error instanceof FrameError)) throw error;
    this.#desk.admission.charge(key, 1);
    if (error instanceof PostError) this.send(formatPostError(error.id, error.message));
    else this.send(formatError(error.message));
  }

  #answer({ id, question: body }: PostFrame, key: Key): void {
    const { admission, metrics } = this.#desk;
    const startedMs = performance.now();
    let type = NO_TYPE;
    let status = 200;
    try {
      const question = parseQuestion(body);
      type = question.type;
      const state = this.#admit(question, key);
      admission.checkLoad();
      this.send(formatAnswer(id, question, question.answer(state), state));
      admission.charge(key, question.weight);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      status = error.status;
      admission.chargeRefusal(key, error);
      this.send(formatPostError(id, describeRefusal(error)));
    }
    metrics.countRequest(type, status, (performance.now() - startedMs) / 1000);
  }

  /** The state to answer from; where several things are wrong, the first that HTTP would tell. */
  #admit(question: Question, key: Key): StateView {
    const { admission } = this.#desk;
    const state = this.#desk.readState();
    if (state !== undefined) question.validate(state);
    admission.checkBudget(key, question.weight);
    return admission.requireState();
  }

  #change({ method, subscription }: SubscriptionFrame, key: Key): void {
    try {
      if (method === 'subscribe') this.#subscribe(subscription, key);
      else this.#unsubscribe(subscription);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.#desk.admission.chargeRefusal(key, error);
      const message = `Invalid subscription: ${describeRefusal(error)}`;
      this.send(formatError(message, echoSubscription(subscription)));
    }
  }

  #subscribe(asked: unknown, key: Key): void {
    const { admission, topics, schedule } = this.#desk;
    const question = parseSubscription(asked);
    const name = formatSubscription(question);
    if (this.#subscriptions.has(name)) {
      this.send(formatError('Already subscribed:', name));
      return;
    }
    // Not refused under load: when many reconnect at once they only wait, and the load passes.
    const state = this.#admit(question, key);
    this.#desk.checkSubscriptions(this.keyId);
    admission.charge(key, question.weight);
    const subscription = new Subscription(topics.join(name, question), this);
    this.#subscriptions.set(name, subscription);
    this.#desk.countSubscriptions(this.keyId, 1);
    this.send(formatAck('subscribe', name));
    subscription.deliver(state);
    schedule.add(subscription);
  }

  #unsubscribe(asked: unknown): void {
    const name = formatSubscription(parseSubscription(asked));
    const subscription = this.#subscriptions.get(name);
    if (subscription === undefined) {
      this.send(formatError('Already unsubscribed:', name));
      return;
    }
    this.#subscriptions.delete(name);
    this.#forget(subscription);
    this.send(formatAck('unsubscribe', name));
  }

  #forget(subscription: Subscription): void {
    this.#missed.delete(subscription);
    this.#desk.schedule.delete(subscription);
    this.#desk.topics.leave(subscription.topic);
    this.#desk.countSubscriptions(this.keyId, -1);
  }

  /** Called once, when the connection is closed. */
  release(): void {
    for (const subscription of this.#subscriptions.values()) this.#forget(subscription);
    this.#subscriptions.clear();
  }

  /** Called with a subscription whose state cannot be sent before the client has read more. */
  noteMissed(subscription: Subscription): void {
    this.#missed.add(subscription);
  }

  sendState(frame: Buffer): void {
    this.#desk.metrics.countState();
    this.send(frame);
  }

  fail(error: unknown): void {
    this.#desk.fail(this, error);
  }

  send(frame: string | Buffer): void {
    const { socket } = this;
    if (socket.readyState !== socket.OPEN) return;
    this.#gather();
    socket.send(frame, { binary: false }, this.#noteSent);
    if (socket.bufferedAmount > GATHERED_BYTES_MAX) this.#flush();
  }

  /** A system call costs more than a frame: those that are sent in one go are written together. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#wasUnread = this.hasUnread;
    this.#isGathering = true;
    this.#stream.cork();
    process.nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    if (!this.#isGathering) return;
    this.#isGathering = false;
    this.#stream.uncork();
    if (!this.hasUnread) return;
    this.unreadSinceMs ??= performance.now();
    const { backlogBytesMax } = this.#desk;
    if (this.socket.bufferedAmount <= backlogBytesMax) return;
    this.#desk.cutOff(this, `more than ${backlogBytesMax} bytes were left unread`);
  };

  readonly #noteSent = (): void => {
    if (this.hasUnread) return;
    this.unreadSinceMs = undefined;
    const state = this.#desk.readState();
    if (state === undefined) return;
    for (const subscription of this.#missed) {
      if (this.hasUnread) return;
      this.#missed.delete(subscription);
      if (subscription.deliver(state)) this.#desk.schedule.add(subscription);
    }
  };
}

/** One subscription of one connection. */
export class Subscription implements Scheduled {
  readonly topic: Topic;
  readonly #connection: PushConnection;
  /** What it was sent last, apart from the time. */
  #content: string | undefined;
  dueMs = 0;

  constructor(topic: Topic, connection: PushConnection) {
    this.topic = topic;
    this.#connection = connection;
  }

  deliver(state: StateView): boolean {
    // The first state follows the acknowledgement at once, whatever else is unread.
    if (this.#content !== undefined && this.#connection.hasUnread) {
      this.#connection.noteMissed(this);
      return true;
    }
    const look = this.#look(state);
    if (look === undefined || look.content === this.#content) return false;
    this.#content = look.content;
    this.#connection.sendState(look.frame);
    return true;
  }

  #look(state: StateView): Look | undefined {
    try {
      return this.topic.look(state);
    } catch (error) {
      this.#connection.fail(error);
      return undefined;
    }
  }
}

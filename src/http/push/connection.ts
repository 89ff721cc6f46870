/**
 * One push connection: what comes on it, what it is subscribed to, and how fast it reads. While the
 * client has not taken what it was sent, it is sent no further states; once it has, the newest one
 * of each subscription. So a slow client costs no memory, and none sees a state that is long past.
 */

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Key } from '../../access/keys.ts';
import { parseQuestion, parseSubscription } from '../../info/registry.ts';
import type { Question } from '../../info/request.ts';
import { RequestError } from '../../info/request-error.ts';
import { type Metrics, NO_TYPE } from '../../service/metrics.ts';
import type { StateView } from '../../state/state.ts';
import type { Admission } from '../admission.ts';
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
import { Incoming } from './incoming.ts';
import { Outbox } from './outbox.ts';
import type { PushSchedule, Scheduled } from './schedule.ts';
import type { Look, Topic, Topics } from './topics.ts';

/** Close codes of the WebSocket protocol. */
export const GOING_AWAY = 1001;
export const POLICY_VIOLATION = 1008;
export const INTERNAL_ERROR = 1011;

/** What a frame takes from the budget that asks nothing: a ping, an end of a subscription, a mistake. */
const FRAME_WEIGHT = 1;

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
  /** Called with a connection whose client oversteps a bound of the protocol. */
  turnAway(connection: PushConnection, reason: string): void;
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

type SubscriptionFrame = Extract<Frame, { subscription: unknown }>;
type PostFrame = Extract<Frame, { method: 'post' }>;

export class PushConnection {
  readonly socket: WebSocket;
  readonly keyId: string;
  readonly secretHash: string;
  readonly outbox: Outbox;
  readonly incoming: Incoming;
  readonly #desk: PushDesk;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Those with a state that could not be sent yet. */
  readonly #missed = new Set<Subscription>();
  /** When the client last showed that it is there. */
  heardMs = performance.now();

  constructor({ socket, stream, key, secretHash }: PushClient, desk: PushDesk) {
    this.socket = socket;
    this.keyId = key.id;
    this.secretHash = secretHash;
    this.#desk = desk;
    this.incoming = new Incoming(stream);
    const bytesMax = desk.backlogBytesMax;
    this.outbox = new Outbox({
      ...{ socket, stream, bytesMax },
      drained: () => this.#sendMissed(),
      overflowed: () => desk.cutOff(this, `more than ${bytesMax} bytes were left unread`),
    });
  }

  /** Called with each ping of the protocol. */
  receivePing(payload: Buffer): void {
    this.heardMs = performance.now();
    if (this.#admitControlFrame()) this.outbox.pong(payload);
  }

  /** Called with each pong of the protocol; only one that answers our ping says that the client reads. */
  receivePong(payload: Buffer): void {
    this.heardMs = performance.now();
    if (!this.outbox.notePong(payload)) this.#admitControlFrame();
  }

  #admitControlFrame(): boolean {
    if (this.incoming.admitControlFrame()) return true;
    this.#desk.turnAway(this, 'too many control frames');
    return false;
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
    if (frame.method === 'ping') this.#answerPing(key);
    else if (frame.method === 'post') this.#answer(frame, key);
    else this.#change(frame, key);
  }

  /** Also where the budget is spent: a client without its pong would connect anew. */
  #answerPing(key: Key): void {
    this.#desk.admission.charge(key, FRAME_WEIGHT);
    this.outbox.send(PONG);
  }

  #refuse(error: unknown, key: Key): void {
    if (!(error instanceof FrameError)) throw error;
    this.#desk.admission.charge(key, FRAME_WEIGHT);
    if (error instanceof PostError) this.outbox.send(formatPostError(error.id, error.message));
    else this.outbox.send(formatError(error.message));
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
      this.outbox.send(formatAnswer(id, question, question.answer(state), state));
      admission.charge(key, question.weight);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      status = error.status;
      admission.chargeRefusal(key, error);
      this.outbox.send(formatPostError(id, describeRefusal(error)));
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
      else this.#unsubscribe(subscription, key);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.#desk.admission.chargeRefusal(key, error);
      const isWrong = error.status === 422;
      const what = isWrong ? 'Invalid subscription' : 'Subscription refused';
      const about = isWrong ? subscription : { method, subscription };
      this.outbox.send(formatError(`${what}: ${describeRefusal(error)}`, echo(about)));
    }
  }

  #subscribe(asked: unknown, key: Key): void {
    const { admission, topics, schedule } = this.#desk;
    const question = parseSubscription(asked);
    const name = formatSubscription(question);
    if (this.#subscriptions.has(name)) {
      admission.charge(key, FRAME_WEIGHT);
      this.outbox.send(formatError('Already subscribed:', name));
      return;
    }
    // Not refused under load: when many reconnect at once they only wait, and the load passes.
    const state = this.#admit(question, key);
    this.#desk.checkSubscriptions(this.keyId);
    admission.charge(key, question.weight);
    const subscription = new Subscription(topics.join(name, question), this);
    this.#subscriptions.set(name, subscription);
    this.#desk.countSubscriptions(this.keyId, 1);
    this.outbox.send(formatAck('subscribe', name));
    subscription.deliver(state);
    schedule.add(subscription);
  }

  /** Done also where the budget is spent: it makes less work, not more. */
  #unsubscribe(asked: unknown, key: Key): void {
    const name = formatSubscription(parseSubscription(asked));
    this.#desk.admission.charge(key, FRAME_WEIGHT);
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
    this.outbox.send(frame);
  }

  fail(error: unknown): void {
    this.#desk.fail(this, error);
  }

  #sendMissed(): void {
    const state = this.#desk.readState();
    if (state === undefined) return;
    for (const subscription of this.#missed) {
      if (this.outbox.hasUnread) return;
      this.#missed.delete(subscription);
      if (subscription.deliver(state)) this.#desk.schedule.add(subscription);
    }
  }
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
    if (this.#content !== undefined && this.#connection.outbox.hasUnread) {
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

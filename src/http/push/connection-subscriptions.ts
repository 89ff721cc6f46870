/**
 * The subscriptions of one push connection. On a partial ledger, the accounts of a new subscription
 * may have to be read from the exchange first. The subscription is then acknowledged after these
 * reads.
 */

import type { Admission } from '../../access/admission.ts';
import type { Key } from '../../access/keys.ts';
import type { Prepayment } from '../../access/prepayment.ts';
import type { StateQuestion } from '../../info/question.ts';
import { parseSubscription } from '../../info/read-question.ts';
import { RequestError } from '../../info/request-error.ts';
import { requireKnown, type UpstreamAnswers } from '../../info/upstream-answers.ts';
import type { StateView } from '../../state/state.ts';
import type { AccountReadResult } from '../answering/account-reads.ts';
import type { Answers } from '../answering/answers.ts';
import type { Cancellation } from '../answering/cancellation.ts';
import type { HandledFrame } from '../answering/limits/refusal-rate-limit.ts';
import type { FrameWriter } from '../transport/websocket/frame-writer.ts';
import type { Outbox } from '../transport/websocket/outbox.ts';
import { formatAlready, formatSubscriptionError } from './error-frames.ts';
import { type Frame, formatAck, formatSubscription } from './frames.ts';
import { LinkedList } from './linked-list.ts';
import type { PushSchedule, Scheduled, ScheduledConnection } from './schedule.ts';
import { Subscription } from './subscription.ts';
import type { Topics } from './topics.ts';

/** The weight of a frame without a question: a ping, an unsubscribe, or a malformed frame. */
export const FRAME_WEIGHT = 1;

/** The parts of the push service that all connections share. */
export interface SubscriptionContext {
  readonly answers: Answers;
  readonly admission: Admission;
  readonly topics: Topics;
  readonly schedule: PushSchedule;
  /** The frame writer that all connections share. */
  readonly frames: FrameWriter;
  countStates(count: number): void;
  /**
   * Returns the refusal of one more subscription of a key; returns undefined if the subscription is
   * allowed.
   */
  findSubscriptionShortage(keyId: string): RequestError | undefined;
  countSubscriptions(keyId: string, change: 1 | -1): void;
  readState(): StateView | undefined;
}

/** The part of a push connection that its subscriptions use. */
interface Connection {
  readonly keyId: string;
  readonly secretHash: string;
  readonly cancellation: Cancellation;
  readonly outbox: Outbox;
  /** Minimum time between two states of a subscription. */
  readonly intervalMs: number;
  readonly isCompressed: boolean;
  /**
   * Called with each frame that the key may not have paid for. The next frame may then have to
   * wait.
   */
  limitFrames(frame: HandledFrame): void;
  /** Called with an unexpected error. */
  fail(error: unknown): void;
}

type SubscriptionFrame = Extract<Frame, { subscription: unknown }>;

/** A subscription that is ready to be opened. */
interface Admitted {
  readonly question: StateQuestion;
  readonly state: StateView;
  readonly upstreamAnswers?: UpstreamAnswers;
}

/** A subscription that has been paid for, and whose accounts are being read. */
interface Pending {
  readonly frame: SubscriptionFrame;
  readonly question: StateQuestion;
  readonly payment: Prepayment;
}

/**
 * Maximum number of bytes in one write, unless a single state is longer. Larger writes are not
 * faster.
 */
const GATHERED_BYTES_MAX = 64 << 10;
/**
 * Maximum number of subscriptions that are checked without a pause, whether they have changed or
 * not.
 */
const CHECKED_MAX = 64;

export class ConnectionSubscriptions implements ScheduledConnection {
  readonly #connection: Connection;
  readonly #context: SubscriptionContext;
  readonly #open = new Map<string, Subscription>();
  readonly intervalMs: number;
  readonly keyId: string;
  readonly stale = new LinkedList<Scheduled>();
  list: LinkedList<ScheduledConnection> | undefined;
  previous: ScheduledConnection | undefined;
  next: ScheduledConnection | undefined;
  /**
   * The range of this connection's unsent frames in the shared writer: the start and the end of the
   * range.
   */
  #composedStart = 0;
  #composedEnd = 0;
  /** The names of subscriptions whose accounts are being read. */
  readonly #pending = new Set<string>();

  constructor(connection: Connection, context: SubscriptionContext) {
    this.#connection = connection;
    this.#context = context;
    this.intervalMs = connection.intervalMs;
    this.keyId = connection.keyId;
  }

  /** Subscribes or unsubscribes. */
  change(frame: SubscriptionFrame, key: Key): void {
    this.#attempt(frame, key, () => {
      if (frame.method === 'subscribe') return this.#subscribe(frame, key);
      return this.#unsubscribe(frame.subscription, key);
    });
  }

  /** Does the work. If the work returns or throws a refusal, charges and sends the refusal. */
  #attempt(
    frame: SubscriptionFrame,
    key: Key,
    work: () => RequestError | undefined,
    isLate = false,
  ): void {
    const refusal = returnRefusal(work);
    if (refusal === undefined) return;
    const allowance = this.#context.answers.chargeRefusal(key, refusal);
    this.#connection.outbox.send(formatSubscriptionError(refusal, frame));
    this.#connection.limitFrames({ refusal, allowance, isLate });
  }

  /** Charges a frame that asks no question. */
  #chargeFrame(key: Key): void {
    const allowance = this.#context.admission.chargeWhatIsLeft(key, FRAME_WEIGHT);
    this.#connection.limitFrames({ allowance });
  }

  #subscribe(frame: SubscriptionFrame, key: Key): RequestError | undefined {
    const { answers, admission } = this.#context;
    const question = parseSubscription(frame.subscription);
    const name = formatSubscription(question);
    if (this.#open.has(name) || this.#pending.has(name)) {
      this.#chargeFrame(key);
      this.#connection.outbox.send(formatAlready('subscribe', name));
      return undefined;
    }
    const state = answers.admitSubscription(question, key);
    if (state instanceof RequestError) return state;
    const refusal = this.#context.findSubscriptionShortage(this.#connection.keyId);
    if (refusal !== undefined) return refusal;
    const isReading = state.isPartial && this.#readFirst({ frame, question }, key, state);
    if (isReading) return undefined;
    this.#add({ question, state });
    // The question is charged in the same turn of the event loop in which the budget was checked.
    admission.charge(key, question.weight);
    return undefined;
  }

  /** Starts to read the accounts of a subscription. Returns false if nothing has to be read. */
  #readFirst(asked: Omit<Pending, 'payment'>, key: Key, state: StateView): boolean {
    const subjects = asked.question.subjects(state);
    const reading = this.#context.answers.reads.read(state, subjects, this.#connection);
    if (reading === undefined) return false;
    // The question is charged in the same turn of the event loop in which the budget was checked.
    const payment = this.#context.admission.payFirst(key, asked.question.weight);
    this.#pending.add(formatSubscription(asked.question));
    this.#context.countSubscriptions(key.id, 1);
    reading
      .then((read) => this.#finishPending({ ...asked, payment }, read))
      .catch((error: unknown) => this.#connection.fail(error));
    return true;
  }

  /**
   * Opens a subscription after its reads, unless the subscription was cancelled or the key was
   * revoked.
   */
  #finishPending({ frame, question, payment }: Pending, read: AccountReadResult): void {
    const { answers, admission } = this.#context;
    const key = admission.findKey(this.#connection.secretHash);
    if (this.#dropPending(formatSubscription(question)) && key !== undefined) {
      const open = () => {
        const state = answers.admitSubscription(question);
        if (state instanceof RequestError) return state;
        this.#add({ question, state, upstreamAnswers: read.upstreamAnswers });
        payment.keep();
        return undefined;
      };
      this.#attempt(frame, key, open, true);
    }
    payment.isDone = read.wasAsked;
    payment.giveBack();
  }

  /** Removes a pending subscription. Returns false if no pending subscription has this name. */
  #dropPending(name: string): boolean {
    if (!this.#pending.delete(name)) return false;
    this.#context.countSubscriptions(this.#connection.keyId, -1);
    return true;
  }

  /** Acknowledges a subscription, and sends its first state. */
  #add({ question, state, upstreamAnswers }: Admitted): void {
    const { topics, schedule } = this.#context;
    if (state.isPartial) requireKnown(state, question.subjects(state), upstreamAnswers);
    const name = formatSubscription(question);
    const topic = topics.open(name, question, state);
    const subscription = new Subscription(topic, this);
    topic.join(subscription);
    this.#open.set(name, subscription);
    this.#context.countSubscriptions(this.#connection.keyId, 1);
    this.#connection.outbox.send(formatAck('subscribe', name));
    // The first state follows the acknowledgement immediately, even if the client has unread bytes.
    if (upstreamAnswers !== undefined) topics.takeUpstreamAnswers(topic, upstreamAnswers);
    this.#sendFirst(subscription, state);
    schedule.rest(subscription);
  }

  /**
   * Unsubscribes. This is allowed even if the budget is spent, because unsubscribing reduces the
   * work.
   */
  #unsubscribe(asked: unknown, key: Key): undefined {
    const { outbox } = this.#connection;
    const name = formatSubscription(parseSubscription(asked));
    this.#chargeFrame(key);
    const subscription = this.#open.get(name);
    if (subscription === undefined && !this.#dropPending(name)) {
      outbox.send(formatAlready('unsubscribe', name));
      return;
    }
    this.#open.delete(name);
    if (subscription !== undefined) this.#forget(subscription);
    outbox.send(formatAck('unsubscribe', name));
  }

  #forget(subscription: Subscription): void {
    this.#context.schedule.delete(subscription);
    this.#context.topics.leave(subscription.topic, subscription);
    this.#context.countSubscriptions(this.#connection.keyId, -1);
  }

  /** Ends all subscriptions. Called once, when the connection is closed. */
  release(): void {
    for (const subscription of this.#open.values()) this.#forget(subscription);
    this.#open.clear();
    this.#context.schedule.release(this);
    for (const name of this.#pending) this.#dropPending(name);
  }

  /** Queues the stale subscriptions. Called when the client has read its data. */
  resume(): void {
    this.#context.schedule.enqueue(this);
  }

  /** Sends the first state immediately, even if the client has unread bytes. */
  #sendFirst(subscription: Subscription, state: StateView): void {
    const { frames } = this.#context;
    frames.clear();
    this.#composedStart = frames.length;
    this.#write(frames, subscription, state);
    this.#finishFrames(frames);
    this.send(frames);
    this.#context.countStates(frames.count);
  }

  /** Writes the newest states. Writes nothing while the client has unread bytes. */
  compose(frames: FrameWriter, state: StateView): void {
    this.#composedStart = frames.length;
    if (!this.#connection.outbox.hasUnread) this.#composeStale(frames, state);
    this.#finishFrames(frames);
  }

  #composeStale(frames: FrameWriter, state: StateView): void {
    const { schedule } = this.#context;
    const { stale } = this;
    if (this.#open.size <= CHECKED_MAX) schedule.wakeNearlyDue(this, this.#open.values());
    const endMax = frames.length + GATHERED_BYTES_MAX;
    for (let checked = 0; checked < CHECKED_MAX && frames.length < endMax; checked++) {
      const { first } = stale;
      if (first === undefined) return;
      stale.remove(first);
      first.isMarked = false;
      if (this.#write(frames, first, state)) schedule.rest(first);
      else schedule.wait(first);
    }
  }

  #write(frames: FrameWriter, subscription: Scheduled, state: StateView): boolean {
    try {
      if (!subscription.write(frames, state)) return false;
      if (this.#connection.isCompressed) frames.compressLast();
      return true;
    } catch (error) {
      this.#connection.fail(error);
      return false;
    }
  }

  #finishFrames(frames: FrameWriter): void {
    if (frames.length > this.#composedStart)
      this.#connection.outbox.finish(frames, this.#composedStart);
    this.#composedEnd = frames.length;
  }

  /** Sends the frames that `compose` wrote, in one write. */
  send(frames: FrameWriter): boolean {
    const { outbox } = this.#connection;
    const start = this.#composedStart;
    const end = this.#composedEnd;
    if (end > start) outbox.sendFrames(frames, start, end);
    return this.stale.first !== undefined && !outbox.hasUnread;
  }
}

/** Returns the refusal that the work returns or throws; returns undefined if the work succeeds. */
function returnRefusal(work: () => RequestError | undefined): RequestError | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return error;
  }
}

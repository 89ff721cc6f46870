/**
 * A consumer on one server. It delivers the messages of a stream in order: to pull requests, or to
 * a subject.
 */

import type { ConsumerConfig } from '@nats-io/jetstream';
import type { Kernel, SimulatedProcess } from '../system/kernel.ts';
import { formatHeaders, type Message } from './client-protocol.ts';
import type { StoredMessage, StreamState } from './stream-state.ts';
import type { ConsumerPlace } from './streams.ts';

const NONE = Buffer.alloc(0);

export interface PullRequest {
  readonly batch: number;
  /** In nanoseconds, like all durations of the protocol. */
  readonly expires?: number;
  readonly idle_heartbeat?: number;
}

interface WaitingPull {
  readonly inbox: string;
  leftCount: number;
  readonly expiresMs: number;
}

export interface ConsumerTerms {
  readonly kernel: Kernel;
  readonly process: SimulatedProcess;
  readonly place: ConsumerPlace;
  readonly stream: StreamState;
  hasInterest(subject: string): boolean;
  /** Sends a message to the subscribers of a subject. */
  send(subject: string, message: Message): void;
  /** Called when no client has asked for the consumer's messages for some time. */
  expire(): void;
}

function msOf(nanoseconds: number | undefined): number {
  return (nanoseconds ?? 0) / 1e6;
}

export class Consumer {
  readonly #terms: ConsumerTerms;
  readonly #config: ConsumerConfig;
  readonly #filter: string;
  /**
   * The last message of each subject when the consumer was created, if the policy starts with these
   * messages.
   */
  readonly #first: number[];
  #nextSeq: number;
  #deliveredCount = 0;
  #deliveredSeq = 0;
  #pulls: WaitingPull[] = [];
  #activeMs: number;
  #isClosed = false;

  constructor(terms: ConsumerTerms) {
    const { place, stream, kernel } = terms;
    this.#terms = terms;
    this.#config = place.config;
    this.#filter = place.config.filter_subject ?? '>';
    this.#activeMs = kernel.nowMs;
    const policy = place.config.deliver_policy;
    this.#first = policy === 'last_per_subject' ? stream.lastOfEach(this.#filter) : [];
    const isFromEnd = policy === 'last_per_subject' || policy === 'new';
    const end = stream.lastSeq + 1;
    this.#nextSeq = isFromEnd ? end : Math.min(place.config.opt_start_seq ?? 1, end);
    this.#watchIdleness(msOf(place.config.inactive_threshold));
    this.#beat(place.config.deliver_subject, msOf(place.config.idle_heartbeat));
  }

  describe() {
    const { place } = this.#terms;
    const delivered = { consumer_seq: this.#deliveredCount, stream_seq: this.#deliveredSeq };
    return {
      stream_name: place.stream,
      name: place.name,
      created: new Date(place.createdMs).toISOString(),
      config: place.config,
      delivered,
      ack_floor: delivered,
      num_ack_pending: 0,
      num_redelivered: 0,
      num_waiting: this.#pulls.length,
      num_pending: this.#pendingCount(),
    };
  }

  get deliverSubject(): string | undefined {
    return this.#config.deliver_subject;
  }

  #pendingCount(): number {
    const { stream } = this.#terms;
    return this.#first.length + stream.countFrom(this.#nextSeq, this.#filter);
  }

  pull(inbox: string, { batch, expires, idle_heartbeat }: PullRequest): void {
    const { kernel, process } = this.#terms;
    const waitMs = msOf(expires);
    const pull = { inbox, leftCount: batch, expiresMs: kernel.nowMs + waitMs };
    this.#activeMs = kernel.nowMs;
    this.#pulls.push(pull);
    kernel.schedule(waitMs, () => this.#expire(pull), process);
    this.#beat(inbox, msOf(idle_heartbeat), pull);
    this.deliver();
  }

  /** Delivers all messages that it can deliver now. */
  deliver(): void {
    const { hasInterest, kernel } = this.#terms;
    this.#pulls = this.#pulls.filter(({ inbox }) => hasInterest(inbox));
    const { deliverSubject } = this;
    if (deliverSubject !== undefined) {
      if (!hasInterest(deliverSubject)) return;
      this.#activeMs = kernel.nowMs;
    }
    for (;;) {
      const target = deliverSubject ?? this.#pulls[0]?.inbox;
      const message = this.#isClosed || target === undefined ? undefined : this.#take();
      if (target === undefined || message === undefined) return;
      this.#send(target, message);
      if (deliverSubject === undefined && --this.#pulls[0].leftCount === 0) this.#pulls.shift();
    }
  }

  #take(): StoredMessage | undefined {
    const { stream } = this.#terms;
    for (;;) {
      const seq = this.#first.shift();
      if (seq === undefined) break;
      const message = stream.get(seq);
      if (message !== undefined) return message;
    }
    const message = stream.next(this.#nextSeq, this.#filter);
    if (message !== undefined) this.#nextSeq = message.seq + 1;
    return message;
  }

  #send(target: string, { subject, seq, timeMs, headers, data }: StoredMessage): void {
    const { place, send } = this.#terms;
    this.#deliveredCount += 1;
    this.#deliveredSeq = seq;
    const numbers = [1, seq, this.#deliveredCount, `${timeMs}000000`, this.#pendingCount()];
    const reply = ['$JS.ACK', place.stream, place.name, ...numbers].join('.');
    send(target, { subject, reply, headers, data });
  }

  #expire(pull: WaitingPull): void {
    if (!this.#pulls.includes(pull)) return;
    this.#pulls = this.#pulls.filter((each) => each !== pull);
    const values = { 'Nats-Pending-Messages': pull.leftCount, 'Nats-Pending-Bytes': 0 };
    this.#sendStatus(pull.inbox, '408 Request Timeout', values);
  }

  /** Sends heartbeats to a subscriber while the subscriber waits. */
  #beat(subject: string | undefined, intervalMs: number, pull?: WaitingPull): void {
    if (subject === undefined || intervalMs === 0) return;
    const { kernel, process, hasInterest } = this.#terms;
    const deliveredBefore = this.#deliveredCount;
    kernel.schedule(
      intervalMs,
      () => {
        if (this.#isClosed || (pull !== undefined && !this.#pulls.includes(pull))) return;
        if (hasInterest(subject) && this.#deliveredCount === deliveredBefore) {
          this.#sendStatus(subject, '100 Idle Heartbeat', {
            'Nats-Last-Consumer': this.#deliveredCount,
            'Nats-Last-Stream': this.#deliveredSeq,
          });
        }
        this.#beat(subject, intervalMs, pull);
      },
      process,
    );
  }

  #sendStatus(subject: string, status: string, values?: Record<string, number>): void {
    this.#terms.send(subject, { subject, headers: formatHeaders(status, values), data: NONE });
  }

  #watchIdleness(thresholdMs: number): void {
    if (thresholdMs === 0) return;
    const { kernel, process, expire } = this.#terms;
    const leftMs = this.#activeMs + thresholdMs - kernel.nowMs;
    kernel.schedule(
      Math.max(leftMs, 1),
      () => {
        if (this.#isClosed) return;
        this.deliver();
        if (this.#pulls.length > 0) this.#activeMs = kernel.nowMs;
        if (kernel.nowMs - this.#activeMs >= thresholdMs) expire();
        else this.#watchIdleness(thresholdMs);
      },
      process,
    );
  }

  close(): void {
    this.#isClosed = true;
    for (const { inbox } of this.#pulls) this.#sendStatus(inbox, '409 Consumer Deleted');
    this.#pulls = [];
  }
}

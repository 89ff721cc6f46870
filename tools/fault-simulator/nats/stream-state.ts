/** The messages of a stream, and the effect of a publish or a purge on them. */

import type { StreamConfig } from '@nats-io/jetstream';
import {
  OTHER_STREAM_EXPECTED,
  type Refusal,
  wrongLastId,
  wrongLastSequence,
} from './api-errors.ts';
import { type Payload, readHeaders } from './client-protocol.ts';
import { matchesSubject } from './subjects.ts';

export interface StoredMessage extends Payload {
  readonly subject: string;
  readonly seq: number;
  readonly timeMs: number;
}

export interface NewMessage extends Omit<StoredMessage, 'seq'> {
  readonly terms: PublishTerms;
}

/** The conditions in the headers of a message. */
export interface PublishTerms {
  readonly id: string | undefined;
  readonly stream: string | undefined;
  readonly lastSeq: number | undefined;
  readonly lastSeqOfSubject: number | undefined;
  readonly lastId: string | undefined;
  /** True if the message replaces the earlier messages on its subject. */
  readonly isRollup: boolean;
}

export function readPublishTerms(headers: Buffer | undefined): PublishTerms {
  const values = readHeaders(headers);
  const numberOf = (name: string) => {
    const value = values.get(name);
    return value === undefined ? undefined : Number(value);
  };
  return {
    id: values.get('Nats-Msg-Id'),
    stream: values.get('Nats-Expected-Stream'),
    lastSeq: numberOf('Nats-Expected-Last-Sequence'),
    lastSeqOfSubject: numberOf('Nats-Expected-Last-Subject-Sequence'),
    lastId: values.get('Nats-Expected-Last-Msg-Id'),
    isRollup: values.get('Nats-Rollup') === 'sub',
  };
}

export interface Acknowledgement {
  readonly stream: string;
  readonly seq: number;
  readonly duplicate?: true;
}

export interface PurgeRequest {
  /** Only messages before this sequence are removed. */
  readonly seq?: number;
  /** Only messages on these subjects are removed. */
  readonly filter?: string;
}

const DEFAULTS = {
  subjects: [],
  retention: 'limits',
  storage: 'file',
  discard: 'old',
  num_replicas: 1,
  max_consumers: -1,
  max_msgs: -1,
  max_bytes: -1,
  max_age: 0,
  max_msgs_per_subject: -1,
  max_msg_size: -1,
  duplicate_window: 120_000_000_000,
  allow_direct: false,
};

export class StreamState {
  readonly config: StreamConfig;
  readonly createdMs: number;
  readonly #messages = new Map<number, StoredMessage>();
  /** The sequences of each subject's messages, ascending. */
  readonly #bySubject = new Map<string, number[]>();
  /** The time and the sequence at which each message id was seen, oldest first. */
  readonly #ids = new Map<string, { readonly seq: number; readonly timeMs: number }>();
  #lastId = '';
  #lastSeq = 0;
  #firstSeq = 0;
  #byteCount = 0;

  constructor(config: Partial<StreamConfig>, createdMs: number) {
    this.config = { ...DEFAULTS, ...config } as unknown as StreamConfig;
    this.createdMs = createdMs;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Returns the state as the server reports it. */
  describe() {
    const timeOf = (seq: number) => new Date(this.#messages.get(seq)?.timeMs ?? 0).toISOString();
    return {
      messages: this.#messages.size,
      bytes: this.#byteCount,
      first_seq: this.#firstSeq,
      first_ts: timeOf(this.#firstSeq),
      last_seq: this.#lastSeq,
      last_ts: timeOf(this.#lastSeq),
      consumer_count: 0,
    };
  }

  takes(subject: string): boolean {
    return this.config.subjects.some((pattern) => matchesSubject(pattern, subject));
  }

  get(seq: number): StoredMessage | undefined {
    return this.#messages.get(seq);
  }

  /** Returns the last message on a subject. The subject may have wildcards. */
  lastOf(pattern: string): StoredMessage | undefined {
    const seq = Math.max(0, ...this.lastOfEach(pattern));
    return this.#messages.get(seq);
  }

  /** Returns the last sequence of each subject that matches, ascending. */
  lastOfEach(pattern: string): number[] {
    return [...this.#bySubject]
      .filter(([subject]) => matchesSubject(pattern, subject))
      .map(([, seqs]) => seqs.at(-1) ?? 0)
      .sort((a, b) => a - b);
  }

  /** Returns the next message on a subject, from a sequence on. */
  next(from: number, pattern: string): StoredMessage | undefined {
    for (let seq = Math.max(from, this.#firstSeq); seq <= this.#lastSeq; seq++) {
      const message = this.#messages.get(seq);
      if (message !== undefined && matchesSubject(pattern, message.subject)) return message;
    }
    return undefined;
  }

  countFrom(from: number, pattern: string): number {
    let count = 0;
    for (const [subject, seqs] of this.#bySubject) {
      if (matchesSubject(pattern, subject)) count += seqs.length - countBelow(seqs, from);
    }
    return count;
  }

  publish({ terms, ...message }: NewMessage): Acknowledgement | Refusal {
    const { id } = terms;
    const stream = this.config.name;
    if (terms.stream !== undefined && terms.stream !== stream) return OTHER_STREAM_EXPECTED;
    const seen = id === undefined ? undefined : this.#findId(id, message.timeMs);
    if (seen !== undefined) return { stream, seq: seen, duplicate: true };
    const refusal = this.#checkExpected(terms, message.subject);
    if (refusal !== undefined) return refusal;
    const seq = this.#lastSeq + 1;
    this.#store({ ...message, seq }, terms.isRollup);
    if (id !== undefined) this.#ids.set(id, { seq, timeMs: message.timeMs });
    this.#lastId = id ?? '';
    return { stream, seq };
  }

  #findId(id: string, nowMs: number): number | undefined {
    const windowMs = this.config.duplicate_window / 1e6;
    for (const [old, { timeMs }] of this.#ids) {
      if (nowMs - timeMs < windowMs) break;
      this.#ids.delete(old);
    }
    return this.#ids.get(id)?.seq;
  }

  #checkExpected(terms: PublishTerms, subject: string): Refusal | undefined {
    const { lastSeq, lastSeqOfSubject, lastId } = terms;
    const ofSubject = this.#bySubject.get(subject)?.at(-1) ?? 0;
    if (lastSeqOfSubject !== undefined && lastSeqOfSubject !== ofSubject) {
      return wrongLastSequence(ofSubject);
    }
    if (lastSeq !== undefined && lastSeq !== this.#lastSeq) return wrongLastSequence(this.#lastSeq);
    return lastId === undefined || lastId === this.#lastId ? undefined : wrongLastId(this.#lastId);
  }

  #store(message: StoredMessage, isRollup: boolean): void {
    const { seq, subject } = message;
    this.#lastSeq = seq;
    this.#messages.set(seq, message);
    this.#byteCount += sizeOf(message);
    if (this.#messages.size === 1) this.#firstSeq = seq;
    const seqs = this.#bySubject.get(subject) ?? [];
    seqs.push(seq);
    this.#bySubject.set(subject, seqs);
    const keptMax = isRollup ? 1 : this.config.max_msgs_per_subject;
    if (keptMax > 0 && seqs.length > keptMax) this.#remove(seqs.slice(0, -keptMax));
  }

  #remove(seqs: readonly number[]): void {
    const subjects = new Set<string>();
    for (const seq of seqs) {
      const message = this.#messages.get(seq);
      if (message === undefined) continue;
      this.#messages.delete(seq);
      this.#byteCount -= sizeOf(message);
      subjects.add(message.subject);
    }
    for (const subject of subjects) {
      const rest = this.#bySubject.get(subject)?.filter((seq) => this.#messages.has(seq)) ?? [];
      if (rest.length > 0) this.#bySubject.set(subject, rest);
      else this.#bySubject.delete(subject);
    }
    while (this.#firstSeq <= this.#lastSeq && !this.#messages.has(this.#firstSeq)) this.#firstSeq++;
  }

  /** Deletes a message; returns false if there is no such message. */
  delete(seq: number): boolean {
    const isThere = this.#messages.has(seq);
    if (isThere) this.#remove([seq]);
    return isThere;
  }

  /** Removes messages, and returns their number. */
  purge({ seq, filter = '>' }: PurgeRequest): number {
    const meant = [...this.#messages.values()].filter(
      (message) =>
        (seq === undefined || message.seq < seq) && matchesSubject(filter, message.subject),
    );
    this.#remove(meant.map((message) => message.seq));
    // A purge beyond the end moves the stream ahead.
    if (this.#messages.size === 0 && filter === '>') {
      this.#lastSeq = Math.max(this.#lastSeq, (seq ?? 0) - 1);
      this.#firstSeq = this.#lastSeq + 1;
    }
    return meant.length;
  }
}

/** Returns how many of the ascending numbers are below a limit. */
function countBelow(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function sizeOf({ subject, headers, data }: StoredMessage): number {
  return subject.length + (headers?.length ?? 0) + data.length;
}

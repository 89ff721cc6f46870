/**
 * Updates the accounts of subscriptions on a partial ledger. Reports to the follower that the
 * accounts are still needed, and reads accounts that are unknown, too old, or not recorded.
 */

import type { StateView } from '../../state/state.ts';
import type { AccountReads } from '../answering/account-reads.ts';
import { Cancellation } from '../answering/cancellation.ts';
import type { Topic, Topics } from './topics.ts';

const CHECK_MS = 1_000;
/**
 * The interval between two reports of the accounts that are needed. The follower stops reading an
 * account only after a longer time without a report.
 */
const INTEREST_MS = 5_000;
/** Time between two reads of accounts that are not recorded. */
const READ_AGAIN_MS = 5_000;

export interface TopicReadsParts {
  readonly topics: Topics;
  readonly reads: AccountReads;
  readState(): StateView | undefined;
  /** Called with an unexpected error. */
  failed(error: unknown): void;
}

export class TopicReads {
  readonly #parts: TopicReadsParts;
  readonly #timer: NodeJS.Timeout;
  /** The earliest time of the next read of each topic; Infinity while a read is in flight. */
  readonly #readAgainMs = new WeakMap<Topic, number>();
  #interestMs = 0;

  constructor(parts: TopicReadsParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
    this.#timer.unref();
  }

  #check(): void {
    const { topics, readState } = this.#parts;
    const state = readState();
    if (state === undefined || !state.isPartial) return;
    const nowMs = performance.now();
    const isInterestDue = nowMs - this.#interestMs >= INTEREST_MS;
    if (isInterestDue) this.#interestMs = nowMs;
    for (const topic of topics.all()) {
      if (isInterestDue) this.#noteInterest(topic, state);
      if (nowMs >= (this.#readAgainMs.get(topic) ?? 0)) this.#read(topic, state);
    }
  }

  #noteInterest(topic: Topic, state: StateView): void {
    const subjects = topic.subjects(state);
    for (const keyId of topic.keyIds) this.#parts.reads.noteInterest(state, subjects, keyId);
  }

  #read(topic: Topic, state: StateView): void {
    const { reads } = this.#parts;
    const subjects = topic.subjects(state);
    // Accounts are read shortly before they are too old, so that the pushing does not pause.
    const ageMsMax = Math.max(0, reads.ageMsMax - CHECK_MS);
    const keyId = topic.nextKeyId();
    if (keyId === undefined) return;
    // The read serves all connections of the topic, so no connection may cancel it.
    const requester = { keyId, cancellation: new Cancellation() };
    const reading = reads.read(state, subjects, requester, ageMsMax);
    if (reading === undefined) return;
    this.#readAgainMs.set(topic, Number.POSITIVE_INFINITY);
    reading
      .then(({ upstreamAnswers }) => this.#parts.topics.takeUpstreamAnswers(topic, upstreamAnswers))
      .catch((error: unknown) => this.#parts.failed(error))
      .finally(() => {
        const pauseMs = Math.min(READ_AGAIN_MS, ageMsMax);
        this.#readAgainMs.set(topic, performance.now() + pauseMs);
      });
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

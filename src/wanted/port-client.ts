/** A client of the port over any channel: bounds what is in flight, and shares identical wants. */

import { InterestBatch, itemKey } from './interest-batch.ts';
import type {
  FollowStatus,
  ForwardedQuestion,
  ForwardOutcome,
  Interest,
  WantedClient,
  WantedItem,
  WantedOutcome,
} from './wanted.ts';
import { busy } from './wanted-messages.ts';

/** Maximum number of wants and forwarded questions in flight, per client. */
export const IN_FLIGHT_MAX = 4_096;
/** Maximum number of those who wait for an outcome: several may wait for the same one. */
const WAITING_MAX = 65_536;
/** Deadline of a want or a forwarded question; those who wait for it may give up earlier. */
export const OUTCOME_MS_MAX = 60_000;
/** How long requests wait for a follower that is not there: it may be restarting. */
export const ABSENT_MS_MAX = 2_000;
/** How often it is tried again meanwhile. */
export const REACH_AGAIN_MS = 250;

/** A way to the follower. Nothing here rejects. */
export interface WantedChannel {
  want(item: WantedItem, maxAgeMs: number, keyId: string): Promise<WantedOutcome>;
  forward(question: ForwardedQuestion, keyId: string): Promise<ForwardOutcome>;
  sendInterest(interests: readonly Interest[]): void;
  status(): FollowStatus | undefined;
  close(): Promise<void>;
}

interface SharedWant {
  readonly startedMs: number;
  readonly outcome: Promise<WantedOutcome>;
}

const TOO_MANY = busy(`${IN_FLIGHT_MAX} questions to the exchange are in flight, the limit`);
const TOO_MANY_WAIT = busy(`${WAITING_MAX} questions wait for the exchange, the limit`);

export class PortClient implements WantedClient {
  readonly #channel: WantedChannel;
  readonly #interest: InterestBatch;
  readonly #wants = new Map<string, SharedWant>();
  #inFlight = 0;
  #waiting = 0;

  constructor(channel: WantedChannel) {
    this.#channel = channel;
    this.#interest = new InterestBatch((interests) => channel.sendInterest(interests));
  }

  async want(item: WantedItem, maxAgeMs: number, keyId: string): Promise<WantedOutcome> {
    if (this.#waiting === WAITING_MAX) return TOO_MANY_WAIT;
    this.#waiting++;
    try {
      return await this.#share(item, maxAgeMs, keyId);
    } finally {
      this.#waiting--;
    }
  }

  /** Identical wants of one key are one: those of another key have a turn of their own. */
  #share(item: WantedItem, maxAgeMs: number, keyId: string): Promise<WantedOutcome> {
    const key = `${keyId} ${itemKey(item)} ${maxAgeMs}`;
    const nowMs = performance.now();
    const shared = this.#wants.get(key);
    // A want that began longer ago may return an answer older than maxAgeMs.
    if (shared !== undefined && nowMs - shared.startedMs <= maxAgeMs) return shared.outcome;
    if (this.#inFlight >= IN_FLIGHT_MAX) return Promise.resolve(TOO_MANY);
    const outcome = this.#count(this.#channel.want(item, maxAgeMs, keyId));
    const started = { startedMs: nowMs, outcome };
    this.#wants.set(key, started);
    void outcome.then(() => {
      if (this.#wants.get(key) === started) this.#wants.delete(key);
    });
    return outcome;
  }

  async forward(question: ForwardedQuestion, keyId: string): Promise<ForwardOutcome> {
    if (this.#inFlight >= IN_FLIGHT_MAX) return TOO_MANY;
    return this.#count(this.#channel.forward(question, keyId));
  }

  async #count<T>(work: Promise<T>): Promise<T> {
    this.#inFlight++;
    try {
      return await work;
    } finally {
      this.#inFlight--;
    }
  }

  noteInterest(item: WantedItem, keyId: string): void {
    this.#interest.add(item, keyId);
  }

  status(): FollowStatus | undefined {
    return this.#channel.status();
  }

  async close(): Promise<void> {
    this.#interest.flush();
    this.#interest.close();
    await this.#channel.close();
  }
}

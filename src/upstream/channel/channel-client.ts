/**
 * The follower's client, for any channel. It limits the number of requests in flight, and shares
 * identical reads.
 */

import { KeyCounts } from '../../access/key-counts.ts';
import type { QuestionBody } from '../../info/question.ts';
import { busy } from './channel-messages.ts';
import type {
  FollowedItem,
  FollowerBusy,
  FollowerClient,
  FollowStatus,
  ForwardOutcome,
  Interest,
  ItemOutcome,
} from './follower-client.ts';
import { InterestBatch, itemKey } from './interest-batch.ts';

/**
 * The maximum number of reads and forwarded questions in flight: for a client, and for one key of
 * this client.
 */
export const IN_FLIGHT_MAX = 4_096;
const KEY_IN_FLIGHT_MAX = 512;
/**
 * The maximum number of callers that wait for the outcome of a read, for a client and for one key.
 * Several callers may wait for the same outcome.
 */
const WAITING_MAX = 65_536;
const KEY_WAITING_MAX = 8_192;
/** The time limit of a read or a forwarded question. A caller may stop waiting earlier. */
export const OUTCOME_MS_MAX = 60_000;
/**
 * The time that requests wait for a follower that is not connected: the follower may be restarting.
 */
export const ABSENT_MS_MAX = 2_000;
/** The pause between two attempts to connect during this time. */
export const REACH_AGAIN_MS = 250;

/** A connection to the follower. No method rejects. */
export interface FollowerChannel {
  readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome>;
  forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome>;
  sendInterest(interests: readonly Interest[]): void;
  status(): FollowStatus | undefined;
  close(): Promise<void>;
}

interface SharedItemRead {
  readonly startedMs: number;
  readonly outcome: Promise<ItemOutcome>;
}

const TOO_MANY = busy(`${IN_FLIGHT_MAX} questions to the exchange are in flight, the limit`);
const TOO_MANY_WAIT = busy(`${WAITING_MAX} questions wait for the exchange, the limit`);
const TOO_MANY_OF_KEY = busy(
  `this key has ${KEY_IN_FLIGHT_MAX} questions to the exchange in flight, the limit`,
);
const TOO_MANY_OF_KEY_WAIT = busy(
  `this key has ${KEY_WAITING_MAX} questions that wait for the exchange, the limit`,
);

export class ChannelClient implements FollowerClient {
  readonly #channel: FollowerChannel;
  readonly #interest: InterestBatch;
  readonly #wants = new Map<string, SharedItemRead>();
  #inFlight = 0;
  readonly #inFlightByKey = new KeyCounts();
  #waiting = 0;
  readonly #waitingByKey = new KeyCounts();

  constructor(channel: FollowerChannel) {
    this.#channel = channel;
    this.#interest = new InterestBatch((interests) => channel.sendInterest(interests));
  }

  async readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome> {
    if (this.#waiting === WAITING_MAX) return TOO_MANY_WAIT;
    if (this.#waitingByKey.of(keyId) >= KEY_WAITING_MAX) return TOO_MANY_OF_KEY_WAIT;
    this.#waiting++;
    this.#waitingByKey.change(keyId, 1);
    try {
      return await this.#share(item, maxAgeMs, keyId);
    } finally {
      this.#waiting--;
      this.#waitingByKey.change(keyId, -1);
    }
  }

  /**
   * Lets identical reads of one key share one request. Reads of different keys do not share a
   * request, because the follower gives each key its turn.
   */
  #share(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome> {
    const key = `${keyId} ${itemKey(item)} ${maxAgeMs}`;
    const nowMs = performance.now();
    const shared = this.#wants.get(key);
    // A read that started earlier may return an answer older than maxAgeMs.
    if (shared !== undefined && nowMs - shared.startedMs <= maxAgeMs) return shared.outcome;
    const shortage = this.#findShortage(keyId);
    if (shortage !== undefined) return Promise.resolve(shortage);
    const outcome = this.#count(keyId, this.#channel.readItem(item, maxAgeMs, keyId));
    const started = { startedMs: nowMs, outcome };
    this.#wants.set(key, started);
    void outcome.then(() => {
      if (this.#wants.get(key) === started) this.#wants.delete(key);
    });
    return outcome;
  }

  async forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome> {
    return this.#findShortage(keyId) ?? this.#count(keyId, this.#channel.forward(question, keyId));
  }

  /**
   * Returns the reason why the key may not send one more request now; returns undefined if it may.
   */
  #findShortage(keyId: string): FollowerBusy | undefined {
    if (this.#inFlight >= IN_FLIGHT_MAX) return TOO_MANY;
    return this.#inFlightByKey.of(keyId) >= KEY_IN_FLIGHT_MAX ? TOO_MANY_OF_KEY : undefined;
  }

  async #count<T>(keyId: string, work: Promise<T>): Promise<T> {
    this.#inFlight++;
    this.#inFlightByKey.change(keyId, 1);
    try {
      return await work;
    } finally {
      this.#inFlight--;
      this.#inFlightByKey.change(keyId, -1);
    }
  }

  noteInterest(item: FollowedItem, keyId: string): void {
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

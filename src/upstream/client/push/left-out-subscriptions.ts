/**
 * The subscriptions that the upstream does not accept, with the reason and the time when each of
 * them is tried again.
 */

import { backoffMs } from '../../../timing/backoff.ts';
import type { UpstreamSubscription } from './upstream-subscription.ts';

const RETRY = { firstMs: 60_000, maxMs: 3_600_000 };
/** The time for which a refusal is reported if it does not happen again. */
const REPORTED_MS = 3_600_000;
/**
 * The number of closings that prove that a subscription is the cause. Just after a subscription, a
 * connection may be lost once by chance, but hardly twice.
 */
const PROVEN_MIN = 2;
/**
 * The maximum number of remembered subscriptions. An upstream allows 1,000 subscriptions at a time.
 */
const LEFT_OUT_MAX = 2_000;

/** A subscription that is left out, as /health and the log report it. */
export interface LeftOut {
  readonly subscription: UpstreamSubscription;
  readonly reason: string;
  /**
   * True if this subscription alone has closed connections more than once. Then the upstream does
   * not know it.
   */
  readonly isProven: boolean;
}

interface Entry {
  readonly subscription: UpstreamSubscription;
  readonly reason: string;
  /**
   * The number of times in a row that the subscription alone has closed a connection; 0 if it was
   * refused, or if it is one of a group that was not searched.
   */
  readonly closings: number;
  readonly notedMs: number;
  /** The time before which the subscription is not sent again. */
  readonly retryMs: number;
  isTried: boolean;
}

type NewlyLeftOut = Omit<LeftOut, 'isProven'>;

export class LeftOutSubscriptions {
  readonly #entries = new Map<string, Entry>();
  #foundTriedMs = Number.NEGATIVE_INFINITY;

  /**
   * Notes that the subscription has closed the connection, or that a subscription of its group has.
   * With `isFound`, this subscription is the cause. Then it is tried again only rarely, because
   * each closing loses all other subscriptions.
   */
  noteClosing(key: string, left: NewlyLeftOut, isFound: boolean, nowMs: number): LeftOut {
    const closings = isFound ? (this.#entries.get(key)?.closings ?? 0) + 1 : 0;
    const retryMs = nowMs + backoffMs(Math.max(1, closings), RETRY);
    const entry = { ...left, closings, notedMs: nowMs, retryMs, isTried: false };
    this.#set(key, entry);
    return describeEntry(entry);
  }

  /**
   * Notes that the subscription was refused with a message. A refusal with a message does not
   * affect other subscriptions.
   */
  noteRefused(key: string, left: NewlyLeftOut, nowMs: number): void {
    this.#set(key, { ...left, closings: 0, notedMs: nowMs, retryMs: nowMs, isTried: true });
  }

  #set(key: string, entry: Entry): void {
    this.#entries.delete(key);
    const oldest = this.#entries.keys().next();
    if (this.#entries.size === LEFT_OUT_MAX && !oldest.done) this.#entries.delete(oldest.value);
    this.#entries.set(key, entry);
  }

  noteTaken(key: string): void {
    this.#entries.delete(key);
  }

  isBarred(key: string): boolean {
    return this.#entries.get(key)?.isTried === false;
  }

  /**
   * Returns the subscriptions to try again now: all those that were not searched, or else one
   * subscription that was found.
   */
  takeDue(nowMs: number, isWanted: (key: string) => boolean): readonly string[] {
    const due = [...this.#entries].filter(
      ([key, { isTried, retryMs }]) => !isTried && nowMs >= retryMs && isWanted(key),
    );
    const isFoundDue = nowMs - this.#foundTriedMs >= RETRY.firstMs;
    const unsearched = due.filter(([, { closings }]) => closings === 0);
    const chosen = unsearched.length > 0 ? unsearched : due.slice(0, isFoundDue ? 1 : 0);
    if (unsearched.length === 0 && chosen.length > 0) this.#foundTriedMs = nowMs;
    for (const [, entry] of chosen) entry.isTried = true;
    return chosen.map(([key]) => key);
  }

  /**
   * Returns the subscriptions that are missing now, and for some time those that were missing
   * before.
   */
  list(nowMs: number, isMissing: (key: string) => boolean): readonly LeftOut[] {
    return [...this.#entries]
      .filter(([key, { notedMs }]) => isMissing(key) || nowMs - notedMs < REPORTED_MS)
      .map(([, entry]) => describeEntry(entry));
  }
}

function describeEntry({ subscription, reason, closings }: Entry): LeftOut {
  return { subscription, reason, isProven: closings >= PROVEN_MIN };
}

/**
 * The subscriptions that the upstream does not accept: the reason, and when each of them is tried
 * again.
 */

import { backoffMs } from '../../../timing/backoff.ts';
import type { UpstreamSubscription } from './upstream-subscription.ts';

const RETRY = { firstMs: 60_000, maxMs: 3_600_000 };
/** How long a refusal is reported if it is not repeated. */
const REPORTED_MS = 3_600_000;
/**
 * A connection may be lost by chance just after a subscription, but hardly twice. So two closings
 * are proof.
 */
const PROVEN_MIN = 2;
/** Maximum number of remembered subscriptions. An upstream allows 1,000 at a time. */
const LEFT_OUT_MAX = 2_000;

/** A subscription that is left out, for /health and the log. */
export interface LeftOut {
  readonly subscription: UpstreamSubscription;
  readonly reason: string;
  /**
   * True if this subscription alone has closed connections more than once: the upstream does not
   * know it.
   */
  readonly isProven: boolean;
}

interface Entry {
  readonly subscription: UpstreamSubscription;
  readonly reason: string;
  /**
   * How many times in a row the subscription has closed a connection; 0 if it was refused, or not
   * searched for.
   */
  readonly closings: number;
  readonly notedMs: number;
  /** Not sent before this time. */
  readonly retryMs: number;
  isTried: boolean;
}

type NewlyLeftOut = Omit<LeftOut, 'isProven'>;

export class LeftOutSubscriptions {
  readonly #entries = new Map<string, Entry>();
  #foundTriedMs = Number.NEGATIVE_INFINITY;

  /**
   * The subscription, or one of its group, has closed the connection. A subscription that was found
   * is tried again rarely, since closing the connection loses all other subscriptions.
   */
  noteClosing(key: string, left: NewlyLeftOut, isFound: boolean, nowMs: number): LeftOut {
    const closings = isFound ? (this.#entries.get(key)?.closings ?? 0) + 1 : 0;
    const retryMs = nowMs + backoffMs(Math.max(1, closings), RETRY);
    const entry = { ...left, closings, notedMs: nowMs, retryMs, isTried: false };
    this.#set(key, entry);
    return describeEntry(entry);
  }

  /**
   * The subscription was refused with a message. Such a refusal does not affect other
   * subscriptions.
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
   * Subscriptions to try again now: a group that was not searched, or one subscription that was
   * found.
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

  /** Subscriptions that are missing now, and for a while those that were missing before. */
  list(nowMs: number, isMissing: (key: string) => boolean): readonly LeftOut[] {
    return [...this.#entries]
      .filter(([key, { notedMs }]) => isMissing(key) || nowMs - notedMs < REPORTED_MS)
      .map(([, entry]) => describeEntry(entry));
  }
}

function describeEntry({ subscription, reason, closings }: Entry): LeftOut {
  return { subscription, reason, isProven: closings >= PROVEN_MIN };
}

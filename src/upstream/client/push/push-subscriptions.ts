/**
 * The subscriptions of a push connection: those that are wanted, those that were sent, and the
 * limits of the upstream.
 */

import { isJsonObject } from '../../../events/fields.ts';
import { FaultySubscriptionSearch, type SentKey } from './faulty-subscription-search.ts';
import { type LeftOut, LeftOutSubscriptions } from './left-out-subscriptions.ts';
import type { PushError } from './push-error.ts';
import type { UpstreamSubscription } from './upstream-subscription.ts';

export interface PushLimits {
  /** The maximum number of subscriptions. */
  readonly subscriptionsMax: number;
  /** The maximum number of users in subscriptions; 0 for no users. */
  readonly usersMax: number;
  /** The maximum number of messages that are sent in a minute. */
  readonly messagesMax: number;
}

interface PushRequest {
  readonly method: 'subscribe' | 'unsubscribe';
  readonly subscription: UpstreamSubscription;
}

interface SentSubscription {
  readonly subscription: UpstreamSubscription;
  readonly sentMs: number;
  isPending: boolean;
}

/** The reason for the closing of a connection. */
export interface Closing {
  readonly reason: string;
  /** False if the search for the cause has already opened too many connections. */
  readonly mayHalve: boolean;
}

/**
 * The maximum time between a subscription and its refusal. A later refusal is not a response to the
 * subscription.
 */
const RESPONSE_MS_MAX = 10_000;
/**
 * The fields that identify a subscription: two subscriptions are different if one of these fields
 * differs.
 */
const FIELDS = ['type', 'coin', 'user', 'dex'];

export class PushSubscriptions {
  readonly #limits: PushLimits;
  /** The wanted subscriptions by key, the most important first. */
  #wanted: ReadonlyMap<string, UpstreamSubscription> = new Map();
  /**
   * The subscriptions that were sent on this connection, by key, in the order in which they were
   * sent.
   */
  readonly #sent = new Map<string, SentSubscription>();
  /** The keys of the subscriptions that the upstream has refused on this connection. */
  readonly #refused = new Set<string>();
  readonly #leftOut = new LeftOutSubscriptions();
  readonly #search = new FaultySubscriptionSearch();

  constructor(limits: PushLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#sent.size;
  }

  setWanted(wanted: readonly UpstreamSubscription[]): void {
    this.#wanted = new Map(wanted.map((subscription) => [textOf(subscription), subscription]));
    // A refused subscription is tried again if it is removed and added again.
    for (const key of this.#refused) if (!this.#wanted.has(key)) this.#refused.delete(key);
  }

  /** Notes that a new connection is open, which has no subscriptions. */
  noteOpened(nowMs: number): void {
    this.#sent.clear();
    this.#refused.clear();
    this.#search.noteOpened(nowMs);
  }

  /** Notes that the connection was lost, and that the upstream did not close it. */
  noteLost(): void {
    this.#search.noteLost();
  }

  /**
   * Notes that the upstream has closed the connection. Returns the subscriptions that are left out
   * because of this; returns undefined if no sent subscription was the cause.
   */
  noteClosed({ reason, mayHalve }: Closing, nowMs: number): readonly LeftOut[] | undefined {
    const sent = [...this.#sent].map(([key, value]): SentKey => ({ key, ...value }));
    const keys = this.#search.noteClosed(sent, nowMs, mayHalve);
    if (keys === undefined) return undefined;
    const about = keys.length === 1 ? '' : `, for one of ${keys.length} subscriptions`;
    return keys.flatMap((key) => {
      const subscription = this.#wanted.get(key);
      if (subscription === undefined) return [];
      const left = { subscription, reason: `${reason}${about}` };
      return [this.#leftOut.noteClosing(key, left, keys.length === 1, nowMs)];
    });
  }

  /**
   * Returns the time in milliseconds until there may be more to send, even if nothing else happens;
   * returns undefined if there is no such time.
   */
  waitMs(nowMs: number): number | undefined {
    return this.#search.waitMs(nowMs);
  }

  listLeftOut(nowMs: number): readonly LeftOut[] {
    return this.#leftOut.list(nowMs, (key) => this.#wanted.has(key) && !this.#sent.has(key));
  }

  /**
   * Starts to try subscriptions again that were left out long ago; returns false if there are none.
   */
  retryLeftOut(nowMs: number): boolean {
    if (this.#search.isActive) return false;
    const due = this.#leftOut.takeDue(nowMs, (key) => this.#wanted.has(key));
    if (due.length > 0) this.#search.start(due, this.#sent.keys());
    return due.length > 0;
  }

  /**
   * Returns the requests to send. Unsubscribe requests come first, because the old subscriptions
   * count towards the limits.
   */
  listChanges(nowMs: number): PushRequest[] {
    this.#advanceSearch(nowMs);
    const allowed = this.#listAllowed();
    const dropped = [...this.#sent].filter(([key]) => !allowed.has(key));
    const added = [...allowed].filter(([key]) => !this.#sent.has(key));
    return [
      ...dropped.map(([, { subscription }]) => makeRequest('unsubscribe', subscription)),
      ...added.map(([, subscription]) => makeRequest('subscribe', subscription)),
    ];
  }

  #advanceSearch(nowMs: number): void {
    const taken = this.#search.advance(
      nowMs,
      (key) => this.#sent.get(key)?.sentMs,
      (key) => this.#wanted.has(key),
    );
    for (const key of taken) this.#leftOut.noteTaken(key);
  }

  /** Returns the wanted subscriptions that are within the limits and not left out, by key. */
  #listAllowed(): Map<string, UpstreamSubscription> {
    const { subscriptionsMax, usersMax } = this.#limits;
    const allowed = new Map<string, UpstreamSubscription>();
    const users = new Set<string>();
    for (const [key, subscription] of this.#wanted) {
      const user = subscription['user'];
      if (allowed.size === subscriptionsMax || this.#isHeldBack(key)) continue;
      if (user !== undefined && !users.has(user) && users.size >= usersMax) continue;
      if (user !== undefined) users.add(user);
      allowed.set(key, subscription);
    }
    return allowed;
  }

  #isHeldBack(key: string): boolean {
    if (this.#refused.has(key) || this.#leftOut.isBarred(key)) return true;
    return !this.#sent.has(key) && !this.#search.isAllowed(key);
  }

  noteSent({ method, subscription }: PushRequest, sentMs: number): void {
    const key = textOf(subscription);
    if (method === 'unsubscribe') this.#sent.delete(key);
    else this.#sent.set(key, { subscription, sentMs, isPending: true });
  }

  /**
   * Notes that the upstream has confirmed a subscription. The upstream may write the subscription
   * differently, so our form of it is returned. Returns undefined if no subscription waits for this
   * confirmation.
   */
  acknowledge(confirmed: unknown): UpstreamSubscription | undefined {
    const found = this.#findSent(confirmed);
    if (found === undefined) return undefined;
    const [key, sent] = found;
    if (!sent.isPending) return undefined;
    sent.isPending = false;
    if (!this.#search.isActive) this.#leftOut.noteTaken(key);
    return sent.subscription;
  }

  #findSent(theirs: unknown): [string, SentSubscription] | undefined {
    if (!isJsonObject(theirs)) return undefined;
    return [...this.#sent].find(([, { subscription }]) => isSame(subscription, theirs));
  }

  /**
   * Notes that the upstream has refused a subscription. Returns the subscription; returns undefined
   * if it cannot be found. If the error does not name the subscription, it is the first
   * subscription without a response, because responses come in the order of the requests.
   */
  refuse(
    error: PushError & { readonly kind: 'refused' },
    reason: string,
    nowMs: number,
  ): UpstreamSubscription | undefined {
    const { subscription: named, isAboutUsers } = error;
    const found =
      named === undefined ? this.#findUnanswered(isAboutUsers, nowMs) : this.#findSent(named);
    if (found === undefined) return undefined;
    const [key, { subscription }] = found;
    this.#sent.delete(key);
    this.#refused.add(key);
    this.#leftOut.noteRefused(key, { subscription, reason }, nowMs);
    return subscription;
  }

  #findUnanswered(isAboutUsers: boolean, nowMs: number): [string, SentSubscription] | undefined {
    return [...this.#sent].find(([, { subscription, sentMs, isPending }]) => {
      if (!isPending || nowMs - sentMs > RESPONSE_MS_MAX) return false;
      return !isAboutUsers || subscription['user'] !== undefined;
    });
  }

  /**
   * Makes subscriptions without a response be sent again, because the upstream received too many
   * messages at once.
   */
  resendPending(): void {
    for (const [key, { isPending }] of this.#sent) if (isPending) this.#sent.delete(key);
  }
}

function textOf(subscription: UpstreamSubscription): string {
  return JSON.stringify(subscription);
}

function makeRequest(
  method: PushRequest['method'],
  subscription: UpstreamSubscription,
): PushRequest {
  return { method, subscription };
}

/**
 * Returns true if the subscriptions are the same. Users are compared without regard to case. The
 * name of the first dex may be missing.
 */
function isSame(ours: UpstreamSubscription, theirs: Readonly<Record<string, unknown>>): boolean {
  return FIELDS.every((field) => {
    const [own, other] = [ours[field] ?? '', theirs[field] ?? ''];
    if (typeof other !== 'string') return false;
    return field === 'user' ? own.toLowerCase() === other.toLowerCase() : own === other;
  });
}

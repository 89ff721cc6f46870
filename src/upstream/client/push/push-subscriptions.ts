/**
 * The subscriptions of a push connection: those that should exist, those that were sent, and the
 * limits of the upstream.
 */

import { isJsonObject } from '../../../events/fields.ts';
import { FaultySubscriptionSearch, type SentKey } from './faulty-subscription-search.ts';
import { type LeftOut, LeftOutSubscriptions } from './left-out-subscriptions.ts';
import type { PushError } from './push-error.ts';
import type { UpstreamSubscription } from './upstream-subscription.ts';

export interface PushLimits {
  /** Maximum number of subscriptions. */
  readonly subscriptionsMax: number;
  /** Maximum number of users in subscriptions; 0 for no users. */
  readonly usersMax: number;
  /** Maximum number of messages sent in a minute. */
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

/** How a connection was closed. */
export interface Closing {
  readonly reason: string;
  /** False if too many connections were opened in the search for the cause. */
  readonly mayHalve: boolean;
}

/** A refusal that comes later than this is not a response to the subscription. */
const RESPONSE_MS_MAX = 10_000;
/** Two subscriptions are different if one of these fields differs. */
const FIELDS = ['type', 'coin', 'user', 'dex'];

export class PushSubscriptions {
  readonly #limits: PushLimits;
  /** By key, most important first. */
  #wanted: ReadonlyMap<string, UpstreamSubscription> = new Map();
  /** Subscriptions sent on this connection, by key, in the order of sending. */
  readonly #sent = new Map<string, SentSubscription>();
  /** Keys that the upstream has refused on this connection. */
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
    // A refused subscription that is removed and added again is tried again.
    for (const key of this.#refused) if (!this.#wanted.has(key)) this.#refused.delete(key);
  }

  /** A new connection has no subscriptions. */
  noteOpened(nowMs: number): void {
    this.#sent.clear();
    this.#refused.clear();
    this.#search.noteOpened(nowMs);
  }

  /** The connection was lost, and the upstream did not close it. */
  noteLost(): void {
    this.#search.noteLost();
  }

  /**
   * The upstream has closed the connection. Returns the subscriptions that are left out because of
   * this; undefined if no sent subscription was the cause.
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

  /** In how many milliseconds there may be more to send, even if nothing else happens. */
  waitMs(nowMs: number): number | undefined {
    return this.#search.waitMs(nowMs);
  }

  listLeftOut(nowMs: number): readonly LeftOut[] {
    return this.#leftOut.list(nowMs, (key) => this.#wanted.has(key) && !this.#sent.has(key));
  }

  /** Tries again subscriptions that were left out long ago; false if there are none. */
  retryLeftOut(nowMs: number): boolean {
    if (this.#search.isActive) return false;
    const due = this.#leftOut.takeDue(nowMs, (key) => this.#wanted.has(key));
    if (due.length > 0) this.#search.start(due, this.#sent.keys());
    return due.length > 0;
  }

  /**
   * The requests to send. Unsubscribe requests come first, because the old subscriptions count for
   * the limits.
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

  /** Wanted subscriptions that are within the limits and not left out, by key. */
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
   * The upstream has confirmed a subscription, and may have written it differently. Returns our
   * form of it.
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
   * The upstream has refused a subscription; returns it, if it can be found. If the error does not
   * name the subscription, it is the first one without a response: responses come in the order of
   * the requests.
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
   * Sends subscriptions without a response again: the upstream received too many messages at once.
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

/** Compares users without regard to case. The first dex may be missing. */
function isSame(ours: UpstreamSubscription, theirs: Readonly<Record<string, unknown>>): boolean {
  return FIELDS.every((field) => {
    const [own, other] = [ours[field] ?? '', theirs[field] ?? ''];
    if (typeof other !== 'string') return false;
    return field === 'user' ? own.toLowerCase() === other.toLowerCase() : own === other;
  });
}

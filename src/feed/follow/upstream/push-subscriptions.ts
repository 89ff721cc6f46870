/** What a push connection is subscribed to, what it should be, and the limits of the upstream. */

import { isJsonObject } from '../../../events/fields.ts';

export interface UpstreamSubscription {
  readonly type: string;
  readonly [field: string]: string;
}

export interface PushLimits {
  /** Maximum number of subscriptions. */
  readonly subscriptionsMax: number;
  /** Maximum number of users that are subscribed to; 0 for none. */
  readonly usersMax: number;
  /** Maximum number of messages that are sent in a minute. */
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

/** A refusal that comes later than this is not the response to a subscription. */
const RESPONSE_MS_MAX = 10_000;

export class PushSubscriptions {
  readonly #limits: PushLimits;
  /** Most important first. */
  #wanted: readonly UpstreamSubscription[] = [];
  /** On this connection, by key, in the order in which they were sent. */
  readonly #sent = new Map<string, SentSubscription>();
  /** Keys that the upstream has refused on this connection. */
  readonly #refused = new Set<string>();

  constructor(limits: PushLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#sent.size;
  }

  setWanted(wanted: readonly UpstreamSubscription[]): void {
    this.#wanted = wanted;
    const keys = new Set(wanted.map(textOf));
    // Dropped and wanted again, it is tried again.
    for (const key of this.#refused) if (!keys.has(key)) this.#refused.delete(key);
  }

  /** A new connection has no subscriptions. */
  reset(): void {
    this.#sent.clear();
    this.#refused.clear();
  }

  /** What has to be sent. What is no longer wanted comes first, since it counts for the limits. */
  listChanges(): PushRequest[] {
    const allowed = this.#listAllowed();
    const dropped = [...this.#sent].filter(([key]) => !allowed.has(key));
    const added = [...allowed].filter(([key]) => !this.#sent.has(key));
    return [
      ...dropped.map(([, { subscription }]) => makeRequest('unsubscribe', subscription)),
      ...added.map(([, subscription]) => makeRequest('subscribe', subscription)),
    ];
  }

  /** Those wanted that are within the limits and not refused, by key. */
  #listAllowed(): Map<string, UpstreamSubscription> {
    const { subscriptionsMax, usersMax } = this.#limits;
    const allowed = new Map<string, UpstreamSubscription>();
    const users = new Set<string>();
    for (const subscription of this.#wanted) {
      const key = textOf(subscription);
      const user = subscription['user'];
      if (allowed.size === subscriptionsMax || this.#refused.has(key)) continue;
      if (user !== undefined && !users.has(user) && users.size >= usersMax) continue;
      if (user !== undefined) users.add(user);
      allowed.set(key, subscription);
    }
    return allowed;
  }

  noteSent({ method, subscription }: PushRequest, sentMs: number): void {
    const key = textOf(subscription);
    if (method === 'unsubscribe') this.#sent.delete(key);
    else this.#sent.set(key, { subscription, sentMs, isPending: true });
  }

  /** The upstream has confirmed a subscription, and may have written it differently; returns ours. */
  acknowledge(confirmed: unknown): UpstreamSubscription | undefined {
    if (!isJsonObject(confirmed)) return undefined;
    for (const sent of this.#sent.values()) {
      if (!sent.isPending || !isSame(sent.subscription, confirmed)) continue;
      sent.isPending = false;
      return sent.subscription;
    }
    return undefined;
  }

  /**
   * The upstream has refused something. Its text rarely names the subscription, but responses come in
   * the order of the requests: it is the first one without a response, if any.
   */
  refuse(text: string, nowMs: number): UpstreamSubscription | undefined {
    const isAboutUsers = /\busers\b/i.test(text);
    for (const [key, { subscription, sentMs, isPending }] of this.#sent) {
      if (!isPending || nowMs - sentMs > RESPONSE_MS_MAX) continue;
      if (isAboutUsers && subscription['user'] === undefined) continue;
      this.#sent.delete(key);
      this.#refused.add(key);
      return subscription;
    }
    return undefined;
  }

  /** What was sent and has no response is sent again: the upstream took too many messages at once. */
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

/** Equal in each field that is not empty, in either case. */
function isSame(subscription: UpstreamSubscription, confirmed: Record<string, unknown>): boolean {
  return Object.entries(subscription).every(([field, value]) => {
    const theirs = confirmed[field];
    if (value === '') return true;
    return typeof theirs === 'string' && theirs.toLowerCase() === value.toLowerCase();
  });
}

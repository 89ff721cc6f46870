/** What the follower subscribes to: marks, the users who are asked for most, and trades. */

import type { MarkKeeper } from './mark-keeper.ts';
import type { PendingChanges } from './pending-changes.ts';
import type { Clock } from './upstream/clock.ts';
import type { UpstreamSubscription } from './upstream/push-subscriptions.ts';
import type { WatchList } from './watch-list.ts';

/** Of the 1,000 subscriptions that a connection may have, some are left for marks and users. */
const TRADES_MAX = 900;
/** How long to wait for a refusal of the first trades subscription before adding more. */
const TRIAL_MS = 3_000;
/** Trades that were refused are tried again after this time. */
const REFUSED_MS = 600_000;
const NEVER_MS = Number.NEGATIVE_INFINITY;

/** What it needs of the push connection. */
export interface FollowPush {
  subscribe(wanted: readonly UpstreamSubscription[]): void;
  close(): void;
}

export interface SubscriptionsOptions {
  readonly watchList: WatchList;
  readonly pending: PendingChanges;
  readonly marks: MarkKeeper;
  readonly clock: Clock;
  /** Maximum number of users. */
  readonly usersMax: number;
  /** The dexes of the accounts that are followed. */
  listDexes(): readonly string[];
}

export class FollowSubscriptions {
  readonly #options: SubscriptionsOptions;
  #push: FollowPush | undefined;
  #tradesRefusedMs = NEVER_MS;
  /** When trades of one coin were subscribed to, to find out whether the upstream has any. */
  #trialMs: number | undefined;
  #hasTrades = false;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  use(push: FollowPush): void {
    this.#push = push;
  }

  noteOpened(): void {
    this.#options.marks.noteOpened();
    this.#trialMs = undefined;
    this.#hasTrades = false;
    this.update();
  }

  noteRefused(subscription: UpstreamSubscription): void {
    this.#options.marks.noteRefused(subscription);
    if (subscription.type !== 'trades' || this.#hasTrades) return;
    this.#tradesRefusedMs = this.#options.clock.nowMs();
    this.update();
  }

  /** Most important first. */
  update(): void {
    const marks = this.#options.marks.subscription;
    this.#push?.subscribe([
      ...(marks === undefined ? [] : [marks]),
      ...this.#listUsers(),
      ...this.#listTrades(),
    ]);
  }

  #listUsers(): UpstreamSubscription[] {
    const { watchList, usersMax, clock } = this.#options;
    const users = new Set(watchList.chooseUsers(usersMax, clock.nowMs()));
    const subscriptions: UpstreamSubscription[] = [];
    for (const { item } of watchList) {
      if (item.kind !== 'account' || !users.has(item.user)) continue;
      const { user, dex } = item;
      const type = 'clearinghouseState';
      subscriptions.push(dex === '' ? { type, user } : { type, user, dex });
    }
    return subscriptions;
  }

  /**
   * Only dexes with followed accounts: other trades name no followed account. Only markets that the
   * upstream trades: it closes the connection for a coin that it does not know.
   */
  #listTrades(): UpstreamSubscription[] {
    const { pending, listDexes, clock } = this.#options;
    const nowMs = clock.nowMs();
    if (nowMs - this.#tradesRefusedMs < REFUSED_MS) return [];
    const coins = listDexes().flatMap((dex) => pending.directory.listTraded(dex));
    if (coins.length > 0) this.#trialMs ??= nowMs;
    this.#hasTrades ||= this.#trialMs !== undefined && nowMs - this.#trialMs >= TRIAL_MS;
    return coins
      .slice(0, this.#hasTrades ? TRADES_MAX : 1)
      .map(({ coin }) => ({ type: 'trades', coin }));
  }
}

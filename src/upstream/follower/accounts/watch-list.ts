/**
 * The followed items: accounts and lists of delegations that clients have asked for. The list knows
 * when each item was last read and when a client last asked for it. So it knows which items are due
 * to be read again, and why.
 */

import type { Address } from '../../../exact/address.ts';
import { backoffMs } from '../../../timing/backoff.ts';
import type { FollowedItem } from '../../channel/follower-client.ts';
import type { Priority } from '../../client/limits/priority.ts';
import type { Booking } from '../../dialect/account-events.ts';
import { FundingHours } from './funding-hours.ts';
import { RecentTrades } from './recent-trades.ts';

/**
 * The delay between a trade and the read of its account. An order can cause several trades in a
 * row, and the account is read once for all of them.
 */
const TRADE_DELAY_MS = 150;
/** The minimum time between two reads of an account, even if the account trades all the time. */
const READ_INTERVAL_MS = 1_000;
/** The maximum number of tries to read an item within the time that `sweepMsOf` returns. */
const SWEEP_TRIES = 4;
/**
 * Unified accounts are read more often by this factor, because the exchange moves their cash
 * without a message.
 */
const UNIFIED_SWEEPS = 4;
/** The age at which an account is read again if the push connection does not deliver its trades. */
const UNSEEN_SWEEP_MS = 1_000;
/**
 * Delegations are read less often by this factor: a list costs ten times as much as an account, and
 * changes rarely.
 */
const DELEGATIONS_SWEEP_FACTOR = 10;
const RETRY = { firstMs: 1_000, maxMs: 60_000 };
/** The time after which the interest in an item has fallen to half. */
const INTEREST_HALVES_MS = 300_000;
/**
 * The interest in a subscribed user is multiplied by this factor. So the user stays subscribed
 * until clients ask for another user clearly more often.
 */
const SUBSCRIBED_BONUS = 1.5;
/**
 * After more failures than this in a row, the follower's health no longer depends on the account.
 * Clients can see the age of the account's data in the Account-Time header.
 */
const WAITED_FAILURES_MAX = 5;

export interface Watched {
  readonly key: string;
  readonly item: FollowedItem;
  readonly address: Address;
  /** When a client last asked for the item, by our clock. */
  askedMs: number;
  /** When the item was last read, by the exchange's clock; 0 if it was never read. */
  readTime: number;
  hasPositions: boolean;
  /** The coins of the account's positions when the account was last recorded. */
  coins: readonly string[];
  /** True if a spot balance backs the account. */
  isUnified: boolean;
  /**
   * True if the liquidation prices of the positions do not show the spot balance. Then the balance
   * is read with each read of the account.
   */
  needsSpot: boolean;
  /** True if the last answer could not be recorded because our rules do not reproduce it. */
  isUnrecorded: boolean;
  /** An answer of this time or later includes all trades that we know of. */
  tradeTime: number;
  /**
   * When the first trade arrived that no answer includes yet, by our clock; undefined if there is
   * none.
   */
  tradeMs: number | undefined;
  /** An answer of this time or later includes all trades that may have been missed. */
  missedTime: number;
  /**
   * When the follower noticed that trades may have been missed, by our clock; undefined if an
   * answer includes them.
   */
  missedMs: number | undefined;
  /** The last hour whose funding the account's rows include. */
  fundedHour: number;
  /** When the last read started, by our clock. */
  triedMs: number;
  /** The reason of the read that is in progress; undefined if no due read is in progress. */
  readReason: DueReason | undefined;
  failures: number;
  interest: number;
}

/**
 * The reason why an item is due. `missed` means that a trade of the account may have been missed.
 */
export type DueReason = Extract<Priority, 'trade' | 'hour' | 'sweep'> | 'missed';

export interface Due {
  readonly watched: Watched;
  readonly reason: DueReason;
}

/** The time by our clock, and by the estimate of the exchange's clock. */
export interface Now {
  readonly ms: number;
  readonly exchange: number;
}

export interface WatchOptions {
  readonly sweepMs: number;
  readonly forgetMs: number;
  readonly watchedMax: number;
}

export function keyOf(item: FollowedItem): string {
  return item.kind === 'account' ? `${item.user}/${item.dex}` : item.user;
}

/** Returns the name of the item in the log. */
export function describeItem(item: FollowedItem): string {
  if (item.kind === 'delegations') return `delegations of ${item.user}`;
  return item.dex === '' ? `account ${item.user}` : `account ${item.user} on ${item.dex}`;
}

/** The reasons in the order in which items are read. */
const REASONS: readonly DueReason[] = ['trade', 'missed', 'hour', 'sweep'];

export class WatchList {
  readonly #options: WatchOptions;
  /** The items by key, in the order in which clients last asked for them, the oldest first. */
  readonly #watched = new Map<string, Watched>();
  readonly #funding = new FundingHours();
  readonly #recentTrades = new RecentTrades();
  /** The dexes whose trades are not received now, although the upstream has trades. */
  #unseenDexes: ReadonlySet<string> = new Set();
  /** The markets whose trades the upstream never delivers. */
  #unseenCoins: ReadonlySet<string> = new Set();
  #subscribedUsers: ReadonlySet<string> = new Set();

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#watched.size;
  }

  find(key: string): Watched | undefined {
    return this.#watched.get(key);
  }

  [Symbol.iterator](): Iterator<Watched> {
    return this.#watched.values();
  }

  /**
   * Follows the item from now on. If the list is full, the item whose last request from a client is
   * the oldest is dropped.
   */
  add(item: FollowedItem, address: Address, nowMs: number): Watched {
    const key = keyOf(item);
    const known = this.#watched.get(key);
    if (known !== undefined) return known;
    if (this.#watched.size >= this.#options.watchedMax) this.#dropLeastRecent();
    const watched: Watched = {
      key,
      item,
      address,
      askedMs: nowMs,
      readTime: 0,
      hasPositions: false,
      coins: [],
      isUnified: false,
      needsSpot: false,
      isUnrecorded: false,
      tradeTime: 0,
      tradeMs: undefined,
      missedTime: 0,
      missedMs: undefined,
      fundedHour: 0,
      triedMs: Number.NEGATIVE_INFINITY,
      readReason: undefined,
      failures: 0,
      interest: 0,
    };
    this.#watched.set(key, watched);
    watched.tradeTime = this.#recentTrades.timeOf(key, nowMs);
    if (watched.tradeTime > 0) watched.tradeMs = nowMs;
    return watched;
  }

  #dropLeastRecent(): void {
    const [oldest] = this.#watched.keys();
    this.#watched.delete(oldest);
  }

  noteAsked(watched: Watched, count: number, nowMs: number): void {
    watched.interest = interestAt(watched, nowMs) + count;
    watched.askedMs = nowMs;
    // The item becomes the last in the order, unless it was dropped.
    if (this.#watched.delete(watched.key)) this.#watched.set(watched.key, watched);
  }

  /**
   * Notes a trade. Returns true if the account is followed and the trade is newer than the
   * account's last read.
   */
  noteTrade(user: string, dex: string, time: number, nowMs: number): boolean {
    const key = keyOf({ kind: 'account', user, dex });
    const watched = this.#watched.get(key);
    if (watched === undefined) this.#recentTrades.note(key, time, nowMs);
    if (watched === undefined || time <= watched.readTime) return false;
    watched.tradeTime = Math.max(watched.tradeTime, time);
    watched.tradeMs ??= nowMs;
    return true;
  }

  /** Notes that trades of accounts on the dex may have been missed up to this time. */
  noteMissed(dex: string, time: number, nowMs: number): void {
    for (const watched of this.#watched.values()) {
      const isMissed = watched.item.kind === 'account' && watched.item.dex === dex;
      if (!isMissed || watched.readTime >= time) continue;
      watched.missedTime = Math.max(watched.missedTime, time);
      watched.missedMs ??= nowMs;
    }
  }

  /**
   * Sets the dexes whose trades are not received. Accounts on these dexes are read repeatedly,
   * because no message reports their trades.
   */
  setUnseenDexes(dexes: ReadonlySet<string>): void {
    this.#unseenDexes = dexes;
  }

  /**
   * Sets the markets whose trades the upstream does not deliver, although it delivers the other
   * trades of their dexes. Accounts with a position in such a market are read repeatedly.
   */
  setUnseenCoins(coins: ReadonlySet<string>): void {
    this.#unseenCoins = coins;
  }

  #holdsUnseen({ coins }: Watched): boolean {
    return this.#unseenCoins.size > 0 && coins.some((coin) => this.#unseenCoins.has(coin));
  }

  /**
   * Notes that an account was read. `booking` says whether the answer shows the funding of the
   * hour.
   */
  noteFunding(watched: Watched, time: number, booking: Booking, nowMs: number): void {
    this.#funding.note(watched, { time, booking }, nowMs);
  }

  /**
   * Returns the number of accounts that have changed, or may have changed, more than `waitMs` ago
   * and were not read after the change.
   */
  countWaiting(now: Now, waitMs: number): number {
    const isLate = (sinceMs: number | undefined) =>
      sinceMs !== undefined && now.ms - sinceMs > waitMs;
    let count = 0;
    for (const watched of this.#watched.values()) {
      const { tradeMs, missedMs, isUnrecorded, failures, readTime } = watched;
      if (readTime === 0 || isUnrecorded || failures > WAITED_FAILURES_MAX) continue;
      const isUnfunded = isLate(this.#funding.waitingSinceMs(watched, now));
      const isUnseen =
        this.#holdsUnseen(watched) && now.exchange - readTime > UNSEEN_SWEEP_MS + waitMs;
      if (isLate(tradeMs) || isLate(missedMs) || isUnfunded || isUnseen) count++;
    }
    return count;
  }

  /** Notes that an answer of this time was recorded, or is equal to the recorded rows. */
  noteRead(watched: Watched, time: number): void {
    watched.readTime = Math.max(watched.readTime, time);
    watched.failures = 0;
    watched.isUnrecorded = false;
    if (watched.readTime >= watched.tradeTime) watched.tradeMs = undefined;
    if (watched.readTime >= watched.missedTime) watched.missedMs = undefined;
  }

  noteFailed(watched: Watched): void {
    watched.failures++;
  }

  /**
   * Drops an item that was never read successfully. If a client asks for it again, it is added
   * again.
   */
  dropUnread({ key, readTime, isUnrecorded }: Watched): void {
    if (readTime === 0 && !isUnrecorded) this.#watched.delete(key);
  }

  /**
   * Drops items that no client has asked for within `forgetMs`, and items that the upstream does
   * not have.
   */
  forget(nowMs: number, isReadable: (item: FollowedItem) => boolean): void {
    for (const { key, item, askedMs, readReason } of this.#watched.values()) {
      const isBeingRead = readReason !== undefined;
      const isWanted = nowMs - askedMs <= this.#options.forgetMs && isReadable(item);
      if (!isBeingRead && !isWanted) this.#watched.delete(key);
    }
  }

  /**
   * Returns at most `count` due items: the items with the most urgent reason first, and for the
   * same reason the oldest item first.
   */
  findDue(now: Now, count: number): Due[] {
    const due: Due[] = [];
    this.#funding.startLooking(now);
    for (const watched of this.#watched.values()) {
      const reason = this.#findReason(watched, now);
      if (reason === undefined || !isMoreUrgentThan(reason, watched.readReason)) continue;
      insertDue(due, { watched, reason }, count);
    }
    return due;
  }

  #findReason(watched: Watched, now: Now): DueReason | undefined {
    if (now.ms < retryAtMs(watched)) return undefined;
    const { readTime, tradeMs, missedMs, triedMs, isUnrecorded } = watched;
    const restMs = now.ms - triedMs;
    const sweepMs = this.sweepMsOf(watched);
    if (isUnrecorded) return restMs >= sweepMs ? 'sweep' : undefined;
    if (restMs < READ_INTERVAL_MS) return undefined;
    if (tradeMs !== undefined && now.ms >= tradeMs + TRADE_DELAY_MS) return 'trade';
    if (missedMs !== undefined && now.exchange >= watched.missedTime) return 'missed';
    if (this.#funding.isDue(watched, now)) return 'hour';
    // A server that stalls gives old answers, so it does not help to ask more often.
    if (restMs < sweepMs / SWEEP_TRIES) return undefined;
    return now.exchange - readTime >= sweepMs ? 'sweep' : undefined;
  }

  /** Returns the age at which an item is read again. */
  sweepMsOf(watched: Watched): number {
    const { item, isUnified } = watched;
    const { sweepMs } = this.#options;
    if (item.kind === 'delegations') return sweepMs * DELEGATIONS_SWEEP_FACTOR;
    const isUnseen = this.#unseenDexes.has(item.dex) || this.#holdsUnseen(watched);
    if (isUnseen) return Math.min(sweepMs, UNSEEN_SWEEP_MS);
    return isUnified ? sweepMs / UNIFIED_SWEEPS : sweepMs;
  }

  /**
   * Returns the users that clients ask for most often; the follower subscribes to them. Leaves out
   * users whose pushed states are not enough to record their accounts.
   */
  chooseUsers(count: number, nowMs: number): readonly string[] {
    const interests = new Map<string, number>();
    for (const watched of this.#watched.values()) {
      if (watched.item.kind !== 'account' || watched.needsSpot || watched.isUnrecorded) continue;
      const { user } = watched.item;
      interests.set(user, (interests.get(user) ?? 0) + interestAt(watched, nowMs));
    }
    const weighed = [...interests].map(([user, interest]): [string, number] => {
      return [user, this.#subscribedUsers.has(user) ? interest * SUBSCRIBED_BONUS : interest];
    });
    weighed.sort(([, first], [, second]) => second - first);
    const chosen = weighed.slice(0, count).map(([user]) => user);
    this.#subscribedUsers = new Set(chosen);
    return chosen;
  }
}

/**
 * Inserts an item in order, and keeps only the `count` most urgent items. This is faster than to
 * sort all items, because only few of many items are needed.
 */
function insertDue(due: Due[], added: Due, count: number): void {
  let index = due.length;
  while (index > 0 && isMoreUrgent(added, due[index - 1])) index--;
  if (index >= count) return;
  due.splice(index, 0, added);
  if (due.length > count) due.pop();
}

function isMoreUrgent(first: Due, second: Due): boolean {
  if (first.reason !== second.reason) return isMoreUrgentThan(first.reason, second.reason);
  const [one, other] = [first.watched, second.watched];
  // Among the accounts that may have traded, accounts with positions are more likely to have
  // traded.
  const isByPositions = first.reason === 'missed' && one.hasPositions !== other.hasPositions;
  return isByPositions ? one.hasPositions : one.readTime < other.readTime;
}

function isMoreUrgentThan(reason: DueReason, other: DueReason | undefined): boolean {
  return other === undefined || REASONS.indexOf(reason) < REASONS.indexOf(other);
}

/** Returns when an item may be read again. After each failure in a row, the delay is longer. */
function retryAtMs({ failures, triedMs }: Watched): number {
  if (failures === 0) return Number.NEGATIVE_INFINITY;
  return triedMs + backoffMs(failures, RETRY);
}

function interestAt({ interest, askedMs }: Watched, nowMs: number): number {
  return interest * 0.5 ** ((nowMs - askedMs) / INTEREST_HALVES_MS);
}

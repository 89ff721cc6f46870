/**
 * What is followed: accounts and lists of delegations that somebody has asked for. It knows when each
 * was last read and asked for, and so which are due to be read again, and why.
 */

import type { Address } from '../../../exact/address.ts';
import type { WantedItem } from '../../channel/wanted.ts';
import type { Priority } from '../../client/limits/priority.ts';
import type { Booking } from '../../dialect/account-events.ts';
import { FundingHours } from './funding-hours.ts';
import { RecentTrades } from './recent-trades.ts';

/** A taker's trades come one by one: they are read once. */
const TRADE_DELAY_MS = 150;
/** An account that trades all the time is not read more often than this. */
const READ_INTERVAL_MS = 1_000;
/** How often an item is tried at most within the age at which it is due. */
const SWEEP_TRIES = 4;
/** The exchange moves cash of unified accounts without telling. */
const UNIFIED_SWEEPS = 4;
/** The age at which an account is read again whose trades the push connection does not bring now. */
const UNSEEN_SWEEP_MS = 1_000;
/** A list of delegations costs ten times as much as an account, and changes rarely. */
const DELEGATIONS_SWEEP_FACTOR = 10;
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** The interest in an item halves in this time. */
const INTEREST_HALVES_MS = 300_000;
/** A subscribed user stays so until another one is asked for clearly more often. */
const SUBSCRIBED_BONUS = 1.5;
/** An account that fails more often in a row is not waited for: its Account-Time shows its age. */
const WAITED_FAILURES_MAX = 5;

export interface Watched {
  readonly key: string;
  readonly item: WantedItem;
  readonly address: Address;
  /** When it was last asked for, by our clock. */
  askedMs: number;
  /** When it was last read, by the exchange's clock; 0 if it never was. */
  readTime: number;
  hasPositions: boolean;
  /** A spot balance backs it. */
  isUnified: boolean;
  /** The prices of its positions do not show that balance: it is asked for with each read. */
  needsSpot: boolean;
  /** The last answer could not be recorded: our rules do not reproduce it. */
  isUnrecorded: boolean;
  /** An answer from this time on includes all trades that we know of. */
  tradeTime: number;
  /** When the first trade came that no answer includes yet, by our clock. */
  tradeMs: number | undefined;
  /** An answer from this time on includes all trades that may have gone unseen. */
  missedTime: number;
  /** Since when no answer includes them, by our clock. */
  missedMs: number | undefined;
  /** The last hour whose funding the account's rows include. */
  fundedHour: number;
  /** When the last read began, by our clock. */
  triedMs: number;
  /** Why it is being read, if it is because it was due. */
  readReason: DueReason | undefined;
  failures: number;
  interest: number;
}

/** `missed`: a trade of the account may have gone unseen. */
export type DueReason = Extract<Priority, 'trade' | 'hour' | 'sweep'> | 'missed';

export interface Due {
  readonly watched: Watched;
  readonly reason: DueReason;
}

/** Two clocks: ours, and the estimate of the exchange's. */
export interface Now {
  readonly ms: number;
  readonly exchange: number;
}

export interface WatchOptions {
  readonly sweepMs: number;
  readonly forgetMs: number;
  readonly watchedMax: number;
}

export function keyOf(item: WantedItem): string {
  return item.kind === 'account' ? `${item.user}/${item.dex}` : item.user;
}

/** For the log. */
export function describeItem(item: WantedItem): string {
  if (item.kind === 'delegations') return `delegations of ${item.user}`;
  return item.dex === '' ? `account ${item.user}` : `account ${item.user} on ${item.dex}`;
}

/** In the order in which they are read. */
const REASONS: readonly DueReason[] = ['trade', 'missed', 'hour', 'sweep'];

export class WatchList {
  readonly #options: WatchOptions;
  /** By key, in the order in which they were last asked for. */
  readonly #watched = new Map<string, Watched>();
  readonly #funding = new FundingHours();
  readonly #recentTrades = new RecentTrades();
  /** The dexes whose trades are not seen now, although the upstream has trades. */
  #unseenDexes: ReadonlySet<string> = new Set();
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

  /** Follows the item from now on; the one that was asked for longest ago makes room for it. */
  add(item: WantedItem, address: Address, nowMs: number): Watched {
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
    // It becomes the last one, unless it was dropped.
    if (this.#watched.delete(watched.key)) this.#watched.set(watched.key, watched);
  }

  /** Notes a trade. True if the account is followed and the trade is newer than its last read. */
  noteTrade(user: string, dex: string, time: number, nowMs: number): boolean {
    const key = keyOf({ kind: 'account', user, dex });
    const watched = this.#watched.get(key);
    if (watched === undefined) this.#recentTrades.note(key, time, nowMs);
    if (watched === undefined || time <= watched.readTime) return false;
    watched.tradeTime = Math.max(watched.tradeTime, time);
    watched.tradeMs ??= nowMs;
    return true;
  }

  /** Until this time, trades of accounts on the dex may have gone unseen. */
  noteMissed(dex: string, time: number, nowMs: number): void {
    for (const watched of this.#watched.values()) {
      const isMissed = watched.item.kind === 'account' && watched.item.dex === dex;
      if (!isMissed || watched.readTime >= time) continue;
      watched.missedTime = Math.max(watched.missedTime, time);
      watched.missedMs ??= nowMs;
    }
  }

  /** Accounts on these dexes are read again and again, since nothing else tells of their trades. */
  setUnseenDexes(dexes: ReadonlySet<string>): void {
    this.#unseenDexes = dexes;
  }

  /** An account was read: whether that shows the funding of the hour. */
  noteFunding(watched: Watched, time: number, booking: Booking, nowMs: number): void {
    this.#funding.note(watched, { time, booking }, nowMs);
  }

  /** Accounts that have changed, or may have, more than so long ago, and were not read since. */
  countWaiting(now: Now, waitMs: number): number {
    const isLate = (sinceMs: number | undefined) =>
      sinceMs !== undefined && now.ms - sinceMs > waitMs;
    let count = 0;
    for (const watched of this.#watched.values()) {
      const { tradeMs, missedMs, isUnrecorded, failures, readTime } = watched;
      if (readTime === 0 || isUnrecorded || failures > WAITED_FAILURES_MAX) continue;
      const isUnfunded = isLate(this.#funding.waitingSinceMs(watched, now));
      if (isLate(tradeMs) || isLate(missedMs) || isUnfunded) count++;
    }
    return count;
  }

  /** An answer of this time was recorded, or found to be what is recorded. */
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

  /** Drops an item that nobody could read: whoever asks for it again adds it again. */
  dropUnread({ key, readTime, isUnrecorded }: Watched): void {
    if (readTime === 0 && !isUnrecorded) this.#watched.delete(key);
  }

  /** Drops what nobody has asked for in the time after which it is forgotten. */
  forget(nowMs: number): void {
    for (const { key, askedMs, readReason } of this.#watched.values()) {
      const isBeingRead = readReason !== undefined;
      if (!isBeingRead && nowMs - askedMs > this.#options.forgetMs) this.#watched.delete(key);
    }
  }

  /** At most `count` items that are due, the most urgent reason first, and of one the oldest. */
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
    // The answers of a server that stalls are old already: asking more often does not help.
    if (restMs < sweepMs / SWEEP_TRIES) return undefined;
    return now.exchange - readTime >= sweepMs ? 'sweep' : undefined;
  }

  /** The age at which an item is read again. */
  sweepMsOf({ item, isUnified }: Watched): number {
    const { sweepMs } = this.#options;
    if (item.kind === 'delegations') return sweepMs * DELEGATIONS_SWEEP_FACTOR;
    if (this.#unseenDexes.has(item.dex)) return Math.min(sweepMs, UNSEEN_SWEEP_MS);
    return isUnified ? sweepMs / UNIFIED_SWEEPS : sweepMs;
  }

  /** The users that are asked for most, to be subscribed to; a push must be enough to record them. */
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

/** Keeps the most urgent ones in order. Few are wanted of many, so that this beats sorting all. */
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
  // Of those that may have traded, the ones with positions are the likelier.
  const isByPositions = first.reason === 'missed' && one.hasPositions !== other.hasPositions;
  return isByPositions ? one.hasPositions : one.readTime < other.readTime;
}

function isMoreUrgentThan(reason: DueReason, other: DueReason | undefined): boolean {
  return other === undefined || REASONS.indexOf(reason) < REASONS.indexOf(other);
}

/** What failed is tried again later and later. */
function retryAtMs({ failures, triedMs }: Watched): number {
  if (failures === 0) return Number.NEGATIVE_INFINITY;
  return triedMs + Math.min(RETRY_FIRST_MS * 2 ** Math.min(failures - 1, 20), RETRY_MAX_MS);
}

function interestAt({ interest, askedMs }: Watched, nowMs: number): number {
  return interest * 0.5 ** ((nowMs - askedMs) / INTEREST_HALVES_MS);
}

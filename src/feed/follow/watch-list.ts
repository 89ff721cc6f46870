/**
 * What is followed: accounts and lists of delegations that somebody has asked for. It knows when each
 * was last read and asked for, and so which are due to be read again, and why.
 */

import type { Address } from '../../exact/address.ts';
import type { WantedItem } from '../../wanted/wanted.ts';
import type { Priority } from './upstream/priority.ts';

const HOUR_MS = 3_600_000;
/** Funding is paid in the first seconds of an hour. */
const FUNDING_MS = 2_000;
/** A taker's trades come one by one: they are read once. */
const TRADE_DELAY_MS = 150;
/** An account that trades all the time is not read more often than this. */
const READ_INTERVAL_MS = 1_000;
/** How often an item is tried at most within the age at which it is due. */
const SWEEP_TRIES = 4;
/** The exchange moves cash of unified accounts without telling. */
const UNIFIED_SWEEPS = 4;
/** A list of delegations costs ten times as much as an account, and changes rarely. */
const DELEGATIONS_SWEEP_FACTOR = 10;
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** The interest in an item halves in this time. */
const INTEREST_HALVES_MS = 300_000;
/** A subscribed user stays so until another one is asked for clearly more often. */
const SUBSCRIBED_BONUS = 1.5;

export interface Watched {
  readonly key: string;
  readonly item: WantedItem;
  readonly address: Address;
  /** When it was last asked for, by our clock. */
  askedMs: number;
  /** When it was last read, by the exchange's clock; 0 if it never was. */
  readTime: number;
  hasPositions: boolean;
  isUnified: boolean;
  /** The last answer could not be recorded: our rules do not reproduce it. */
  isUnrecorded: boolean;
  /** An answer from this time on includes all trades that we know of. */
  tradeTime: number;
  /** When the first trade came that no answer includes yet, by our clock. */
  tradeMs: number | undefined;
  /** When the last read began, by our clock. */
  triedMs: number;
  isBeingRead: boolean;
  failures: number;
  interest: number;
  /** When the account's mode was last asked for, by our clock. */
  modeMs: number;
  isModeKnown: boolean;
  /** How often in a row the mode that was told did not explain the account. */
  modeDoubts: number;
}

export type DueReason = Extract<Priority, 'trade' | 'hour' | 'sweep'>;

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
const REASONS: readonly DueReason[] = ['trade', 'hour', 'sweep'];

export class WatchList {
  readonly #options: WatchOptions;
  /** By key, in the order in which they were last asked for. */
  readonly #watched = new Map<string, Watched>();
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
      isUnrecorded: false,
      tradeTime: 0,
      tradeMs: undefined,
      triedMs: Number.NEGATIVE_INFINITY,
      isBeingRead: false,
      failures: 0,
      interest: 0,
      modeMs: Number.NEGATIVE_INFINITY,
      isModeKnown: false,
      modeDoubts: 0,
    };
    this.#watched.set(key, watched);
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
    const watched = this.#watched.get(keyOf({ kind: 'account', user, dex }));
    if (watched === undefined || time <= watched.readTime) return false;
    watched.tradeTime = Math.max(watched.tradeTime, time);
    watched.tradeMs ??= nowMs;
    return true;
  }

  /** An answer of this time was recorded, or found to be what is recorded. */
  noteRead(watched: Watched, time: number): void {
    watched.readTime = Math.max(watched.readTime, time);
    watched.failures = 0;
    watched.isUnrecorded = false;
    watched.modeDoubts = 0;
    if (watched.readTime >= watched.tradeTime) watched.tradeMs = undefined;
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
    for (const { key, askedMs, isBeingRead } of this.#watched.values()) {
      if (!isBeingRead && nowMs - askedMs > this.#options.forgetMs) this.#watched.delete(key);
    }
  }

  /** At most `count` items that are due: trades first, then the hour, then age; the oldest first. */
  findDue(now: Now, count: number): Due[] {
    const due: Due[] = [];
    for (const watched of this.#watched.values()) {
      const reason = this.#findReason(watched, now);
      if (reason !== undefined) insertDue(due, { watched, reason }, count);
    }
    return due;
  }

  #findReason(watched: Watched, now: Now): DueReason | undefined {
    if (watched.isBeingRead || now.ms < retryAtMs(watched)) return undefined;
    const { readTime, tradeMs, triedMs, hasPositions, isUnrecorded } = watched;
    const restMs = now.ms - triedMs;
    const sweepMs = this.sweepMsOf(watched);
    if (isUnrecorded) return restMs >= sweepMs ? 'sweep' : undefined;
    if (restMs < READ_INTERVAL_MS) return undefined;
    if (tradeMs !== undefined && now.ms >= tradeMs + TRADE_DELAY_MS) return 'trade';
    if (hasPositions && fundingHour(readTime) < fundingHour(now.exchange)) return 'hour';
    // The answers of a server that stalls are old already: asking more often does not help.
    if (restMs < sweepMs / SWEEP_TRIES) return undefined;
    return now.exchange - readTime >= sweepMs ? 'sweep' : undefined;
  }

  /** The age at which an item is read again. */
  sweepMsOf({ item, isUnified }: Watched): number {
    const { sweepMs } = this.#options;
    if (item.kind === 'delegations') return sweepMs * DELEGATIONS_SWEEP_FACTOR;
    return isUnified ? sweepMs / UNIFIED_SWEEPS : sweepMs;
  }

  /** The users that are asked for most, to be subscribed to. */
  chooseUsers(count: number, nowMs: number): readonly string[] {
    const interests = new Map<string, number>();
    for (const watched of this.#watched.values()) {
      if (watched.item.kind !== 'account' || watched.isUnified) continue;
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
  const ranks = REASONS.indexOf(first.reason) - REASONS.indexOf(second.reason);
  return ranks < 0 || (ranks === 0 && first.watched.readTime < second.watched.readTime);
}

/** Funding of an hour is in every answer whose time has the same number or a later one. */
function fundingHour(time: number): number {
  return Math.floor((time - FUNDING_MS) / HOUR_MS);
}

/** Whether an hour's funding may have been paid after the first time and until the second. */
export function isFundingBetween(first: number, second: number): boolean {
  return fundingHour(first) < Math.floor(second / HOUR_MS);
}

/** What failed is tried again later and later. */
function retryAtMs({ failures, triedMs }: Watched): number {
  if (failures === 0) return Number.NEGATIVE_INFINITY;
  return triedMs + Math.min(RETRY_FIRST_MS * 2 ** Math.min(failures - 1, 20), RETRY_MAX_MS);
}

function interestAt({ interest, askedMs }: Watched, nowMs: number): number {
  return interest * 0.5 ** ((nowMs - askedMs) / INTEREST_HALVES_MS);
}

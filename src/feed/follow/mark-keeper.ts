/**
 * Keeps the marks: pushed if the upstream pushes them, else asked for, else taken from the answers
 * about accounts. Each way is used only while the better ones bring nothing.
 */

import { weightOf } from '../../wanted/upstream-weights.ts';
import type { Asker } from './account-reader.ts';
import type { AccountRows } from './dialect/account-answer.ts';
import { DialectError } from './dialect/dialect.ts';
import {
  type PriceReading,
  pricesOfRows,
  readAllDexsAssetCtxs,
  readFastAssetCtxs,
  readMetaAndAssetCtxs,
} from './dialect/mark-answers.ts';
import type { FollowAudit } from './follow-audit.ts';
import type { PendingChanges } from './pending-changes.ts';
import { PeriodicTask } from './periodic-task.ts';
import type { Clock } from './upstream/clock.ts';
import type { UpstreamSubscription } from './upstream/push-subscriptions.ts';
import { UpstreamError } from './upstream/upstream-error.ts';

/** In the order in which they are tried. */
const CHANNELS = ['fastAssetCtxs', 'allDexsAssetCtxs'] as const;
/** Marks that were pushed or asked for are current for so long; then a worse way is used too. */
const CURRENT_MS = 10_000;
/** How long a new connection has to bring marks before the next channel is tried. */
const FIRST_PUSH_MS = 15_000;
/** A channel or a question that the upstream has refused is tried again after this time. */
const REFUSED_MS = 600_000;
const POLL_MS_MIN = 1_000;
/** How often to look whether the markets are known, which marks are read by. */
const MARKETS_WAIT_MS = 100;
/** The part of the budget that asking for marks may use. */
const POLL_SHARE = 1 / 6;
const MINUTE_MS = 60_000;
const QUESTION = 'metaAndAssetCtxs';
const FIRST_DEX = '';
const NEVER_MS = Number.NEGATIVE_INFINITY;

export interface MarkKeeperOptions {
  readonly upstream: Asker;
  /** Weight a minute. */
  readonly budget: number;
  readonly pending: PendingChanges;
  readonly audit: FollowAudit;
  readonly clock: Clock;
  /** The dexes whose marks are needed. */
  listDexes(): readonly string[];
  /** Called when the wanted subscription has changed. */
  resubscribe(): void;
  refreshMarkets(): Promise<void>;
}

export class MarkKeeper {
  readonly #options: MarkKeeperOptions;
  readonly #polling: PeriodicTask;
  #channelIndex = 0;
  #channelRefusedMs = NEVER_MS;
  #questionRefusedMs = NEVER_MS;
  /** When the push connection was opened, if it is open and has brought no marks yet. */
  #openedMs: number | undefined;
  #pushedMs = NEVER_MS;
  /** When marks were last pushed or asked for, and last taken from an account's answer. */
  #currentMs = NEVER_MS;
  #offeredMs = NEVER_MS;
  readonly #askedDexes = new Set<string>();
  /** The time of the answer that a coin's mark was taken from. */
  readonly #answerTimes = new Map<string, number>();

  constructor(options: MarkKeeperOptions) {
    this.#options = options;
    const { clock, audit } = options;
    this.#polling = new PeriodicTask({
      clock,
      intervalMs: () => (this.#hasMarkets ? this.#pollMs : MARKETS_WAIT_MS),
      run: () => this.#poll(),
      failed: (error) => audit.warn(`marks not read: ${error.message}`),
    });
  }

  /** Since any marks came; undefined before the first. */
  get ageMs(): number | undefined {
    const latestMs = Math.max(this.#currentMs, this.#offeredMs);
    return latestMs === NEVER_MS ? undefined : this.#options.clock.nowMs() - latestMs;
  }

  /**
   * The push subscription that brings marks, if there is one left to try. Not before the markets are
   * read: prices of unread markets are lost, and only the first message has all of them.
   */
  get subscription(): UpstreamSubscription | undefined {
    if (this.#options.pending.directory.universeOf(FIRST_DEX) === undefined) return undefined;
    const type = CHANNELS[this.#channelIndex];
    return type === undefined ? undefined : { type };
  }

  stop(): void {
    this.#polling.stop();
  }

  noteOpened(): void {
    const nowMs = this.#options.clock.nowMs();
    this.#openedMs = nowMs;
    if (nowMs - this.#channelRefusedMs > REFUSED_MS) this.#channelIndex = 0;
  }

  noteLost(): void {
    this.#openedMs = undefined;
  }

  /** The upstream does not take the subscription. */
  noteRefused({ type }: UpstreamSubscription): void {
    if (type === CHANNELS[this.#channelIndex]) this.#tryNextChannel();
  }

  #tryNextChannel(): void {
    this.#channelIndex++;
    this.#channelRefusedMs = this.#options.clock.nowMs();
    this.#openedMs = this.#channelRefusedMs;
    this.#options.resubscribe();
  }

  /** Takes a pushed message; false if it is of another channel. */
  take(channel: string, data: unknown): boolean {
    const { pending, clock } = this.#options;
    if (channel !== 'fastAssetCtxs' && channel !== 'allDexsAssetCtxs') return false;
    const read = channel === 'fastAssetCtxs' ? readFastAssetCtxs : readAllDexsAssetCtxs;
    const reading = read(data, pending.directory);
    if (!this.#accept(channel, reading)) return true;
    this.#openedMs = undefined;
    this.#pushedMs = clock.nowMs();
    return true;
  }

  #accept(source: string, reading: PriceReading | DialectError): boolean {
    const { pending, audit, clock } = this.#options;
    if (reading instanceof DialectError) {
      audit.noteMismatch(source, reading.mismatch);
      return false;
    }
    for (const { name, reason } of reading.skipped) audit.warn(`${source}: ${name}: ${reason}`);
    if (reading.areMarketsOld) void this.#options.refreshMarkets();
    if (reading.prices.size === 0) return false;
    pending.setPrices(reading.prices);
    this.#currentMs = clock.nowMs();
    return true;
  }

  /** An account was read: its marks are used where no better ones come. */
  offer(rows: AccountRows): void {
    const { pending, clock } = this.#options;
    const nowMs = clock.nowMs();
    const isCurrent = nowMs - this.#currentMs < Math.max(CURRENT_MS, 2 * this.#pollMs);
    const usable = [...pricesOfRows(rows)].filter(([coin]) => {
      if (!pending.hasPrice(coin)) return true;
      return !isCurrent && rows.time >= (this.#answerTimes.get(coin) ?? 0);
    });
    for (const [coin] of usable) this.#answerTimes.set(coin, rows.time);
    if (usable.length > 0) this.#offeredMs = nowMs;
    pending.setPrices(new Map(usable));
  }

  get #pollMs(): number {
    const { budget, listDexes } = this.#options;
    const weight = weightOf(QUESTION) * listDexes().length;
    return Math.max(POLL_MS_MIN, (weight * MINUTE_MS) / (budget * POLL_SHARE));
  }

  /** Asks for the marks if they are not pushed. */
  async #poll(): Promise<void> {
    if (!this.#hasMarkets) return;
    const nowMs = this.#options.clock.nowMs();
    const isPushQuiet = nowMs - this.#pushedMs >= CURRENT_MS;
    if (!isPushQuiet) return;
    const isUseless = this.#openedMs !== undefined && nowMs - this.#openedMs >= FIRST_PUSH_MS;
    if (isUseless && this.subscription !== undefined) this.#tryNextChannel();
    if (nowMs - this.#questionRefusedMs < REFUSED_MS) return;
    for (const dex of this.#dexesToAsk) await this.#ask(dex);
  }

  get #hasMarkets(): boolean {
    return this.#options.pending.directory.markets.length > 0;
  }

  /** Each dex once, since its markets cannot be listed without prices; then those that are needed. */
  get #dexesToAsk(): ReadonlySet<string> {
    const { pending, listDexes } = this.#options;
    const names = pending.directory.dexes.map(({ name }) => name);
    return new Set([...listDexes(), ...names.filter((name) => !this.#askedDexes.has(name))]);
  }

  async #ask(dex: string): Promise<void> {
    const { upstream, pending, clock } = this.#options;
    try {
      const askedMs = clock.nowMs();
      const json = await upstream.ask({ type: QUESTION, dex }, { priority: 'upkeep' });
      // Marks that were pushed meanwhile are newer.
      if (this.#pushedMs >= askedMs) return;
      this.#askedDexes.add(dex);
      this.#accept(QUESTION, readMetaAndAssetCtxs(json, dex, pending.directory));
    } catch (error) {
      const isUnknown = error instanceof UpstreamError && error.kind === 'refused';
      if (!isUnknown) throw error;
      this.#questionRefusedMs = this.#options.clock.nowMs();
      this.#options.audit.warn(`marks come from the accounts that are read: ${error.message}`);
    }
  }
}

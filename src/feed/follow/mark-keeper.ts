/**
 * Keeps the marks: pushed if the upstream pushes them, else asked for, else taken from the answers
 * about accounts. Each way is used only while the better ones bring nothing.
 */

import type { UpstreamWeights } from '../../wanted/upstream-weights.ts';
import type { Asker } from './asker.ts';
import type { AccountRows } from './dialect/account-answer.ts';
import { DialectError } from './dialect/dialect.ts';
import {
  type PriceReading,
  pricesOfRows,
  readAllDexsAssetCtxs,
  readMetaAndAssetCtxs,
} from './dialect/mark-answers.ts';
import type { MarketDirectory } from './dialect/market-directory.ts';
import { readFastFrame } from './fast-frame.ts';
import type { FollowAudit } from './follow-audit.ts';
import { MarkAges } from './mark-ages.ts';
import type { PendingChanges } from './pending-changes.ts';
import { PeriodicTask } from './periodic-task.ts';
import type { Clock } from './upstream/clock.ts';
import type { UpstreamSubscription } from './upstream/push-subscriptions.ts';
import { isUnknownQuestion, UpstreamError } from './upstream/upstream-error.ts';

/** In the order in which they are tried. */
const CHANNELS = ['fastAssetCtxs', 'allDexsAssetCtxs'] as const;
/** Marks that were pushed or asked for are current for so long; then a worse way is used too. */
const CURRENT_MS = 10_000;
/** How long a new connection has to bring marks before the next channel is tried. */
const FIRST_PUSH_MS = 15_000;
/** A channel or a question that the upstream does not know is tried again after this time. */
const REFUSED_MS = 600_000;
/** A question about a dex that fails is asked again, later each time, up to REFUSED_MS. */
const RETRY_FIRST_MS = 1_000;
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
  readonly weights: UpstreamWeights;
  readonly pending: PendingChanges;
  readonly audit: FollowAudit;
  readonly clock: Clock;
  /** The dexes whose marks are needed. */
  listDexes(): readonly string[];
  /** The coins of the positions of those who are followed, by dex. */
  listCoins(): ReadonlyMap<string, Iterable<string>>;
  /** Called when the wanted subscription has changed. */
  resubscribe(): void;
  refreshMarkets(): Promise<void>;
}

interface Retry {
  readonly failures: number;
  readonly atMs: number;
}

export class MarkKeeper {
  readonly #options: MarkKeeperOptions;
  readonly #polling: PeriodicTask;
  #channelIndex = 0;
  #channelRefusedMs = NEVER_MS;
  /** When the upstream last did not know the question for marks, which it has never answered. */
  #unknownMs = NEVER_MS;
  /** By dex, when marks that could not be read are asked for again. */
  readonly #retries = new Map<string, Retry>();
  #failure: string | undefined;
  /** When the push connection was opened, if it is open and has brought no marks yet. */
  #openedMs: number | undefined;
  #pushedMs = NEVER_MS;
  #hasAnswered = false;
  readonly #ages = new MarkAges();
  /** The time of the answer that a coin's mark was taken from. */
  readonly #answerTimes = new Map<string, number>();

  constructor(options: MarkKeeperOptions) {
    this.#options = options;
    const { clock, audit } = options;
    this.#polling = new PeriodicTask({
      clock,
      intervalMs: () => (this.#hasMarkets ? this.#pollMs : MARKETS_WAIT_MS),
      run: () => this.#poll(),
      failed: (error) => audit.warnOnce(`marks not read: ${error.message}`),
    });
  }

  /** Of the oldest mark that is needed; undefined before the first. */
  get ageMs(): number | undefined {
    const { clock, listDexes } = this.#options;
    const told = listDexes().flatMap((dex) => this.#listTold(dex));
    const known = told.filter((ms) => ms !== undefined);
    return known.length === 0 ? undefined : clock.nowMs() - Math.min(...known);
  }

  /** When marks of a dex were told: those of positions, or all of them if there is no position. */
  #listTold(dex: string): (number | undefined)[] {
    const coins = [...(this.#options.listCoins().get(dex) ?? [])];
    if (coins.length === 0) return [this.#ages.dexMs(dex)];
    return coins.map((coin) => this.#ages.coinMs(dex, coin));
  }

  /** Whether the upstream tells marks, as far as anyone can say: else they come with accounts. */
  get isSource(): boolean {
    return this.#unknownMs === NEVER_MS;
  }

  /** Why marks were not read the last time that they were asked for. */
  get failure(): string | undefined {
    return this.#failure;
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
    this.#ages.notePushOpened();
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
    const reading =
      channel === 'fastAssetCtxs'
        ? readFastFrame(data, pending.directory)
        : readAllDexsAssetCtxs(data, pending.directory);
    if (!this.#accept(channel, reading)) return true;
    // The first message of a connection has all markets, later ones may have only what has changed.
    const isWhole = this.#openedMs !== undefined || channel === 'allDexsAssetCtxs';
    this.#openedMs = undefined;
    this.#pushedMs = clock.nowMs();
    this.#ages.notePushed(this.#dexesOf(reading.prices), isWhole, this.#pushedMs);
    return true;
  }

  #dexesOf(prices: PriceReading['prices']): ReadonlySet<string> {
    const { directory } = this.#options.pending;
    const markets = [...prices.keys()].map((coin) => directory.find(coin));
    const indexes = new Set(markets.flatMap((market) => market?.dexIndex ?? []));
    return new Set([...indexes].map((index) => directory.dexes[index].name));
  }

  /** False if it tells no marks. */
  #accept(source: string, reading: PriceReading | DialectError): reading is PriceReading {
    const { pending, audit } = this.#options;
    if (reading instanceof DialectError) {
      audit.noteMismatch(source, reading.mismatch);
      return false;
    }
    for (const { name, reason } of reading.skipped) audit.warn(`${source}: ${name}: ${reason}`);
    if (reading.areMarketsOld) void this.#options.refreshMarkets();
    if (reading.prices.size === 0) return false;
    pending.setPrices(reading.prices);
    return true;
  }

  /** An account was read: its marks are used where no better ones come. */
  offer(rows: AccountRows): void {
    const { pending, clock } = this.#options;
    const nowMs = clock.nowMs();
    const toldMs = this.#ages.dexMs(rows.dex) ?? NEVER_MS;
    const isCurrent = nowMs - toldMs < Math.max(CURRENT_MS, 2 * this.#pollMs);
    const usable = [...pricesOfRows(rows)].filter(([coin]) => {
      if (!pending.hasPrice(coin)) return true;
      return !isCurrent && rows.time >= (this.#answerTimes.get(coin) ?? 0);
    });
    for (const [coin] of usable) this.#answerTimes.set(coin, rows.time);
    for (const [coin] of usable) this.#ages.noteOffered(coin, nowMs);
    pending.setPrices(new Map(usable));
  }

  /**
   * Reads the marks of dexes that could not be read before: what was told of them meanwhile is lost,
   * and without all marks their markets would be listed in the order in which the marks change.
   */
  async readNew(dexes: readonly string[], directory: MarketDirectory): Promise<void> {
    for (const dex of dexes) {
      try {
        const failure = await this.#ask(dex, directory);
        if (failure !== undefined) throw new Error(failure);
      } catch (error) {
        this.#options.audit.warnOnce(`marks of new markets not read: ${(error as Error).message}`);
      }
    }
  }

  get #pollMs(): number {
    const { budget, weights, listDexes } = this.#options;
    const weight = weights.of(QUESTION) * listDexes().length;
    return Math.max(POLL_MS_MIN, (weight * MINUTE_MS) / (budget * POLL_SHARE));
  }

  /** Asks for the marks if they are not pushed. */
  async #poll(): Promise<void> {
    if (!this.#hasMarkets) return;
    const nowMs = this.#options.clock.nowMs();
    const isUseless = this.#openedMs !== undefined && nowMs - this.#openedMs >= FIRST_PUSH_MS;
    const isPushQuiet = nowMs - this.#pushedMs >= CURRENT_MS;
    if (isPushQuiet && isUseless && this.subscription !== undefined) this.#tryNextChannel();
    const failures: string[] = [];
    for (const dex of this.#dexesToAsk) {
      const failure = await this.#ask(dex);
      if (failure !== undefined) failures.push(failure);
    }
    // So that it is tried again soon, and not only at the next interval.
    if (failures.length > 0) throw new Error(failures.join('; '));
  }

  get #hasMarkets(): boolean {
    return this.#options.pending.directory.markets.length > 0;
  }

  /** Those needed, and each until it has told its marks: without, its markets cannot be listed. */
  get #dexesToAsk(): readonly string[] {
    const { pending, listDexes } = this.#options;
    const names = pending.directory.dexes.map(({ name }) => name);
    const isUntold = (dex: string) => this.#ages.dexMs(dex) === undefined;
    return [...new Set([...listDexes(), ...names.filter(isUntold)])].filter((dex) =>
      this.#isDue(dex),
    );
  }

  /** Marks of markets that are not known would be lost. */
  #isDue(dex: string): boolean {
    const { pending, clock } = this.#options;
    if (pending.directory.universeOf(dex) === undefined) return false;
    const nowMs = clock.nowMs();
    if (nowMs < (this.#retries.get(dex)?.atMs ?? NEVER_MS)) return false;
    if (nowMs - this.#ages.pushedMs(dex) < CURRENT_MS) return false;
    // Half of it, since a timer that fires a moment early must not leave a dex out.
    return nowMs - (this.#ages.dexMs(dex) ?? NEVER_MS) >= this.#pollMs / 2;
  }

  /** Reads the marks of a dex; returns why they could not be read, if it is worth another try. */
  async #ask(
    dex: string,
    directory = this.#options.pending.directory,
  ): Promise<string | undefined> {
    const { upstream, clock } = this.#options;
    const askedMs = clock.nowMs();
    if (askedMs - this.#unknownMs < REFUSED_MS) return undefined;
    try {
      const json = await upstream.ask({ type: QUESTION, dex }, { priority: 'upkeep' });
      this.#hasAnswered = true;
      this.#unknownMs = NEVER_MS;
      // Marks that were pushed meanwhile are newer.
      if (this.#ages.pushedMs(dex) >= askedMs) return undefined;
      return this.#takeAnswer(dex, readMetaAndAssetCtxs(json, dex, directory));
    } catch (error) {
      const isRefused = error instanceof UpstreamError && error.kind === 'refused';
      if (!isRefused) throw error;
      const isUnknown = isUnknownQuestion(error) && !this.#hasAnswered;
      if (!isUnknown) return this.#noteFailure(dex, error.message);
      this.#unknownMs = clock.nowMs();
      const about = 'marks come from the accounts that are read';
      this.#options.audit.warnOnce(`${about}: ${error.message}`, about);
      return undefined;
    }
  }

  #takeAnswer(dex: string, reading: PriceReading | DialectError): string | undefined {
    this.#accept(QUESTION, reading);
    if (reading instanceof DialectError) return this.#noteFailure(dex, reading.message);
    if (reading.areMarketsOld) return this.#noteFailure(dex, reading.skipped[0].reason);
    this.#retries.delete(dex);
    this.#failure = undefined;
    this.#ages.noteAnswered(dex, this.#options.clock.nowMs());
    return undefined;
  }

  #noteFailure(dex: string, message: string): string {
    const failures = this.#retries.get(dex)?.failures ?? 0;
    const delayMs = Math.min(RETRY_FIRST_MS * 2 ** Math.min(failures, 20), REFUSED_MS);
    const atMs = this.#options.clock.nowMs() + delayMs;
    this.#retries.set(dex, { failures: failures + 1, atMs });
    this.#failure = dex === FIRST_DEX ? message : `dex ${dex}: ${message}`;
    return this.#failure;
  }
}

/**
 * Keeps the marks current. There are three sources of marks, the best first: pushed messages,
 * answers to questions for marks, and answers about accounts. A source is used only while the
 * better sources deliver no marks.
 */

import type { UpstreamWeights } from '../../../info/upstream-weights.ts';
import { backoffMs } from '../../../timing/backoff.ts';
import type { Clock } from '../../client/limits/clock.ts';
import type { UpstreamSubscription } from '../../client/push/upstream-subscription.ts';
import type { QuestionAsker } from '../../client/question-asker.ts';
import { isUnknownQuestion, UpstreamError } from '../../client/upstream-error.ts';
import type { AccountRows } from '../../dialect/account-answer.ts';
import { DialectError } from '../../dialect/dialect.ts';
import {
  type PriceReading,
  pricesOfRows,
  readAllDexsAssetCtxs,
  readMetaAndAssetCtxs,
} from '../../dialect/mark-answers.ts';
import type { MarketDirectory } from '../../dialect/market-directory.ts';
import type { PendingChanges } from '../blocks/pending-changes.ts';
import type { FollowAudit } from '../follow-audit.ts';
import { PeriodicTask } from '../periodic-task.ts';
import { readFastFrame } from './fast-frame.ts';
import { MarkAges } from './mark-ages.ts';
import { MarkChannels } from './mark-channels.ts';
import { UnlistedCoins } from './unlisted-coins.ts';

/** The time after which a question is tried again if the upstream does not know it. */
const REFUSED_MS = 600_000;
/**
 * The delays after which a failed question about a dex is asked again. Each delay is longer than
 * the delay before, up to REFUSED_MS.
 */
const RETRY = { firstMs: 1_000, maxMs: REFUSED_MS };
const POLL_MS_MIN = 1_000;
/**
 * The interval at which to check whether to ask for marks. The follower asks when markets are known
 * and the push connection has had time to deliver marks.
 */
const WAIT_MS = 100;
/** The part of the budget that questions for marks may use. */
const POLL_SHARE = 1 / 6;
const MINUTE_MS = 60_000;
const QUESTION = 'metaAndAssetCtxs';
const FIRST_DEX = '';
const NEVER_MS = Number.NEGATIVE_INFINITY;

export interface MarkKeeperOptions {
  readonly upstream: QuestionAsker;
  /** The weight per minute. */
  readonly budget: number;
  readonly weights: UpstreamWeights;
  readonly pending: PendingChanges;
  readonly audit: FollowAudit;
  readonly clock: Clock;
  /** The dexes whose marks are needed. */
  listDexes(): readonly string[];
  /** The coins of the positions of followed accounts, by dex. */
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
  readonly #channels: MarkChannels;
  #isDropped = false;
  /**
   * When the upstream last refused the question for marks as unknown. This is set only if the
   * upstream has never answered the question.
   */
  #unknownMs = NEVER_MS;
  /** By dex: when to ask again for marks that could not be read. */
  readonly #retries = new Map<string, Retry>();
  #failure: string | undefined;
  #hasAnswered = false;
  readonly #ages = new MarkAges();
  readonly #unlisted = new UnlistedCoins();
  /** By coin: the time of the account's answer that the coin's mark was taken from. */
  readonly #answerTimes = new Map<string, number>();

  constructor(options: MarkKeeperOptions) {
    this.#options = options;
    const { clock, audit } = options;
    this.#channels = new MarkChannels(clock.nowMs());
    this.#polling = new PeriodicTask({
      clock,
      intervalMs: () => (this.#mayAsk ? this.#pollMs : WAIT_MS),
      run: () => this.#poll(),
      failed: (error) => audit.warnOnce(`marks not read: ${error.message}`),
    });
  }

  /** The age of the oldest mark that is needed; undefined before the first mark. */
  get ageMs(): number | undefined {
    const { clock, listDexes } = this.#options;
    const times = listDexes().flatMap((dex) => this.#listMarkTimes(dex));
    const known = times.filter((ms) => ms !== undefined);
    return known.length === 0 ? undefined : clock.nowMs() - Math.min(...known);
  }

  /**
   * Returns when marks of a dex were received: the marks of positions, or all marks together if
   * there is no position.
   */
  #listMarkTimes(dex: string): (number | undefined)[] {
    const coins = [...(this.#options.listCoins().get(dex) ?? [])];
    if (coins.length === 0) return [this.#ages.dexMs(dex)];
    return coins.map((coin) => this.#ages.coinMs(dex, coin));
  }

  /**
   * False if the upstream does not seem to know the question for marks. Then marks come from
   * accounts.
   */
  get isSource(): boolean {
    return this.#unknownMs === NEVER_MS;
  }

  /** The reason why the last question for marks failed; undefined if it did not fail. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /**
   * The wanted push subscription for marks; undefined if no channel is left, or if the markets are
   * not read yet. The subscription waits for the markets, because prices of unknown markets are
   * lost, and only the first message has all prices.
   */
  get subscription(): UpstreamSubscription | undefined {
    if (this.#options.pending.directory.universeOf(FIRST_DEX) === undefined) return undefined;
    const { type } = this.#channels;
    return type === undefined || this.#isDropped ? undefined : { type };
  }

  stop(): void {
    this.#polling.stop();
  }

  noteOpened(): void {
    const nowMs = this.#options.clock.nowMs();
    this.#ages.forgetPushed(nowMs);
    this.#channels.noteOpened(nowMs);
  }

  noteLost(): void {
    this.#channels.noteLost();
  }

  noteConfirmed({ type }: UpstreamSubscription): void {
    this.#channels.noteConfirmed(type);
  }

  /** Notes that the upstream has refused the subscription. */
  noteRefused({ type }: UpstreamSubscription): void {
    if (type !== this.#channels.type) return;
    this.#channels.leave(this.#options.clock.nowMs());
    this.#options.resubscribe();
  }

  /** Takes a pushed message; returns false if the message belongs to another channel. */
  take(channel: string, data: unknown): boolean {
    const { pending } = this.#options;
    if (channel !== 'fastAssetCtxs' && channel !== 'allDexsAssetCtxs') return false;
    const reading =
      channel === 'fastAssetCtxs'
        ? readFastFrame(data, pending.directory)
        : readAllDexsAssetCtxs(data, pending.directory);
    this.#accept(channel, reading);
    if (reading instanceof DialectError) this.#noteUnreadable(channel);
    else this.#noteFrame(channel, reading.prices);
    return true;
  }

  #noteFrame(channel: string, prices: PriceReading['prices']): void {
    // A frame of the previous channel may still arrive.
    if (channel !== this.#channels.type) return;
    const nowMs = this.#options.clock.nowMs();
    const isWhole = this.#channels.noteFrame(nowMs, prices.size > 0);
    if (isWhole === undefined) return;
    if (isWhole) this.#ages.forgetPushed(nowMs);
    this.#ages.notePushed(this.#dexesOf(prices), isWhole, nowMs);
  }

  /** Subscribes again, or subscribes to the next channel, because changes of marks were lost. */
  #noteUnreadable(channel: string): void {
    if (channel !== this.#channels.type) return;
    const nowMs = this.#options.clock.nowMs();
    if (!this.#channels.noteUnreadable(nowMs)) return;
    this.#ages.forgetPushed(nowMs);
    this.#isDropped = true;
    this.#options.resubscribe();
    this.#isDropped = false;
    this.#options.resubscribe();
  }

  #dexesOf(prices: PriceReading['prices']): ReadonlySet<string> {
    const { directory } = this.#options.pending;
    const markets = [...prices.keys()].map((coin) => directory.find(coin));
    const indexes = new Set(markets.flatMap((market) => market?.dexIndex ?? []));
    return new Set([...indexes].map((index) => directory.dexes[index].name));
  }

  #accept(source: string, reading: PriceReading | DialectError): void {
    const { pending, audit } = this.#options;
    if (reading instanceof DialectError) {
      audit.noteMismatch(source, reading.mismatch);
      return;
    }
    for (const { name, reason } of reading.skipped) {
      audit.warnOnce(`${source}: ${name}: ${reason}`, `${source} ${name}`);
    }
    audit.noteOdd(source, reading.odd);
    const isNewCoin = this.#unlisted.note(reading.unlisted);
    if (reading.areMarketsOld || isNewCoin) void this.#options.refreshMarkets();
    if (reading.prices.size > 0) pending.setPrices(reading.prices);
  }

  /**
   * Takes the marks of an answer about an account. They are used if no better source delivers
   * marks.
   */
  takeAccountMarks(rows: AccountRows): void {
    const { pending, clock } = this.#options;
    const nowMs = clock.nowMs();
    const receivedMs = this.#ages.dexMs(rows.dex) ?? NEVER_MS;
    const isCurrent = nowMs - receivedMs < Math.max(this.#channels.currentMs, 2 * this.#pollMs);
    const usable = [...pricesOfRows(rows)].filter(([coin]) => {
      if (!pending.hasPrice(coin)) return true;
      return !isCurrent && rows.time >= (this.#answerTimes.get(coin) ?? 0);
    });
    for (const [coin] of usable) this.#answerTimes.set(coin, rows.time);
    for (const [coin] of usable) this.#ages.noteOffered(coin, nowMs);
    pending.setPrices(new Map(usable));
  }

  /**
   * Reads all marks of new dexes, because earlier pushed marks of these dexes are lost. Without all
   * marks, the new markets would be listed in the order in which their marks change.
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
    const nowMs = this.#options.clock.nowMs();
    if (!this.#hasMarkets) this.#channels.await(nowMs);
    else if (this.#channels.switch(nowMs)) this.#options.resubscribe();
    if (!this.#mayAsk) return;
    const failures: string[] = [];
    for (const dex of this.#dexesToAsk) {
      const failure = await this.#ask(dex);
      if (failure !== undefined) failures.push(failure);
    }
    // After an error, the task tries again sooner than at the next interval.
    if (failures.length > 0) throw new Error(failures.join('; '));
  }

  get #mayAsk(): boolean {
    return this.#hasMarkets && !this.#channels.isInGrace(this.#options.clock.nowMs());
  }

  get #hasMarkets(): boolean {
    return this.#options.pending.directory.markets.length > 0;
  }

  /**
   * The dexes to ask about: dexes whose marks are needed, and dexes whose marks are not known yet.
   * Without marks, the markets of a dex cannot be listed.
   */
  get #dexesToAsk(): readonly string[] {
    const { pending, listDexes } = this.#options;
    const names = pending.directory.dexes.map(({ name }) => name);
    const isUnknown = (dex: string) => this.#ages.dexMs(dex) === undefined;
    return [...new Set([...listDexes(), ...names.filter(isUnknown)])].filter((dex) =>
      this.#isDue(dex),
    );
  }

  /**
   * Returns whether to ask for the marks of the dex now. The markets of the dex must be known:
   * marks of unknown markets would be lost.
   */
  #isDue(dex: string): boolean {
    const { pending, clock } = this.#options;
    if (!pending.directory.universeOf(dex)?.length) return false;
    const nowMs = clock.nowMs();
    if (nowMs < (this.#retries.get(dex)?.atMs ?? NEVER_MS)) return false;
    const { currentMs, isAwaited } = this.#channels;
    if (nowMs - this.#ages.pushedMs(dex) < currentMs) return false;
    // Half of the interval is enough: a timer that fires slightly early must not skip a dex.
    const oldMs = Math.max(isAwaited ? currentMs : 0, this.#pollMs / 2);
    return nowMs - (this.#ages.dexMs(dex) ?? NEVER_MS) >= oldMs;
  }

  /**
   * Reads the marks of a dex. Returns the reason of a failure if it makes sense to try again;
   * otherwise returns undefined.
   */
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
      // Marks that were pushed after the question are newer.
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
    const failures = (this.#retries.get(dex)?.failures ?? 0) + 1;
    const atMs = this.#options.clock.nowMs() + backoffMs(failures, RETRY);
    this.#retries.set(dex, { failures, atMs });
    this.#failure = dex === FIRST_DEX ? message : `dex ${dex}: ${message}`;
    return this.#failure;
  }
}

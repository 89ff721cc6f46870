/**
 * Whose trades are seen: those of a dex, from the moment on when all of its subscriptions are
 * confirmed. For what may have happened before that moment, accounts are read again.
 */

import type { Clock } from '../../client/limits/clock.ts';
import type { TradeNotice } from '../../dialect/trade-message.ts';
import type { WatchList } from '../accounts/watch-list.ts';
import type { ExchangeTime } from '../blocks/exchange-time.ts';

/** A connection may be quiet for so long, or gone, before accounts are read for what it has missed. */
const QUIET_MS_MAX = 1_000;
/** How long the first messages of a new subscription take, which repeat trades of a short while ago. */
const REPEAT_WAIT_MS = 500;
/** A first message that goes back further repeats a number of trades, not a time. */
const REPEAT_MS_MAX = 60_000;
/** A trade is published later than its time, and answers are older than they are read. */
const SLACK_MS = 1_000;

export interface TradeCoverageOptions {
  readonly watchList: WatchList;
  readonly time: ExchangeTime;
  readonly clock: Clock;
}

interface DexTrades {
  coins: readonly string[];
  /** Since when all of its subscriptions are confirmed, by our clock. */
  confirmedMs: number | undefined;
  isSeen: boolean;
  /** Until when its trades were seen, by the exchange's clock; 0 if they never were. */
  seenTime: number;
  /** Its accounts were read for what this interruption may have hidden. */
  isNoted: boolean;
}

export class TradeCoverage {
  readonly #options: TradeCoverageOptions;
  readonly #dexes = new Map<string, DexTrades>();
  /** The coins whose trades this connection brings. */
  readonly #confirmed = new Set<string>();
  /** Those of them that have brought nothing yet. */
  readonly #unheard = new Set<string>();
  /** How far back the first messages of this connection's subscriptions go. */
  #repeatMs = 0;
  /** When the connection last brought anything, by both clocks. */
  #heardMs = Number.NEGATIVE_INFINITY;
  #heardTime = 0;
  #unseenSinceMs: number | undefined;

  constructor(options: TradeCoverageOptions) {
    this.#options = options;
  }

  /** The coins of each dex whose trades are needed; none if the upstream has no trades. */
  setNeeded(needed: ReadonlyMap<string, readonly string[]>): void {
    for (const dex of this.#dexes.keys()) if (!needed.has(dex)) this.#dexes.delete(dex);
    for (const [dex, coins] of needed) {
      const known = this.#dexes.get(dex);
      if (known === undefined) this.#dexes.set(dex, { coins, ...NEVER_SEEN });
      else this.#setCoins(known, coins);
    }
    this.check();
  }

  /** Of a new market, no trade was ever seen. */
  #setCoins(trades: DexTrades, coins: readonly string[]): void {
    const known = new Set(trades.coins);
    if (coins.some((coin) => !known.has(coin))) {
      if (trades.isSeen) this.#lose(trades);
      trades.confirmedMs = undefined;
      trades.seenTime = 0;
    }
    trades.coins = coins;
  }

  noteHeard(): void {
    const { clock, time } = this.#options;
    this.#heardMs = clock.nowMs();
    this.#heardTime = time.now ?? 0;
  }

  noteConfirmed(coin: string): void {
    this.#confirmed.add(coin);
    this.#unheard.add(coin);
    this.check();
  }

  /** The first message of a subscription repeats the trades of a short while before it. */
  noteTrades(trades: readonly TradeNotice[]): void {
    const { now = 0 } = this.#options.time;
    for (const { coin, time } of trades)
      if (this.#unheard.has(coin)) this.#noteRepeated(now - time);
    for (const { coin } of trades) this.#unheard.delete(coin);
  }

  /** A trade that could not be read may be of any account. */
  noteUnreadable(): void {
    const { now = 0 } = this.#options.time;
    for (const dex of this.#dexes.keys()) this.#noteMissed(dex, now);
  }

  #noteRepeated(ageMs: number): void {
    if (ageMs <= REPEAT_MS_MAX) this.#repeatMs = Math.max(this.#repeatMs, ageMs);
  }

  /** The connection is lost, or a new one is open: it has no subscriptions. */
  noteBroken(): void {
    this.#confirmed.clear();
    this.#unheard.clear();
    this.#repeatMs = 0;
    this.check();
  }

  /** How long trades of some dex have not been seen; 0 if all are. */
  get unseenMs(): number {
    const sinceMs = this.#unseenSinceMs;
    return sinceMs === undefined ? 0 : this.#options.clock.nowMs() - sinceMs;
  }

  /** Called again and again: some of it is a matter of time. */
  check(): void {
    const { watchList, clock, time } = this.#options;
    if (!time.isKnown) return;
    const unseen = new Set<string>();
    for (const [dex, trades] of this.#dexes) {
      this.#checkDex(dex, trades);
      if (trades.confirmedMs === undefined) unseen.add(dex);
    }
    watchList.setUnseenDexes(unseen);
    if (unseen.size === 0) this.#unseenSinceMs = undefined;
    else this.#unseenSinceMs ??= Math.min(this.#heardMs, clock.nowMs());
  }

  #checkDex(dex: string, trades: DexTrades): void {
    const nowMs = this.#options.clock.nowMs();
    const isConfirmed = trades.coins.every((coin) => this.#confirmed.has(coin));
    if (!isConfirmed) {
      trades.confirmedMs = undefined;
      if (trades.isSeen) this.#lose(trades);
      if (!trades.isNoted && nowMs - this.#heardMs > QUIET_MS_MAX)
        this.#noteInterruption(dex, trades);
      return;
    }
    trades.confirmedMs ??= nowMs;
    if (!trades.isSeen && nowMs - trades.confirmedMs >= REPEAT_WAIT_MS) this.#restore(dex, trades);
  }

  #lose(trades: DexTrades): void {
    trades.isSeen = false;
    trades.isNoted = false;
    trades.seenTime = this.#heardTime - SLACK_MS;
  }

  /** Accounts are read at once, and again when their trades are seen. */
  #noteInterruption(dex: string, trades: DexTrades): void {
    trades.isNoted = true;
    this.#noteMissed(dex, this.#options.time.now ?? 0);
  }

  /** What the connection has repeated closes a short gap; for a longer one accounts are read. */
  #restore(dex: string, trades: DexTrades): void {
    trades.isSeen = true;
    const { now = 0 } = this.#options.time;
    const sinceMs = this.#options.clock.nowMs() - (trades.confirmedMs ?? 0);
    const reachTime = this.#repeatMs > sinceMs + SLACK_MS ? now - this.#repeatMs : now;
    if (trades.seenTime === 0 || trades.seenTime < reachTime) this.#noteMissed(dex, reachTime);
  }

  #noteMissed(dex: string, time: number): void {
    const { watchList, clock } = this.#options;
    watchList.noteMissed(dex, time, clock.nowMs());
  }
}

const NEVER_SEEN = {
  confirmedMs: undefined,
  isSeen: false,
  seenTime: 0,
  isNoted: true,
};

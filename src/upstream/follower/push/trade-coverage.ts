/**
 * Knows for which accounts all trades are received: the accounts of a dex, as soon as all
 * subscriptions of the dex are confirmed. For trades that may have happened before, accounts are
 * read again.
 */

import type { Clock } from '../../client/limits/clock.ts';
import type { TradeNotice } from '../../dialect/trade-message.ts';
import type { WatchList } from '../accounts/watch-list.ts';
import type { ExchangeTime } from '../blocks/exchange-time.ts';

/**
 * If a connection is quiet or lost for longer than this, accounts are read for the trades that it
 * may have missed.
 */
const QUIET_MS_MAX = 1_000;
/** How long the first messages of a new subscription may take. They repeat recent trades. */
const REPEAT_WAIT_MS = 500;
/**
 * If a first message goes back further than this, it repeats a fixed number of trades, not a period
 * of time: then it says nothing about other coins.
 */
const REPEAT_MS_MAX = 60_000;
/**
 * Safety margin: a trade is published after its time, and an answer is older than the moment of its
 * arrival.
 */
const SLACK_MS = 1_000;

export interface TradeCoverageOptions {
  readonly watchList: WatchList;
  readonly time: ExchangeTime;
  readonly clock: Clock;
}

/** What the first message of a subscription has repeated. */
interface Repeated {
  readonly count: number;
  /** The time of its oldest trade. */
  readonly oldest: number;
}

interface DexTrades {
  coins: readonly string[];
  /** Since when all subscriptions of the dex are confirmed, by our clock. */
  confirmedMs: number | undefined;
  isSeen: boolean;
  /** Until when trades of the dex were received, by the exchange's clock; 0 if never. */
  seenTime: number;
  /** True if accounts of the dex are already marked to be read because of this interruption. */
  isNoted: boolean;
}

export class TradeCoverage {
  readonly #options: TradeCoverageOptions;
  readonly #dexes = new Map<string, DexTrades>();
  /** The coins whose trades this connection delivers. */
  readonly #confirmed = new Set<string>();
  /** The confirmed coins without a message yet. */
  readonly #unheard = new Set<string>();
  /** By coin: the first message of this connection's subscription. */
  readonly #repeated = new Map<string, Repeated>();
  /** When the connection last delivered a message, by both clocks. */
  #heardMs = Number.NEGATIVE_INFINITY;
  #heardTime = 0;
  #unseenSinceMs: number | undefined;

  constructor(options: TradeCoverageOptions) {
    this.#options = options;
  }

  /** Sets the coins of each dex whose trades are needed; empty if the upstream has no trades. */
  setNeeded(needed: ReadonlyMap<string, readonly string[]>): void {
    for (const dex of this.#dexes.keys()) if (!needed.has(dex)) this.#dexes.delete(dex);
    for (const [dex, coins] of needed) {
      const known = this.#dexes.get(dex);
      if (known === undefined) this.#dexes.set(dex, { coins, ...NEVER_SEEN });
      else this.#setCoins(known, coins);
    }
    this.check();
  }

  /**
   * If a coin is new, trades of the dex are no longer completely received, since no trade of the
   * new market was.
   */
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

  /** The first message of a subscription repeats recent trades. */
  noteTrades(trades: readonly TradeNotice[]): void {
    for (const { coin, time } of trades) {
      if (!this.#unheard.has(coin)) continue;
      const { count, oldest } = this.#repeated.get(coin) ?? { count: 0, oldest: time };
      this.#repeated.set(coin, { count: count + 1, oldest: Math.min(oldest, time) });
    }
    for (const { coin } of trades) this.#unheard.delete(coin);
  }

  /** A trade that could not be read may belong to any account. */
  noteUnreadable(): void {
    const { now = 0 } = this.#options.time;
    for (const dex of this.#dexes.keys()) this.#noteMissed(dex, now);
  }

  /** The connection is lost, or a new one is open: it has no subscriptions. */
  noteBroken(): void {
    this.#confirmed.clear();
    this.#unheard.clear();
    this.#repeated.clear();
    this.check();
  }

  /** For how long trades of at least one dex have not been received; 0 if all are received. */
  get unseenMs(): number {
    const sinceMs = this.#unseenSinceMs;
    return sinceMs === undefined ? 0 : this.#options.clock.nowMs() - sinceMs;
  }

  /** Called repeatedly: some changes depend only on time. */
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

  /** Accounts are read at once, and again when trades are received again. */
  #noteInterruption(dex: string, trades: DexTrades): void {
    trades.isNoted = true;
    this.#noteMissed(dex, this.#options.time.now ?? 0);
  }

  /**
   * The trades that the connection repeats close a short gap. For a longer gap, accounts are read.
   */
  #restore(dex: string, trades: DexTrades): void {
    trades.isSeen = true;
    const { now = 0 } = this.#options.time;
    const reachTime = this.#findReach(trades, now);
    if (trades.seenTime === 0 || trades.seenTime < reachTime) this.#noteMissed(dex, reachTime);
  }

  /** From when on all trades of the dex were received, since the connection has repeated them. */
  #findReach({ coins, confirmedMs = 0 }: DexTrades, now: number): number {
    const all = [...this.#repeated.values()];
    const countMax = Math.max(...all.map(({ count }) => count));
    const recent = all.filter(({ oldest }) => now - oldest <= REPEAT_MS_MAX);
    const period = Math.min(...recent.map(({ oldest }) => oldest), now);
    // An exchange repeats a period of time, or a number of trades of each coin. Either way, only
    // the coins with most trades may have had more of them than were repeated.
    const reaches = coins.map((coin) => {
      const repeated = this.#repeated.get(coin);
      return repeated?.count === countMax ? repeated.oldest : period;
    });
    const reach = Math.max(...reaches);
    // Newer trades may have been sent as they happened, and repeat nothing.
    const confirmedTime = now - (this.#options.clock.nowMs() - confirmedMs);
    return reach < confirmedTime - SLACK_MS ? reach : now;
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

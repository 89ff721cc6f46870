/**
 * Knows on which dexes all trades are received. This is the case when all subscriptions of the dex
 * are confirmed. Because trades may have been missed before, the accounts of the dex are then read
 * again.
 */

import type { Clock } from '../../client/limits/clock.ts';
import type { TradeNotice } from '../../dialect/trade-message.ts';
import type { WatchList } from '../accounts/watch-list.ts';
import type { ExchangeTime } from '../blocks/exchange-time.ts';

/**
 * If a connection is quiet or lost for longer than this, accounts are read for the trades that may
 * have been missed.
 */
const QUIET_MS_MAX = 1_000;
/**
 * The time in which the first messages of new subscriptions should arrive. These messages repeat
 * recent trades.
 */
const REPEAT_WAIT_MS = 500;
/**
 * If a first message goes back further than this, it repeats a fixed number of trades instead of a
 * period of time. Then the message says nothing about other coins.
 */
const REPEAT_MS_MAX = 60_000;
/**
 * A safety margin: a trade is published after its time, and an answer is older than the time of its
 * arrival.
 */
const SLACK_MS = 1_000;

export interface TradeCoverageOptions {
  readonly watchList: WatchList;
  readonly time: ExchangeTime;
  readonly clock: Clock;
}

/**
 * The number of trades that the first message of a subscription has repeated, and their oldest
 * time.
 */
interface Repeated {
  readonly count: number;
  /** The time of the oldest of these trades. */
  readonly oldest: number;
}

interface DexTrades {
  coins: readonly string[];
  /**
   * Since when all subscriptions of the dex are confirmed, by our clock; undefined if they are not.
   */
  confirmedMs: number | undefined;
  isSeen: boolean;
  /**
   * The time up to which trades of the dex were received, by the exchange's clock; 0 if they were
   * never received.
   */
  seenTime: number;
  /** True if accounts of the dex are already marked to be read because of this interruption. */
  isNoted: boolean;
}

export class TradeCoverage {
  readonly #options: TradeCoverageOptions;
  readonly #dexes = new Map<string, DexTrades>();
  /** The coins whose trades this connection delivers. */
  readonly #confirmed = new Set<string>();
  /** The confirmed coins whose trades have not arrived yet. */
  readonly #unheard = new Set<string>();
  /** By coin: the trades in the first message of the subscription on this connection. */
  readonly #repeated = new Map<string, Repeated>();
  /** When the connection last delivered a message, by our clock and by the exchange's clock. */
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
   * Replaces the coins of a dex. If a coin is new, no trade of its market was received, so the
   * trades of the dex are no longer complete.
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

  /** Notes trades. The first message of a subscription repeats recent trades. */
  noteTrades(trades: readonly TradeNotice[]): void {
    for (const { coin, time } of trades) {
      if (!this.#unheard.has(coin)) continue;
      const { count, oldest } = this.#repeated.get(coin) ?? { count: 0, oldest: time };
      this.#repeated.set(coin, { count: count + 1, oldest: Math.min(oldest, time) });
    }
    for (const { coin } of trades) this.#unheard.delete(coin);
  }

  /** Notes a trade that could not be read, which may belong to any account. */
  noteUnreadable(): void {
    const { now = 0 } = this.#options.time;
    for (const dex of this.#dexes.keys()) this.#noteMissed(dex, now);
  }

  /** Notes that the connection is lost, or that a new connection without subscriptions is open. */
  noteBroken(): void {
    this.#confirmed.clear();
    this.#unheard.clear();
    this.#repeated.clear();
    this.check();
  }

  /**
   * The time for which trades of at least one dex have not been received; 0 if all are received.
   */
  get unseenMs(): number {
    const sinceMs = this.#unseenSinceMs;
    return sinceMs === undefined ? 0 : this.#options.clock.nowMs() - sinceMs;
  }

  /** Updates what changes only with time. To be called repeatedly. */
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

  /** Marks accounts to be read at once. They are marked again when trades are received again. */
  #noteInterruption(dex: string, trades: DexTrades): void {
    trades.isNoted = true;
    this.#noteMissed(dex, this.#options.time.now ?? 0);
  }

  /**
   * Notes that trades are received again. Repeated trades can close a short gap; after a longer
   * gap, accounts are read.
   */
  #restore(dex: string, trades: DexTrades): void {
    trades.isSeen = true;
    const { now = 0 } = this.#options.time;
    const reachTime = this.#findReach(trades, now);
    if (trades.seenTime === 0 || trades.seenTime < reachTime) this.#noteMissed(dex, reachTime);
  }

  /**
   * Returns the time from which on all trades of the dex were received, because the connection has
   * repeated them.
   */
  #findReach({ coins, confirmedMs = 0 }: DexTrades, now: number): number {
    const all = [...this.#repeated.values()];
    const countMax = Math.max(...all.map(({ count }) => count));
    const recent = all.filter(({ oldest }) => now - oldest <= REPEAT_MS_MAX);
    const period = Math.min(...recent.map(({ oldest }) => oldest), now);
    // An exchange repeats either a period of time, or a number of trades of each coin. In both
    // cases, only the coins with the most repeated trades may have had more trades than were
    // repeated.
    const reaches = coins.map((coin) => {
      const repeated = this.#repeated.get(coin);
      return repeated?.count === countMax ? repeated.oldest : period;
    });
    const reach = Math.max(...reaches);
    // Trades that are newer than the confirmation may be new trades, and not repeated trades.
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

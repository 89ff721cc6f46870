/** The messages of a subscription: the first messages, and the messages after each block. */

import { deflateRawSync } from 'node:zlib';
import type { DialectAnswers, Json, Question } from './dialect-answers.ts';
import { SPOT_COINS, SPOT_PX } from './dialect-markets.ts';
import type { BlockNews, Exchange } from './exchange.ts';
import type { Trade } from './exchange-trades.ts';

export const SUBSCRIPTION_TYPES: readonly string[] = [
  'fastAssetCtxs',
  'allDexsAssetCtxs',
  'trades',
  'clearinghouseState',
  'allDexsClearinghouseState',
];

export const USER_TYPES: readonly unknown[] = ['clearinghouseState', 'allDexsClearinghouseState'];

/** A position with size 0, which pushed states may contain. */
const NO_POSITION = {
  szi: '0.0',
  leverage: { type: 'cross', value: 3 },
  entryPx: null,
  positionValue: '0.0',
  unrealizedPnl: '0.0',
  returnOnEquity: '0.0',
  liquidationPx: null,
  marginUsed: '0.0',
  maxLeverage: 3,
  cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
};

/** The intervals of prices and of contexts, in milliseconds of the exchange. */
const FAST_MS = 1_000;
const CONTEXTS_MS = 13_600;
/** The first message of a subscription to trades repeats the trades of this time. */
const RECENT_MS = 20_000;

export class PushMessages {
  readonly #exchange: Exchange;
  readonly #answers: DialectAnswers;
  /** The messages that are now due to all subscribers. */
  #fast: Json;
  #contexts: Json;
  #fastMs = Number.NEGATIVE_INFINITY;
  #contextsMs = Number.NEGATIVE_INFINITY;
  /** Coins whose mark has changed since the last frame. */
  readonly #changed = new Set<string>();
  #recent: readonly Trade[] = [];
  #frames = 0;

  constructor(exchange: Exchange, answers: DialectAnswers) {
    this.#exchange = exchange;
    this.#answers = answers;
  }

  /** Adds a block. The messages that were made for the last block are dropped. */
  block({ time, trades, changedMarks }: BlockNews): void {
    for (const coin of changedMarks) this.#changed.add(coin);
    this.#recent = [...this.#recent, ...trades].filter((trade) => trade.time > time - RECENT_MS);
    this.tick(time);
  }

  /**
   * Makes the messages with prices that are due. Prices are sent by the clock, even without new
   * blocks.
   */
  tick(timeMs: number): void {
    this.#fast = undefined;
    this.#contexts = undefined;
    if (timeMs - this.#fastMs >= FAST_MS) {
      this.#fastMs = timeMs;
      this.#fast = this.#frame(this.#changed);
      this.#changed.clear();
    }
    if (timeMs - this.#contextsMs < CONTEXTS_MS) return;
    this.#contextsMs = timeMs;
    this.#contexts = this.#allContexts();
  }

  first(subscription: Question): Json | undefined {
    switch (subscription.type) {
      case 'fastAssetCtxs':
        return this.#frame(undefined);
      case 'allDexsAssetCtxs':
        return this.#allContexts();
      case 'trades':
        return tradesOf(subscription, this.#recent);
      default:
        return this.#account(subscription);
    }
  }

  next(subscription: Question, { trades }: BlockNews): Json | undefined {
    const { type } = subscription;
    if (type === 'trades') return tradesOf(subscription, trades);
    return USER_TYPES.includes(type) ? this.#account(subscription) : this.due(subscription);
  }

  /**
   * Returns the message that is due for a subscription to prices; returns undefined for other
   * subscriptions.
   */
  due({ type }: Question): Json | undefined {
    if (type === 'fastAssetCtxs') return this.#fast;
    return type === 'allDexsAssetCtxs' ? this.#contexts : undefined;
  }

  #account(subscription: Question): Json {
    const { type: channel } = subscription;
    const user = String(subscription['user']).toLowerCase();
    if (channel === 'clearinghouseState') {
      const dex = String(subscription['dex'] ?? '');
      return { channel, data: { dex, user, clearinghouseState: this.#state(user, dex) } };
    }
    const { dexes } = this.#exchange.state.markets;
    const states = dexes.map(({ name }) => [name, this.#state(user, name)]);
    return { channel, data: { user, clearinghouseStates: states } };
  }

  /**
   * Returns the prices of all coins, or of the coins that have changed. Spot prices change all the
   * time.
   */
  #frame(coins: ReadonlySet<string> | undefined): Json {
    const prices = this.#answers.markets.prices(this.#exchange.state, coins);
    this.#frames++;
    for (const coin of SPOT_COINS) {
      const markPx = `${SPOT_PX}${this.#frames % 10}`;
      prices[coin] = coins === undefined ? { markPx, midPx: markPx } : { markPx };
    }
    return { channel: 'fastAssetCtxs', data: deflate(prices) };
  }

  #allContexts(): Json {
    const { state } = this.#exchange;
    const { markets } = this.#answers;
    const ctxs = markets.dexNames(state).map((dex) => [dex, markets.contexts(state, dex)]);
    return { channel: 'allDexsAssetCtxs', data: { ctxs } };
  }

  #state(user: string, dex: string): Json {
    const { state } = this.#exchange;
    const account = this.#answers.account(state, { type: 'clearinghouseState', user, dex });
    const held = account.assetPositions.map(({ position }: Json) => position.coin);
    const dexIndex = state.markets.findDex(dex);
    const other = state.markets.markets.find(
      (market) => market.dexIndex === dexIndex && !held.includes(market.coin),
    );
    if (other !== undefined) {
      account.assetPositions.push({
        type: 'oneWay',
        position: { coin: other.coin, ...NO_POSITION },
      });
    }
    return account;
  }
}

function tradesOf({ coin: wanted }: Json, trades: readonly Trade[]): Json | undefined {
  const data = trades.filter(({ coin }) => coin === wanted);
  return data.length === 0 ? undefined : { channel: 'trades', data };
}

/** Returns the prices as text: base64 of raw DEFLATE. */
export function deflate(prices: Json): string {
  return deflateRawSync(JSON.stringify(prices)).toString('base64');
}

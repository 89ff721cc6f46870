/** The messages of a subscription: what it brings at first, and after each block. */

import { answerQuestion } from '../../src/info/registry.ts';
import type { DialectAnswers, Json, Question } from './dialect-answers.ts';
import type { BlockNews, Exchange } from './exchange.ts';

export const SUBSCRIPTION_TYPES: readonly string[] = [
  'fastAssetCtxs',
  'allDexsAssetCtxs',
  'trades',
  'clearinghouseState',
  'allDexsClearinghouseState',
];

/** A position of no size, as pushed states may list one. */
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

export class PushMessages {
  readonly #exchange: Exchange;
  readonly #answers: DialectAnswers;
  /** Of the last block, for all subscribers. */
  #fast: Json;
  #contexts: Json;

  constructor(exchange: Exchange, answers: DialectAnswers) {
    this.#exchange = exchange;
    this.#answers = answers;
  }

  /** A new block: what was made for the last one is old. */
  block({ changedMarks }: BlockNews): void {
    this.#contexts = undefined;
    this.#fast = changedMarks.size === 0 ? undefined : this.#fastContexts(changedMarks);
  }

  first(subscription: Question): Json | undefined {
    switch (subscription.type) {
      case 'fastAssetCtxs':
        return this.#fastContexts(undefined);
      case 'trades':
        return undefined;
      default:
        return this.#current(subscription);
    }
  }

  next(subscription: Question, { trades }: BlockNews): Json | undefined {
    if (subscription.type === 'fastAssetCtxs') return this.#fast;
    if (subscription.type !== 'trades') return this.#current(subscription);
    const data = trades.filter(({ coin }) => coin === subscription['coin']);
    return data.length === 0 ? undefined : { channel: 'trades', data };
  }

  #current(subscription: Question): Json {
    const { type: channel } = subscription;
    if (channel === 'allDexsAssetCtxs') {
      this.#contexts ??= { channel, data: this.#allContexts() };
      return this.#contexts;
    }
    const user = String(subscription['user']).toLowerCase();
    if (channel === 'clearinghouseState') {
      const dex = String(subscription['dex'] ?? '');
      return { channel, data: { dex, user, clearinghouseState: this.#account(user, dex) } };
    }
    const { dexes } = this.#exchange.state.markets;
    const states = dexes.map(({ name }) => [name, this.#account(user, name)]);
    return { channel, data: { user, clearinghouseStates: states } };
  }

  #fastContexts(coins: ReadonlySet<string> | undefined): Json {
    const { state } = this.#exchange;
    const data: Json = {};
    for (const { name: dex } of state.markets.dexes) {
      const prices = JSON.parse(answerQuestion(state, { type: 'allMids', dex }));
      for (const [coin, px] of Object.entries(prices)) {
        if (coins === undefined || coins.has(coin)) data[coin] = { markPx: px, midPx: px };
      }
    }
    return { channel: 'fastAssetCtxs', data };
  }

  #allContexts(): Json {
    const { state } = this.#exchange;
    const ctxs = state.markets.dexes.map(({ name }) => [name, this.#answers.contexts(state, name)]);
    return { ctxs };
  }

  #account(user: string, dex: string): Json {
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

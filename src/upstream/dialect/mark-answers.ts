/**
 * Reads mark prices from asset contexts, which the upstream sends in answers and in pushed
 * messages.
 */

import { isJsonObject } from '../../events/fields.ts';
import { describeValue, Refusal } from '../../events/refusal.ts';
import { DecimalError, formatUnits } from '../../exact/decimal.ts';
import type { Market } from '../../state/markets/markets.ts';
import type { StateView } from '../../state/state.ts';
import type { AccountRows } from './account-answer.ts';
import { DialectError, readAnswer } from './dialect.ts';
import { readMetaFields } from './market-answers.ts';
import type { MarketDirectory, SkippedListing } from './market-directory.ts';
import { readStoredAmount } from './printed-amounts.ts';

/** Prices by coin, in the smallest unit of the market's prices. */
export type Prices = ReadonlyMap<string, number>;

export interface PriceReading {
  readonly prices: Prices;
  /**
   * Prices that our events cannot describe, and dexes with another number of contexts than of
   * markets.
   */
  readonly skipped: readonly SkippedListing[];
  /**
   * Elements that are not the contexts of a dex. They do not prevent the other dexes from being
   * read.
   */
  readonly odd: readonly DialectError[];
  /**
   * True if the number of contexts of a dex shows that our list of the dex's markets is out of
   * date.
   */
  readonly areMarketsOld: boolean;
  /**
   * Coins that are in none of the lists of markets that were read, for example coins of new
   * markets.
   */
  readonly unlisted: readonly string[];
}

/**
 * Reads `fastAssetCtxs`: {coin: {markPx?, midPx?}}. A coin without a market is ignored; it is
 * reported as unlisted unless it is a spot pair or an outcome.
 */
export function readFastAssetCtxs(
  data: unknown,
  directory: MarketDirectory,
): PriceReading | DialectError {
  return readAnswer(() => {
    if (!isJsonObject(data)) throw new Refusal('', data, 'an object of coins and contexts');
    const collected = new PriceCollector();
    for (const [coin, context] of Object.entries(data)) {
      collected.add(directory.find(coin), context);
      if (!NO_PERP.test(coin) && !directory.isListed(coin)) collected.unlisted.push(coin);
    }
    return collected;
  });
}

/** The coins of spot pairs and of outcomes. */
const NO_PERP = /^[@#]/;

/**
 * Reads `allDexsAssetCtxs`: {ctxs: [[dex, [context, ...]], ...]}. The contexts of a dex are in the
 * order of the dex's meta.
 */
export function readAllDexsAssetCtxs(
  data: unknown,
  directory: MarketDirectory,
): PriceReading | DialectError {
  return readAnswer(() => {
    const pairs = isJsonObject(data) ? data['ctxs'] : undefined;
    if (!Array.isArray(pairs)) throw new Refusal('ctxs', pairs, 'an array of dexes and contexts');
    const collected = new PriceCollector();
    for (const [index, pair] of pairs.entries()) {
      const read = readAnswer(() => readDexContexts(pair, index));
      if (read instanceof DialectError) {
        collected.odd.push(read);
        continue;
      }
      const [dex, contexts] = read;
      if (directory.findDex(dex) === undefined) continue;
      collected.addInOrder({ dex, universe: directory.universeOf(dex), directory, contexts });
    }
    return collected;
  });
}

function readDexContexts(pair: unknown, index: number): [string, readonly unknown[]] {
  const [dex, contexts] = Array.isArray(pair) ? pair : [];
  if (typeof dex === 'string' && Array.isArray(contexts)) return [dex, contexts];
  throw new Refusal(`ctxs[${index}]`, pair, 'a pair of a dex and its contexts');
}

/** Reads `metaAndAssetCtxs`: the contexts are in the order of the meta in the same answer. */
export function readMetaAndAssetCtxs(
  json: unknown,
  dex: string,
  directory: MarketDirectory,
): PriceReading | DialectError {
  return readAnswer(() => {
    const [meta, contexts] = splitContexts(json);
    const universe = readMetaFields(meta).universe.map((market) => market?.name);
    const collected = new PriceCollector();
    collected.addInOrder({ dex, universe, directory, contexts });
    return collected;
  });
}

function splitContexts(json: unknown): [unknown, readonly unknown[]] {
  const [meta, contexts] = Array.isArray(json) ? json : [];
  if (Array.isArray(contexts)) return [meta, contexts];
  throw new Refusal('', json, 'a pair of meta and contexts');
}

/** Returns the mark prices that an account's answer was computed with. */
export function pricesOfRows({ positions }: AccountRows): Prices {
  return new Map(positions.map(({ market, markPrice }) => [market.coin, markPrice]));
}

interface OrderedContexts {
  readonly dex: string;
  /** The coins of the dex; undefined if the dex's meta was never read. */
  readonly universe: readonly (string | undefined)[] | undefined;
  readonly directory: MarketDirectory;
  readonly contexts: readonly unknown[];
}

class PriceCollector implements PriceReading {
  readonly prices = new Map<string, number>();
  readonly skipped: SkippedListing[] = [];
  readonly odd: DialectError[] = [];
  readonly unlisted: string[] = [];
  areMarketsOld = false;

  /**
   * Adds the prices of contexts in the order of the dex's markets, because contexts have no names.
   * If there are more or fewer contexts than markets, the list of markets is out of date, and no
   * context can be assigned to a market.
   */
  addInOrder({ dex, universe, directory, contexts }: OrderedContexts): void {
    if (universe === undefined || universe.length !== contexts.length) {
      const markets = universe === undefined ? 'unread markets' : `${universe.length} markets`;
      const reason = `ctxs: got ${contexts.length} contexts for ${markets}`;
      this.skipped.push({ name: `dex ${describeValue(dex)}`, reason });
      this.areMarketsOld = true;
      return;
    }
    for (const [index, coin] of universe.entries()) {
      if (coin !== undefined) this.add(directory.find(coin), contexts[index]);
    }
  }

  /** Adds the price of a context. A context without a mark price is ignored. */
  add(market: Market | undefined, context: unknown): void {
    const text = isJsonObject(context) ? context['markPx'] : undefined;
    if (market === undefined || text === undefined || text === null) return;
    const { coin, priceDecimals } = market;
    const price = parsePrice(text, priceDecimals);
    if (typeof price === 'number') this.prices.set(coin, price);
    else {
      const reason = `markPx: got ${describeValue(text)}, expected ${price.expected}`;
      this.skipped.push({ name: coin, reason });
    }
  }
}

function parsePrice(text: unknown, decimals: number): number | DecimalError {
  if (typeof text !== 'string') return new DecimalError('a decimal as text');
  try {
    const price = readStoredAmount(text, decimals);
    return price > 0 ? price : new DecimalError('a price above 0');
  } catch (error) {
    if (error instanceof DecimalError) return error;
    throw error;
  }
}

/**
 * Returns the prices that differ from the ledger's prices, in the form of the `marks` event;
 * returns undefined if no price differs.
 */
export function findChangedPrices(
  ledger: StateView,
  prices: Prices,
): Record<string, string> | undefined {
  const changed: [string, string][] = [];
  for (const [coin, price] of prices) {
    const index = ledger.markets.findMarket(coin);
    if (index === undefined || ledger.markets.markPrice(index) === price) continue;
    changed.push([coin, formatUnits(price, ledger.markets.markets[index].priceDecimals)]);
  }
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

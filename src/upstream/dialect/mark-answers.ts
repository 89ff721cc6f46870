/** Reads mark prices from the asset contexts that the upstream answers or pushes. */

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

/** By coin, in the smallest unit of the market's prices. */
export type Prices = ReadonlyMap<string, number>;

export interface PriceReading {
  readonly prices: Prices;
  /** Prices that our events cannot describe, and dexes whose contexts do not fit their markets. */
  readonly skipped: readonly SkippedListing[];
  /** Elements that are not the contexts of a dex. The other dexes are read. */
  readonly odd: readonly DialectError[];
  /** True if the markets of a dex are not those that were read. */
  readonly areMarketsOld: boolean;
  /** Coins that are in no list of markets that was read, for example coins of new markets. */
  readonly unlisted: readonly string[];
}

/**
 * `fastAssetCtxs`: {coin: {markPx?, midPx?}}. Unlisted coins are ignored without a message: spot
 * pairs are among them.
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

/** Spot pairs and outcomes. */
const NO_PERP = /^[@#]/;

/** `allDexsAssetCtxs`: {ctxs: [[dex, [context, ...]], ...]}, each in the order of the dex's meta. */
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

/** `metaAndAssetCtxs`: the contexts are in the order of the meta that comes with them. */
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

/** The marks that an account's answer was computed with. */
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
   * Contexts have no names. If their number differs from the number of markets, the list of markets
   * is old, and any assignment would be a guess.
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
 * The prices that differ from the ledger's, in the form of the `marks` event; undefined if no price
 * differs.
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

/**
 * The markets as the exchange lists them. The exchange has more markets than the ledger of the
 * truth: delisted markets, which stay at their place in the list, and dexes without trading. Margin
 * tables have numbers. Markets of a dex share these numbers, and on another dex the same number is
 * another table.
 */

import { formatUnits } from '../../src/exact/decimal.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import type { Market } from '../../src/state/markets/markets.ts';
import type { StateView } from '../../src/state/state.ts';
import { addLatePrice, changeContexts, changeUniverse, LATE_COIN } from './other-lists.ts';
import { addStrangeContext, addStrangeListing, STRANGE_COIN } from './strange-coin.ts';

type Json = ReturnType<typeof JSON.parse>;

interface Delisted {
  readonly name: string;
  /** The index in the universe. */
  readonly place: number;
  readonly szDecimals: number;
  readonly maxLeverage: number;
  readonly markPx: string;
  readonly marginMode?: string;
}

/** The delisted markets by dex, in the order of their indexes. */
const DELISTED: Readonly<Record<string, readonly Delisted[]>> = {
  '': [
    { name: 'MATIC', place: 3, szDecimals: 1, maxLeverage: 20, markPx: '0.37624' },
    {
      ...{ name: 'HPOS', place: 20, szDecimals: 0, maxLeverage: 3, markPx: '0.061' },
      marginMode: 'strictIsolated',
    },
  ],
  abc: [{ name: 'abc:ZINC', place: 1, szDecimals: 1, maxLeverage: 5, markPx: '1.2085' }],
  idx: [
    {
      ...{ name: 'idx:H100', place: 0, szDecimals: 4, maxLeverage: 10, markPx: '2.56' },
      marginMode: 'noCross',
    },
  ],
  hist: [{ name: 'hist:TULIP', place: 0, szDecimals: 2, maxLeverage: 3, markPx: '55.1' }],
  fiat: [{ name: 'fiat:EUR', place: 0, szDecimals: 1, maxLeverage: 50, markPx: '1.0812' }],
};

/** Dexes that are not in the ledger of the truth. They come after its dexes. */
const FURTHER_DEXES = [
  { name: 'hist', fullName: 'History', deployer: '0x1111111111111111111111111111111111111111' },
  { name: 'fiat', fullName: 'Fiat', deployer: '0x2222222222222222222222222222222222222222' },
];

/** The collateral token of each dex: USDC, which two dexes share, USDH, USDE and USDT0. */
const TOKENS: Readonly<Record<string, number>> = { '': 0, abc: 360, idx: 0, hist: 235, fiat: 268 };

/** The fields that a deployer can set, as recorded. */
const DEPLOYED_FIELDS = {
  lastFeeScaleChangeTime: '2026-04-01T00:26:44.097068325',
  deployerFeeScale: '1.0',
};

/**
 * The number of the first margin table, which each dex has, used or not. A table with a lower
 * number has one tier.
 */
const FIRST_TABLE = 50;
const FIRST_TABLE_TIERS = [{ lowerBound: '0.0', maxLeverage: FIRST_TABLE }];

/**
 * The coins of a spot pair and of an outcome. The frames of prices contain them together with the
 * coins of perps.
 */
export const SPOT_COINS: readonly string[] = ['@107', '#14880'];

export const SPOT_PX = '92.949';

export class DialectMarkets {
  /**
   * The numbers of tables, by dex and by the tiers as JSON. A number stays reserved when its table
   * is no longer used.
   */
  readonly #tables = new Map<string, Map<string, number>>();
  /** True to list a coin whose name the ledger does not allow. */
  hasStrangeCoin = false;
  /** True to list other markets, in another order, and one dex less. */
  hasOtherLists = false;

  /** Returns the names of all dexes, in their order. */
  dexNames({ markets }: StateView): string[] {
    return [...markets.dexes, ...this.#furtherDexes].map(({ name }) => name);
  }

  get #furtherDexes(): typeof FURTHER_DEXES {
    return this.hasOtherLists ? FURTHER_DEXES.slice(0, -1) : FURTHER_DEXES;
  }

  tokenOf(dex: string): number {
    return TOKENS[dex];
  }

  perpDexs(state: StateView): Json[] {
    const dexes = JSON.parse(answerQuestion(state, { type: 'perpDexs' }));
    const [, form] = dexes;
    const further = this.#furtherDexes.map((dex) => ({ ...form, ...dex }));
    return addOdd([...dexes, ...further]);
  }

  allPerpMetas(state: StateView): Json[] {
    return addOdd(this.dexNames(state).map((dex) => this.meta(state, dex)));
  }

  /** Returns the markets of a dex. A dex whose markets are all delisted has no margin tables. */
  meta(state: StateView, dex: string): Json {
    const markets = marketsOf(state, dex);
    const universe = markets.map((market) => this.#describe(market, dex));
    insert(dex, universe, (delisted) => describeDelisted(delisted, dex));
    if (this.hasStrangeCoin && dex === '') addStrangeListing(universe);
    if (this.hasOtherLists && dex === '') changeUniverse(universe);
    const collateralToken = this.tokenOf(dex);
    if (markets.length === 0) return { universe, collateralToken };
    return { universe, marginTables: this.#listTables(dex), collateralToken };
  }

  /**
   * Describes a market. The members are in the exchange's order; members that do not apply are left
   * out.
   */
  #describe({ coin, sizeDecimals, tiers, onlyIsolated }: Market, dex: string): Json {
    const isDeployed = dex !== '';
    const given = tiers.map(({ lowerBound, maxLeverage }) => ({
      lowerBound: formatUnits(lowerBound, 6),
      maxLeverage,
    }));
    return {
      szDecimals: sizeDecimals,
      name: coin,
      maxLeverage: tiers[0].maxLeverage,
      marginTableId: this.#numberOf(dex, given),
      onlyIsolated: onlyIsolated || undefined,
      marginMode: onlyIsolated ? modeOf(dex) : undefined,
      growthMode: isDeployed && onlyIsolated ? 'enabled' : undefined,
      ...(isDeployed ? DEPLOYED_FIELDS : {}),
    };
  }

  /**
   * Returns the number of a margin table. The number of a table with one tier is its leverage, and
   * this table is not listed.
   */
  #numberOf(dex: string, tiers: Json[]): number {
    if (tiers.length === 1 && tiers[0].maxLeverage <= FIRST_TABLE) return tiers[0].maxLeverage;
    const numbers = this.#numbersOf(dex);
    const key = JSON.stringify(tiers);
    const number = numbers.get(key) ?? FIRST_TABLE + numbers.size;
    numbers.set(key, number);
    return number;
  }

  #numbersOf(dex: string): Map<string, number> {
    const numbers = this.#tables.get(dex) ?? new Map([[JSON.stringify(FIRST_TABLE_TIERS), 50]]);
    this.#tables.set(dex, numbers);
    return numbers;
  }

  #listTables(dex: string): Json[] {
    return [...this.#numbersOf(dex)].map(([tiers, number]) => {
      const marginTiers = JSON.parse(tiers);
      const description = number === FIRST_TABLE ? '' : `tiered ${marginTiers[0].maxLeverage}x`;
      return [number, { description, marginTiers }];
    });
  }

  /** Returns the contexts of a dex, in the order of its universe. */
  contexts(state: StateView, dex: string): Json[] {
    const contexts = marketsOf(state, dex).map((market) => {
      const { markPx, midPx } = pricesOf(state, market);
      return describeContext(markPx, midPx);
    });
    insert(dex, contexts, ({ markPx }) => describeContext(markPx, null));
    if (this.hasStrangeCoin && dex === '') addStrangeContext(contexts);
    if (this.hasOtherLists && dex === '') changeContexts(contexts);
    return contexts;
  }

  /** Returns the prices of all coins, or of the named coins. Delisted coins have no mid price. */
  prices(state: StateView, coins?: ReadonlySet<string>): Json {
    const prices: Json = {};
    for (const market of state.markets.markets) {
      if (coins?.has(market.coin) ?? true) prices[market.coin] = pricesOf(state, market);
    }
    if (this.hasOtherLists) addLatePrice(prices);
    if (coins !== undefined) return prices;
    for (const { name, markPx } of Object.values(DELISTED).flat()) {
      prices[name] = { markPx, midPx: null };
    }
    return prices;
  }

  /** Returns the mid prices by coin. Those of the first dex include spot pairs. */
  mids(state: StateView, dex: string): Json {
    const mids = marketsOf(state, dex).map((market) => [
      market.coin,
      pricesOf(state, market).midPx,
    ]);
    const spot = dex === '' ? SPOT_COINS.map((coin) => [coin, SPOT_PX]) : [];
    return Object.fromEntries([...mids, ...spot]);
  }

  /** True if there is a market with exactly this name. */
  hasCoin(state: StateView, coin: string): boolean {
    const isDelisted = Object.values(DELISTED)
      .flat()
      .some(({ name }) => name === coin);
    const isStrange = this.hasStrangeCoin && coin === STRANGE_COIN;
    const isLate = this.hasOtherLists && coin === LATE_COIN;
    const isListed = state.markets.findMarket(coin) !== undefined || isDelisted;
    return isListed || isStrange || isLate || SPOT_COINS.includes(coin);
  }
}

/** Adds an element that is null to a list of dexes, because the exchange's list may contain null. */
function addOdd(dexes: Json[]): Json[] {
  return dexes.toSpliced(2, 0, null);
}

function marketsOf({ markets }: StateView, dex: string): Market[] {
  const dexIndex = markets.findDex(dex);
  return markets.markets.filter((market) => market.dexIndex === dexIndex);
}

function modeOf(dex: string): string {
  return dex === 'idx' ? 'noCross' : 'strictIsolated';
}

/** Inserts an item for each delisted market of the dex at the market's index. */
function insert(dex: string, items: Json[], make: (delisted: Delisted) => Json): void {
  for (const delisted of DELISTED[dex] ?? []) items.splice(delisted.place, 0, make(delisted));
}

function describeDelisted(
  { name, szDecimals, maxLeverage, marginMode }: Delisted,
  dex: string,
): Json {
  const marginTableId = maxLeverage;
  const onlyIsolated = marginMode === undefined ? undefined : true;
  return {
    ...{ szDecimals, name, maxLeverage, marginTableId, onlyIsolated, isDelisted: true, marginMode },
    ...(dex === '' ? {} : DEPLOYED_FIELDS),
  };
}

/**
 * Returns the prices of a market. The mid price differs from the mark price, so that tests notice
 * if they are confused.
 */
function pricesOf({ markets }: StateView, { coin, priceDecimals }: Market): Json {
  const mark = markets.markPrice(markets.findMarket(coin) ?? 0);
  return { markPx: formatUnits(mark, priceDecimals), midPx: formatUnits(mark + 1, priceDecimals) };
}

function describeContext(markPx: string, midPx: string | null): Json {
  const isTraded = midPx !== null;
  return {
    funding: isTraded ? '0.0000125' : '0.0',
    openInterest: isTraded ? '8765.43' : '0.0',
    prevDayPx: markPx,
    dayNtlVlm: isTraded ? '164205.6726' : '0.0',
    premium: isTraded ? '0.0001501685' : null,
    oraclePx: markPx,
    markPx,
    midPx,
    impactPxs: isTraded ? [markPx, midPx] : null,
    dayBaseVlm: isTraded ? '155.185' : '0.0',
  };
}

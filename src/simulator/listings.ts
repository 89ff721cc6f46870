/**
 * The dexes of the simulated exchange after the first dex, and all markets in the order of their
 * listing.
 */

import type { WireEvent } from '../events/event.ts';
import { USD_DECIMALS } from '../events/fields.ts';
import { formatUnits } from '../exact/decimal.ts';
import type { TierTerms } from '../state/markets/margin-tiers.ts';
import { formatUsd } from './scene.ts';

export interface Listing {
  readonly coin: string;
  readonly sizeDecimals: number;
  /** The long-run mean of the price. */
  readonly price: string;
  /** The standard deviation of the relative price change in ten seconds. */
  readonly volatility: number;
  readonly tiers: readonly TierTerms[];
  readonly onlyIsolated?: true;
}

export interface ListedDex {
  readonly dex: string;
  readonly fullName: string;
}

export const LISTED_DEXES: readonly ListedDex[] = [
  { dex: 'abc', fullName: 'Alphabet Commodities' },
  { dex: 'idx', fullName: 'Index Street' },
];

const MILLION_USD = 1e12;

/**
 * Margin tiers from pairs: a lower bound in millions of dollars, and the maximum leverage from this
 * bound on.
 */
function tierTable(...pairs: [lowerBoundMillions: number, maxLeverage: number][]): TierTerms[] {
  return pairs.map(([lowerBoundMillions, maxLeverage]) => ({
    lowerBound: lowerBoundMillions * MILLION_USD,
    maxLeverage,
  }));
}

const BITCOIN = tierTable([0, 40], [150, 20]);
const ETHER = tierTable([0, 25], [100, 15], [250, 5]);
const MAJOR = tierTable([0, 20], [5, 10], [40, 5]);
const MIDDLE = tierTable([0, 10], [3, 5]);
const SMALL = tierTable([0, 10], [0.25, 5], [1, 3]);
const THIN = tierTable([0, 5], [0.1, 3]);
const FLAT_10 = tierTable([0, 10]);
const FLAT_5 = tierTable([0, 5]);
const FLAT_3 = tierTable([0, 3]);

export const LISTINGS: readonly Listing[] = [
  { coin: 'BTC', sizeDecimals: 5, price: '97250.0', volatility: 0.0004, tiers: BITCOIN },
  { coin: 'ETH', sizeDecimals: 4, price: '3412.5', volatility: 0.0005, tiers: ETHER },
  { coin: 'SOL', sizeDecimals: 2, price: '187.42', volatility: 0.0007, tiers: MAJOR },
  { coin: 'XRP', sizeDecimals: 0, price: '2.4185', volatility: 0.0007, tiers: MAJOR },
  { coin: 'HYPE', sizeDecimals: 2, price: '38.614', volatility: 0.0009, tiers: SMALL },
  { coin: 'DOGE', sizeDecimals: 0, price: '0.19637', volatility: 0.0008, tiers: MIDDLE },
  { coin: 'BNB', sizeDecimals: 3, price: '912.4', volatility: 0.0005, tiers: FLAT_10 },
  { coin: 'SUI', sizeDecimals: 1, price: '3.2847', volatility: 0.0009, tiers: SMALL },
  { coin: 'AVAX', sizeDecimals: 2, price: '27.318', volatility: 0.0008, tiers: MIDDLE },
  { coin: 'LINK', sizeDecimals: 1, price: '18.732', volatility: 0.0008, tiers: SMALL },
  { coin: 'ADA', sizeDecimals: 0, price: '0.72415', volatility: 0.0008, tiers: MIDDLE },
  { coin: 'LTC', sizeDecimals: 2, price: '104.83', volatility: 0.0006, tiers: FLAT_10 },
  { coin: 'BCH', sizeDecimals: 3, price: '541.7', volatility: 0.0006, tiers: FLAT_10 },
  { coin: 'TON', sizeDecimals: 1, price: '2.9163', volatility: 0.0008, tiers: FLAT_10 },
  { coin: 'DOT', sizeDecimals: 1, price: '4.1572', volatility: 0.0008, tiers: FLAT_10 },
  { coin: 'NEAR', sizeDecimals: 1, price: '2.6418', volatility: 0.0009, tiers: SMALL },
  { coin: 'AAVE', sizeDecimals: 2, price: '274.15', volatility: 0.0009, tiers: SMALL },
  { coin: 'UNI', sizeDecimals: 1, price: '8.9431', volatility: 0.0009, tiers: FLAT_10 },
  { coin: 'ARB', sizeDecimals: 1, price: '0.43218', volatility: 0.001, tiers: SMALL },
  { coin: 'OP', sizeDecimals: 1, price: '0.68754', volatility: 0.001, tiers: FLAT_10 },
  { coin: 'APT', sizeDecimals: 2, price: '4.3192', volatility: 0.0009, tiers: SMALL },
  { coin: 'ATOM', sizeDecimals: 2, price: '4.0875', volatility: 0.0008, tiers: FLAT_5 },
  { coin: 'LDO', sizeDecimals: 1, price: '1.1342', volatility: 0.001, tiers: THIN },
  { coin: 'CRV', sizeDecimals: 1, price: '0.71893', volatility: 0.001, tiers: SMALL },
  { coin: 'WLD', sizeDecimals: 1, price: '1.2468', volatility: 0.0012, tiers: SMALL },
  { coin: 'ENA', sizeDecimals: 0, price: '0.58214', volatility: 0.0012, tiers: SMALL },
  { coin: 'TIA', sizeDecimals: 1, price: '1.6351', volatility: 0.0012, tiers: THIN },
  { coin: 'JUP', sizeDecimals: 0, price: '0.4827', volatility: 0.0011, tiers: FLAT_5 },
  { coin: 'kPEPE', sizeDecimals: 0, price: '0.010437', volatility: 0.0013, tiers: SMALL },
  { coin: 'kBONK', sizeDecimals: 0, price: '0.021865', volatility: 0.0013, tiers: THIN },
  { coin: 'WIF', sizeDecimals: 0, price: '0.83614', volatility: 0.0014, tiers: FLAT_5 },
  isolatedOnly({ coin: 'MOG', sizeDecimals: 0, price: '0.00914', volatility: 0.0015, tiers: THIN }),
  { coin: 'abc:GOLD', sizeDecimals: 4, price: '3642.5', volatility: 0.0002, tiers: MAJOR },
  { coin: 'abc:SILVER', sizeDecimals: 2, price: '42.318', volatility: 0.0003, tiers: MIDDLE },
  { coin: 'abc:OIL', sizeDecimals: 2, price: '64.27', volatility: 0.0004, tiers: FLAT_10 },
  { coin: 'abc:COPPER', sizeDecimals: 1, price: '4.5836', volatility: 0.0003, tiers: FLAT_5 },
  { coin: 'idx:XYZ100', sizeDecimals: 4, price: '24510.0', volatility: 0.0002, tiers: MAJOR },
  { coin: 'idx:NVDA', sizeDecimals: 3, price: '176.32', volatility: 0.0004, tiers: FLAT_10 },
  { coin: 'idx:TSLA', sizeDecimals: 3, price: '425.8', volatility: 0.0005, tiers: FLAT_10 },
  { coin: 'idx:COIN', sizeDecimals: 3, price: '342.1', volatility: 0.0006, tiers: FLAT_5 },
  isolatedOnly({
    coin: 'idx:SPAC',
    sizeDecimals: 2,
    price: '9.84',
    volatility: 0.001,
    tiers: FLAT_3,
  }),
];

function isolatedOnly(listing: Listing): Listing {
  return { ...listing, onlyIsolated: true };
}

const LISTING_BY_COIN = new Map(LISTINGS.map((listing) => [listing.coin, listing]));

/**
 * Returns the listing of a coin; returns undefined for a coin of a resumed ledger that is not
 * listed here.
 */
export function findListing(coin: string): Listing | undefined {
  return LISTING_BY_COIN.get(coin);
}

/** Returns the dex of a coin: "abc" for "abc:GOLD", "" for "BTC". */
export function dexOfCoin(coin: string): string {
  return coin.slice(0, Math.max(0, coin.indexOf(':')));
}

export interface MarketDefinition {
  readonly coin: string;
  readonly sizeDecimals: number;
  readonly tiers: readonly TierTerms[];
  readonly onlyIsolated: boolean;
  /** The price in the market's smallest unit. */
  readonly markPrice: number;
}

/** The `market` event of a new market, or of new terms for an existing one. */
export function describeMarket(definition: MarketDefinition): WireEvent {
  const { coin, sizeDecimals, tiers, onlyIsolated, markPrice } = definition;
  return {
    type: 'market',
    dex: dexOfCoin(coin),
    coin,
    szDecimals: sizeDecimals,
    marginTiers: tiers.map(({ lowerBound, maxLeverage }) => ({
      lowerBound: formatUsd(lowerBound),
      maxLeverage,
    })),
    onlyIsolated,
    markPx: formatUnits(markPrice, USD_DECIMALS - sizeDecimals),
  };
}

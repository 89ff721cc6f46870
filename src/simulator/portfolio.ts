/** The accounts that a ledger starts with: cash, and positions that the equity can support. */

import type { WireEvent } from '../events/event.ts';
import { formatUnits } from '../exact/decimal.ts';
import type { Market } from '../state/markets/markets.ts';
import type { StateView } from '../state/state.ts';
import { roundPrice, stepOfFigures } from './prices.ts';
import type { Random } from './random.ts';
import type { Role } from './roster.ts';
import { formatUsd, USD } from './scene.ts';

/** The number of significant figures of a size, because people trade round sizes. */
const SIZE_FIGURES = 3;
const LEVERAGES = [2, 3, 5, 5, 10, 10, 20, 20, 25, 40];
const ISOLATED_CHANCE = 0.25;
/** The maximum share of the equity that is used as margin. */
const MARGIN_SHARE = 0.6;
/**
 * The maximum distance of the entry price from the mark price. It is less if the leverage is high.
 */
const ENTRY_GAP_MAX = 0.08;
const ENTRY_GAP_MARGIN_SHARE = 0.4;
const FUNDING_SHARE = 0.002;

/** The equity that a user of that role starts or arrives with. */
export function drawEquity(random: Random, role: Role): number {
  if (role === 'maker') return Math.floor(random.between(2e6, 8e6)) * USD;
  if (role === 'whale') return Math.floor(random.heavyTailed(3e5, 20)) * USD;
  return Math.floor(random.heavyTailed(250, 150) * 100) * (USD / 100);
}

export function drawPositionCount(random: Random, role: Role): number {
  return role === 'whale' ? 3 + random.below(5) : random.below(random.chance(0.2) ? 9 : 4);
}

export function drawLeverage(random: Random, market: Market): number {
  return Math.min(random.pick(LEVERAGES), market.tiers[0].maxLeverage);
}

export function drawMode(random: Random, market: Market): 'cross' | 'isolated' {
  return market.onlyIsolated || random.chance(ISOLATED_CHANCE) ? 'isolated' : 'cross';
}

/** A round size that is worth at most `notional`; 0 if even the smallest size is worth more. */
export function sizeWorth(notional: number, price: number): number {
  const size = Math.floor(notional / price);
  const step = stepOfFigures(size, SIZE_FIGURES);
  return Math.floor(size / step) * step;
}

/** Draws different markets from the list; the first markets are drawn more often. */
export function drawMarkets(random: Random, markets: readonly number[], count: number): number[] {
  const drawn = new Set<number>();
  while (drawn.size < count) {
    const fraction = random.fraction();
    let index = Math.floor(fraction * fraction * markets.length);
    while (drawn.has(markets[index])) index = (index + 1) % markets.length;
    drawn.add(markets[index]);
  }
  return [...drawn];
}

export interface Holding {
  readonly market: Market;
  /** The signed size, in the market's smallest unit. */
  readonly size: number;
  readonly markPrice: number;
  readonly entryPrice: number;
  readonly leverage: number;
  readonly mode: 'cross' | 'isolated';
}

/** A random position that the equity can support, with an entry price near the mark. */
export function drawHolding(
  random: Random,
  state: StateView,
  { marketIndex, equity }: { marketIndex: number; equity: number },
): Holding {
  const market = state.markets.markets[marketIndex];
  const markPrice = state.markets.markPrice(marketIndex);
  const leverage = drawLeverage(random, market);
  const notional = equity * Math.min(random.between(0.2, 4), MARGIN_SHARE * leverage);
  const size = Math.max(1, sizeWorth(notional, markPrice));
  return {
    market,
    size: random.chance(0.5) ? size : -size,
    markPrice,
    entryPrice: drawEntryPrice(random, { market, markPrice, leverage }),
    leverage,
    mode: drawMode(random, market),
  };
}

export function drawEntryPrice(
  random: Random,
  { market, markPrice, leverage }: { market: Market; markPrice: number; leverage: number },
): number {
  const gapMax = Math.min(ENTRY_GAP_MAX, ENTRY_GAP_MARGIN_SHARE / leverage);
  return roundPrice(markPrice * (1 + random.between(-gapMax, gapMax)), market.priceDecimals);
}

/** The raw USD of an isolated position that was opened with its initial margin. */
function isolatedRawUsd({ size, entryPrice, leverage }: Holding): number {
  return Math.floor((Math.abs(size) * entryPrice) / leverage) - size * entryPrice;
}

/** The part of the equity that is in the position, and not in cash. */
function equityTiedUp(holding: Holding): number {
  const signedValue = holding.size * holding.markPrice;
  return holding.mode === 'isolated' ? signedValue + isolatedRawUsd(holding) : signedValue;
}

function describeHolding(random: Random, holding: Holding): unknown {
  const { market, size, entryPrice, leverage, mode } = holding;
  const entryNotional = Math.abs(size) * entryPrice;
  const sinceOpen = Math.floor(entryNotional * FUNDING_SHARE * random.between(-0.4, 0.6));
  const before = Math.floor(entryNotional * FUNDING_SHARE * random.between(-1, 1.5));
  const isIsolated = mode === 'isolated';
  return {
    coin: market.coin,
    szi: formatUnits(size, market.sizeDecimals),
    entryNtl: formatUsd(entryNotional),
    leverage: {
      type: mode,
      value: leverage,
      ...(isIsolated ? { rawUsd: formatUsd(isolatedRawUsd(holding)) } : {}),
    },
    cumFunding: {
      allTime: formatUsd(before + sinceOpen),
      sinceOpen: formatUsd(sinceOpen),
      sinceChange: formatUsd(Math.floor(sinceOpen * random.fraction())),
    },
  };
}

interface Portfolio {
  readonly user: string;
  readonly dex: string;
  readonly equity: number;
  readonly holdings: readonly Holding[];
}

/** The `account` event of a user whose account value is exactly `equity`. */
export function describeAccount(random: Random, portfolio: Portfolio): WireEvent {
  const { user, dex, equity, holdings } = portfolio;
  const cash = holdings.reduce((rest, holding) => rest - equityTiedUp(holding), equity);
  const positions = holdings.map((holding) => describeHolding(random, holding));
  return { type: 'account', user, dex, rawUsd: formatUsd(cash), positions };
}

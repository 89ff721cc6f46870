/**
 * The account figures, line by line from the table in docs/reference/figures.md, as fractions of
 * dollars. The names in this file are the names in the table.
 */

import assert from 'node:assert/strict';
import { writeDecimal, writeRational } from './naive-decimal.ts';
import {
  keyOf,
  type NaiveHolding,
  type NaiveMarket,
  type NaivePosition,
  type NaiveState,
  type NaiveTier,
} from './naive-state.ts';
import {
  absolute,
  dividedBy,
  floor,
  isLess,
  larger,
  minus,
  negated,
  ONE,
  plus,
  type Rational,
  rational,
  sum,
  times,
  ZERO,
} from './rational.ts';

const MILLION = rational(1_000_000n);

function usd(millionths: bigint): Rational {
  return dividedBy(rational(millionths), MILLION);
}

function floor6(value: Rational): Rational {
  return usd(floor(times(value, MILLION)));
}

function scaled(units: bigint, decimals: number): Rational {
  return rational(units, 10n ** BigInt(decimals));
}

interface Tier {
  lowerBound: Rational;
  nextLowerBound: Rational | undefined;
  maxLeverage: number;
  l: Rational;
  deduction: Rational;
}

function tiersOf(table: readonly NaiveTier[]): Tier[] {
  const tiers: Tier[] = [];
  for (const [index, { lowerBound, maxLeverage }] of table.entries()) {
    const next = table.at(index + 1);
    const l = rational(1n, 2 * maxLeverage);
    const before = tiers.at(-1);
    tiers.push({
      lowerBound: usd(lowerBound),
      nextLowerBound: next === undefined ? undefined : usd(next.lowerBound),
      maxLeverage,
      l,
      deduction:
        before === undefined
          ? ZERO
          : plus(before.deduction, times(usd(lowerBound), minus(l, before.l))),
    });
  }
  return tiers;
}

function contains({ lowerBound, nextLowerBound }: Tier, value: Rational): boolean {
  const isBelowNext = nextLowerBound === undefined || isLess(value, nextLowerBound);
  return !isLess(value, lowerBound) && isBelowNext;
}

function maintenanceIn({ l, deduction }: Tier, value: Rational): Rational {
  return minus(times(value, l), deduction);
}

/** The figures of a position that do not depend on the rest of the account. */
interface PositionFigures {
  coin: string;
  isCross: boolean;
  leverage: number;
  allTime: bigint;
  position: NaivePosition;
  szDecimals: number;
  tiers: Tier[];
  hasOwnTiers: boolean;
  tierIndex: number;
  side: Rational;
  size: Rational;
  entryNtl: Rational;
  pv: Rational;
  marginUsed: Rational;
  rawUsd: Rational;
  maintenance: Rational;
}

function figurePosition(
  coin: string,
  market: NaiveMarket,
  holding: NaiveHolding,
  position: NaivePosition,
): PositionFigures {
  const { szDecimals } = market;
  const isCross = holding.mode === 'cross';
  const side = rational(position.szi > 0n ? 1n : -1n);
  const size = absolute(scaled(position.szi, szDecimals));
  const pv = times(size, scaled(market.markPx, 6 - szDecimals));
  const tiers = tiersOf(holding.ownTiers ?? market.tiers);
  const tierIndex = tiers.findIndex((tier) => contains(tier, pv));
  const marginUsed = isCross
    ? floor6(dividedBy(pv, rational(holding.leverage)))
    : plus(usd(position.rawUsd), times(side, pv));
  return {
    coin,
    isCross,
    leverage: holding.leverage,
    allTime: holding.allTime,
    position,
    szDecimals,
    tiers,
    hasOwnTiers: holding.ownTiers !== undefined,
    tierIndex,
    side,
    size,
    entryNtl: usd(position.entryNtl),
    pv,
    marginUsed,
    rawUsd: isCross ? minus(marginUsed, times(side, pv)) : usd(position.rawUsd),
    maintenance: floor6(maintenanceIn(tiers[tierIndex], pv)),
  };
}

interface Summary {
  accountValue: Rational;
  totalNtlPos: Rational;
  totalRawUsd: Rational;
  totalMarginUsed: Rational;
}

interface Liquidation {
  price: Rational;
  tierIndex: number;
  /** abs(szi) * price: the value that determines the tier. */
  value: Rational;
}

export interface AccountFigures {
  positions: (PositionFigures & { liquidation: Liquidation | undefined })[];
  marginSummary: Summary;
  crossMarginSummary: Summary;
  crossMaintenanceMarginUsed: Rational;
  collateral: Rational;
  withdrawable: Rational;
}

function total(
  positions: readonly PositionFigures[],
  figure: (position: PositionFigures) => Rational,
): Rational {
  return sum(positions.map(figure));
}

function summarizeCross(cash: Rational, cross: readonly PositionFigures[]): Summary {
  return {
    accountValue: plus(
      cash,
      total(cross, ({ side, pv }) => times(side, pv)),
    ),
    totalNtlPos: total(cross, ({ pv }) => pv),
    totalRawUsd: cash,
    totalMarginUsed: total(cross, ({ marginUsed }) => marginUsed),
  };
}

function summarizeAll(cross: Summary, isolated: readonly PositionFigures[]): Summary {
  const isolatedMargin = total(isolated, ({ marginUsed }) => marginUsed);
  return {
    accountValue: plus(cross.accountValue, isolatedMargin),
    totalNtlPos: plus(
      cross.totalNtlPos,
      total(isolated, ({ pv }) => pv),
    ),
    totalRawUsd: plus(
      cross.totalRawUsd,
      total(isolated, ({ rawUsd }) => rawUsd),
    ),
    totalMarginUsed: plus(cross.totalMarginUsed, isolatedMargin),
  };
}

/**
 * Tries every tier. Either exactly one price lies in its own tier, or no price does and there is no
 * liquidation price.
 */
function liquidate(figures: PositionFigures, equity: Rational): Liquidation | undefined {
  const { side, size, pv } = figures;
  const attempts = figures.tiers.map(({ l, deduction }, tierIndex) => {
    const dividend = minus(minus(pv, times(side, equity)), times(side, deduction));
    const price = dividedBy(dividend, times(size, minus(ONE, times(l, side))));
    return { price, tierIndex, value: times(size, price) };
  });
  const found = attempts.filter(({ tierIndex, value }) =>
    contains(figures.tiers[tierIndex], value),
  );
  if (found.length === 0) {
    assert.ok(isLess(attempts[0].price, ZERO), `${figures.coin}: no tier, yet a price`);
    return undefined;
  }
  assert.equal(found.length, 1, `${figures.coin}: the price fits several tiers`);
  return isLess(ZERO, found[0].price) ? found[0] : undefined;
}

/** Returns the coins in the order of the universe, if there is one, and then the other coins. */
function orderedCoins(state: NaiveState, dex: string): string[] {
  const rows = (state.universes.get(dex)?.['universe'] ?? []) as ({ name?: unknown } | null)[];
  const listed = rows.map((row) => row?.name);
  return [
    ...new Set([...listed.filter((name) => typeof name === 'string'), ...state.markets.keys()]),
  ];
}

function positionsOf(state: NaiveState, user: string, dex: string): PositionFigures[] {
  const positions: PositionFigures[] = [];
  for (const coin of orderedCoins(state, dex)) {
    const market = state.markets.get(coin);
    if (market === undefined) continue;
    const holding = state.holdings.get(keyOf(user, coin));
    if (market.dex !== dex || holding?.position === undefined) continue;
    positions.push(figurePosition(coin, market, holding, holding.position));
  }
  return positions;
}

const EMPTY_ACCOUNT = { cash: 0n, orderMargin: 0n, collateral: 0n };

export function figureAccount(state: NaiveState, user: string, dex: string): AccountFigures {
  const account = state.accounts.get(keyOf(user, dex)) ?? EMPTY_ACCOUNT;
  const positions = positionsOf(state, user, dex);
  const cross = positions.filter(({ isCross }) => isCross);
  const isolated = positions.filter(({ isCross }) => !isCross);
  const crossMarginSummary = summarizeCross(usd(account.cash), cross);
  const crossMaintenanceMarginUsed = total(cross, ({ maintenance }) => maintenance);
  const reserved = total(cross, ({ marginUsed, pv }) =>
    larger(marginUsed, floor6(dividedBy(pv, rational(10n)))),
  );
  const free = minus(minus(crossMarginSummary.accountValue, reserved), usd(account.orderMargin));
  const backing = plus(crossMarginSummary.accountValue, usd(account.collateral));
  const equityOf = ({ isCross, marginUsed, maintenance }: PositionFigures) =>
    isCross ? minus(backing, minus(crossMaintenanceMarginUsed, maintenance)) : marginUsed;
  return {
    positions: positions.map((figures) => ({
      ...figures,
      liquidation: liquidate(figures, equityOf(figures)),
    })),
    marginSummary: summarizeAll(crossMarginSummary, isolated),
    crossMarginSummary,
    crossMaintenanceMarginUsed,
    collateral: usd(account.collateral),
    withdrawable: larger(ZERO, free),
  };
}

function usdText(value: Rational): string {
  return writeRational(value, 6);
}

function summaryOut(summary: Summary): object {
  return {
    accountValue: usdText(summary.accountValue),
    totalNtlPos: usdText(summary.totalNtlPos),
    totalRawUsd: usdText(summary.totalRawUsd),
    totalMarginUsed: usdText(summary.totalMarginUsed),
  };
}

/** Returns entryNtl / abs(szi), truncated to the decimals of a price. */
function entryPriceText({ entryNtl, size, szDecimals }: PositionFigures): string {
  const decimals = 6 - szDecimals;
  const price = dividedBy(entryNtl, size);
  return writeDecimal(floor(times(price, rational(10n ** BigInt(decimals)))), decimals);
}

function returnOnEquity({ entryNtl, leverage }: PositionFigures, unrealizedPnl: Rational) {
  if (entryNtl.numerator === 0n) return ZERO;
  return dividedBy(times(unrealizedPnl, rational(leverage)), entryNtl);
}

function positionOut(figures: AccountFigures['positions'][number]): object {
  const { position, pv, side, entryNtl, liquidation } = figures;
  const gain = minus(pv, entryNtl);
  const unrealizedPnl = side.numerator < 0n ? negated(gain) : gain;
  return {
    type: 'oneWay',
    position: {
      coin: figures.coin,
      szi: writeDecimal(position.szi, figures.szDecimals),
      leverage: {
        type: figures.isCross ? 'cross' : 'isolated',
        value: figures.leverage,
        rawUsd: usdText(figures.rawUsd),
      },
      entryPx: entryPriceText(figures),
      positionValue: usdText(pv),
      unrealizedPnl: usdText(unrealizedPnl),
      returnOnEquity: writeRational(returnOnEquity(figures, unrealizedPnl), 10),
      liquidationPx: liquidation === undefined ? null : writeRational(liquidation.price, 10),
      marginUsed: usdText(figures.marginUsed),
      maxLeverage: figures.tiers[figures.tierIndex].maxLeverage,
      cumFunding: {
        allTime: writeDecimal(figures.allTime, 6),
        sinceOpen: writeDecimal(position.sinceOpen, 6),
        sinceChange: writeDecimal(position.sinceChange, 6),
      },
    },
  };
}

/** Returns the whole answer, with its keys in the order of docs/reference/questions.md. */
export function writeFigures(figures: AccountFigures, time: number): string {
  return JSON.stringify({
    marginSummary: summaryOut(figures.marginSummary),
    crossMarginSummary: summaryOut(figures.crossMarginSummary),
    crossMaintenanceMarginUsed: usdText(figures.crossMaintenanceMarginUsed),
    withdrawable: usdText(figures.withdrawable),
    assetPositions: figures.positions.map(positionOut),
    time,
  });
}

/**
 * Reads `clearinghouseState` backwards: from the figures of an answer, computes the rows that the
 * figures result from. With side = +1 for a long and -1 for a short:
 *
 *   cash        = crossMarginSummary.totalRawUsd
 *   mark price  = positionValue / |szi|, without remainder
 *   entryNtl    = positionValue - side * unrealizedPnl
 *   orderMargin = cross accountValue - withdrawable
 *                 - sum over all cross positions of max(marginUsed, positionValue / 10)
 *
 * `checkAccount` decides whether all other figures of the answer follow from these rows.
 */

import { LEVERAGE_RANGE, type LeverageMode } from '../../events/event.ts';
import { USD_DECIMALS } from '../../events/fields.ts';
import { describeValue } from '../../events/refusal.ts';
import {
  add,
  DecimalError,
  divideFloor,
  type Exact,
  formatUnits,
  magnitude,
  maximum,
  multiply,
  subtract,
} from '../../exact/decimal.ts';
import { WITHDRAWAL_DIVISOR } from '../../state/figures/figures.ts';
import type { Market } from '../../state/markets/markets.ts';
import {
  type ReportedAccount,
  type ReportedPosition,
  readReportedAccount,
} from './account-shape.ts';
import { DialectError, readAnswer } from './dialect.ts';
import type { TierTable } from './margin-tables.ts';
import type { MarketDirectory } from './market-directory.ts';
import { readPrinted, readStoredAmount } from './printed-amounts.ts';

/** A position as the ledger stores it. Amounts are whole numbers of their smallest unit. */
export interface PositionRow {
  readonly market: Market;
  readonly size: number;
  readonly entryNotional: number;
  readonly mode: LeverageMode;
  readonly leverage: number;
  /** The raw USD of an isolated position; 0 if the position is cross. */
  readonly rawUsd: number;
  readonly fundingAllTime: number;
  readonly fundingSinceOpen: number;
  readonly fundingSinceChange: number;
  /** The price that the answer was computed with. */
  readonly markPrice: number;
  /**
   * The margin tiers of the position, if they differ from the market's tiers; otherwise undefined.
   */
  readonly ownTiers?: TierTable;
}

export interface AccountRows {
  readonly dex: string;
  /** When the upstream computed the answer, in milliseconds. */
  readonly time: number;
  readonly cash: number;
  readonly positions: readonly PositionRow[];
  readonly orderMargin: number;
  /** False if nothing is withdrawable. Then `orderMargin` is its smallest possible value. */
  readonly isOrderMarginExact: boolean;
  readonly collateral: number;
  /**
   * False if the account has cross positions, but none of them shows a figure that depends on the
   * collateral.
   */
  readonly isCollateralShown: boolean;
}

/** The rows of a readable answer, and the answer's figures, which are checked against our rules. */
export interface AccountReading {
  readonly rows: AccountRows;
  readonly reported: ReportedAccount;
}

export interface ReadingContext {
  readonly dex: string;
  readonly directory: MarketDirectory;
  /**
   * USD outside of the perp account that backs the account's positions, in millionths; 0 unless the
   * account is unified.
   */
  readonly collateral?: number;
}

export function withCollateral(reading: AccountReading, collateral: number): AccountReading {
  return { ...reading, rows: { ...reading.rows, collateral } };
}

export function readAccountAnswer(
  json: unknown,
  context: ReadingContext,
): AccountReading | DialectError {
  return readAnswer(() => {
    const reported = readReportedAccount(json);
    return { rows: readRows(reported, context), reported };
  });
}

function readRows(
  reported: ReportedAccount,
  { dex, directory, collateral = 0 }: ReadingContext,
): AccountRows {
  const dexIndex = directory.findDex(dex);
  if (dexIndex === undefined) {
    throw marketError('dex', undefined, { ours: 'a dex that is listed', theirs: dex });
  }
  const positions = reported.positions.map((position) =>
    readRow(position, requireListed(directory, dexIndex, position.coin)),
  );
  refuseDuplicateCoins(positions);
  const figures = reported.crossMarginSummary;
  const cash = readStored(figures.totalRawUsd, 'crossMarginSummary.totalRawUsd', USD_DECIMALS);
  const orders = readOrderMargin(reported, cash, positions);
  const isCollateralShown = showsCollateral(reported);
  return { dex, time: reported.time, cash, positions, ...orders, collateral, isCollateralShown };
}

/**
 * Returns true if a cross position has a liquidation price, or if there are no cross positions. No
 * other figure depends on the collateral.
 */
function showsCollateral({ positions }: ReportedAccount): boolean {
  const cross = positions.filter(({ leverageType }) => leverageType === 'cross');
  return cross.length === 0 || cross.some(({ liquidationPx }) => liquidationPx !== null);
}

function marketError(
  field: string,
  coin: string | undefined,
  { ours, theirs }: { ours: string; theirs: string },
): DialectError {
  return new DialectError('market', { field, coin, ours, theirs: describeValue(theirs) });
}

function requireListed(directory: MarketDirectory, dexIndex: number, coin: string): Market {
  const market = directory.find(coin);
  if (market !== undefined && market.dexIndex === dexIndex) return market;
  const skipped = directory.skipped.find(({ name }) => name === coin);
  const dex = describeValue(directory.dexes[dexIndex].name);
  const ours =
    skipped === undefined
      ? `a coin that is listed on dex ${dex}`
      : `a coin that the ledger can hold (${skipped.reason})`;
  throw marketError('coin', undefined, { ours, theirs: coin });
}

function refuseDuplicateCoins(positions: readonly PositionRow[]): void {
  const coins = new Set<string>();
  for (const { market } of positions) {
    const { coin } = market;
    if (coins.has(coin)) throw figureError('coin', coin, { ours: 'each coin once', theirs: coin });
    coins.add(coin);
  }
}

function figureError(
  field: string,
  coin: string | undefined,
  { ours, theirs }: { ours: string; theirs: string },
): DialectError {
  return new DialectError('figure', { field, coin, ours, theirs });
}

/** Reads an amount that the ledger stores. */
function readStored(text: string, field: string, decimals: number, coin?: string): number {
  try {
    return readStoredAmount(text, decimals);
  } catch (error) {
    if (!(error instanceof DecimalError)) throw error;
    throw figureError(field, coin, { ours: error.expected, theirs: text });
  }
}

/** Reads an amount that is computed from other amounts, and may be too large for the ledger. */
function readDerived(text: string, field: string, coin?: string): Exact {
  try {
    return readPrinted(text, USD_DECIMALS);
  } catch (error) {
    if (!(error instanceof DecimalError)) throw error;
    throw figureError(field, coin, { ours: error.expected, theirs: text });
  }
}

function readRow(reported: ReportedPosition, market: Market): PositionRow {
  const { coin } = reported;
  if (reported.type !== 'oneWay')
    throw figureError('type', coin, { ours: 'oneWay', theirs: describeValue(reported.type) });
  const size = readStored(reported.szi, 'szi', market.sizeDecimals, coin);
  const value = readDerived(reported.positionValue, 'positionValue', coin);
  const usd = (text: string, field: string) => readStored(text, field, USD_DECIMALS, coin);
  return {
    market,
    size,
    markPrice: readMark(reported, size, value),
    entryNotional: readEntry(reported, size, value),
    ...readTerms(reported),
    fundingAllTime: usd(reported.allTime, 'cumFunding.allTime'),
    fundingSinceOpen: usd(reported.sinceOpen, 'cumFunding.sinceOpen'),
    fundingSinceChange: usd(reported.sinceChange, 'cumFunding.sinceChange'),
  };
}

function readTerms({ coin, leverageType, leverageValue, rawUsd }: ReportedPosition) {
  const isWhole = Number.isInteger(leverageValue);
  if (!isWhole || leverageValue < LEVERAGE_RANGE.from || leverageValue > LEVERAGE_RANGE.to) {
    const ours = `a whole number from ${LEVERAGE_RANGE.from} to ${LEVERAGE_RANGE.to}`;
    throw figureError('leverage.value', coin, { ours, theirs: String(leverageValue) });
  }
  const leverage = leverageValue;
  if (leverageType === 'cross') return { mode: 'cross' as const, leverage, rawUsd: 0 };
  if (leverageType !== 'isolated') {
    const theirs = describeValue(leverageType);
    throw figureError('leverage.type', coin, { ours: 'cross or isolated', theirs });
  }
  if (rawUsd === undefined) {
    const ours = 'an amount, as the position is isolated';
    throw figureError('leverage.rawUsd', coin, { ours, theirs: 'nothing' });
  }
  const stored = readStored(rawUsd, 'leverage.rawUsd', USD_DECIMALS, coin);
  return { mode: 'isolated' as const, leverage, rawUsd: stored };
}

function readEntry({ coin, unrealizedPnl }: ReportedPosition, size: number, value: Exact): number {
  const pnl = readDerived(unrealizedPnl, 'unrealizedPnl', coin);
  const entry = size < 0 ? add(value, pnl) : subtract(value, pnl);
  if (typeof entry === 'number' && entry > 0) return entry;
  const ours = 'a gain that leaves an entry value above 0 and within 2^53 units';
  throw figureError('unrealizedPnl', coin, { ours, theirs: unrealizedPnl });
}

function readMark({ coin, positionValue }: ReportedPosition, size: number, value: Exact): number {
  const absoluteSize = magnitude(size);
  const price = divideFloor(value, absoluteSize);
  const isExact = multiply(price, absoluteSize) === value;
  if (typeof price === 'number' && price > 0 && isExact) return price;
  const ours = 'a multiple of the size, by a price above 0';
  throw figureError('positionValue', coin, { ours, theirs: positionValue });
}

/**
 * Computes the order margin from our cross account value. Whether the exchange has the same account
 * value is checked later.
 */
function readOrderMargin(
  reported: ReportedAccount,
  cash: number,
  positions: readonly PositionRow[],
) {
  const withdrawable = readDerived(reported.withdrawable, 'withdrawable');
  let free: Exact = cash;
  for (const { mode, size, markPrice, leverage } of positions) {
    if (mode === 'isolated') continue;
    const signedValue = multiply(size, markPrice);
    const value = magnitude(signedValue);
    const kept = maximum(divideFloor(value, leverage), divideFloor(value, WITHDRAWAL_DIVISOR));
    free = subtract(add(free, signedValue), kept);
  }
  const reserved = subtract(free, withdrawable);
  if (withdrawable > 0 && reserved >= 0 && typeof reserved === 'number') {
    return { orderMargin: reserved, isOrderMarginExact: true };
  }
  const least = maximum(0, free);
  if (withdrawable === 0 && typeof least === 'number') {
    return { orderMargin: least, isOrderMarginExact: false };
  }
  const ours = `at most ${formatUnits(least, USD_DECIMALS)}, what positions leave free`;
  throw figureError('withdrawable', undefined, { ours, theirs: reported.withdrawable });
}

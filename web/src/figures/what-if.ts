/**
 * Computes an account at moved marks, before anything is liquidated, and lists the positions that
 * would be liquidated. The computation uses the ledger's rules, so a block with these marks would
 * give the same figures.
 */

import { keyOf } from './all-dexes.ts';
import type { AccountState, Position, States } from './answers.ts';
import {
  absolute,
  add,
  compare,
  type Decimal,
  divideRounded,
  formatDecimal,
  multiply,
  parseDecimal,
  RATIO_DECIMALS,
  roundTo,
  subtract,
  sum,
  ZERO,
} from './decimal.ts';
import { liquidationOf, type MarketTerms, maintenanceOf } from './margin-terms.ts';
import { markOf } from './position-figures.ts';
import { decimalsOf } from './text.ts';

export interface Move {
  /** The only coin whose mark moves; undefined means that all marks move. */
  readonly coin: string | undefined;
  /** The move in per cent, as decimal text. */
  readonly percent: string;
}

export const NO_MOVE: Move = { coin: undefined, percent: '0' };
export const PERCENT_MIN = -90;
export const PERCENT_MAX = 200;
export const PERCENT_DECIMALS_MAX = 4;

/**
 * `liquidated`: the margin would be below the maintenance margin. `backed`: the margin would also
 * be below it, but collateral that is in no answer backs the account, and may be enough. `unknown`:
 * the margin tiers do not reproduce the figures of the answer.
 */
export type PositionOutcome = 'stays' | 'liquidated' | 'backed' | 'unknown';

export interface HypotheticalPosition {
  readonly mark: string;
  readonly unrealizedPnl: string;
  readonly outcome: PositionOutcome;
}

export interface Hypothetical {
  readonly accountValue: string;
  /** The change from the present value, in USDC. */
  readonly change: string;
  /** The change in per cent of the present value; undefined if the present value is 0. */
  readonly changeRatio: string | undefined;
  readonly unrealizedPnl: string;
  /** The positions by key. */
  readonly positions: ReadonlyMap<string, HypotheticalPosition>;
}

type AllTerms = ReadonlyMap<string, MarketTerms>;

/**
 * Returns the typed per cent as decimal text; returns undefined if the text is not a number, or out
 * of range.
 */
export function readPercent(typed: string): string | undefined {
  const text = typed.trim().replace(/^\+/, '').replace('\u2212', '-');
  if (!/^-?\d{1,3}(\.\d+)?$/.test(text) || decimalsOf(text) > PERCENT_DECIMALS_MAX)
    return undefined;
  const percent = parseDecimal(text);
  const isLow = compare(percent, parseDecimal(`${PERCENT_MIN}`)) < 0;
  const isHigh = compare(percent, parseDecimal(`${PERCENT_MAX}`)) > 0;
  return isLow || isHigh ? undefined : text;
}

export function isMoved({ percent }: Move): boolean {
  return parseDecimal(percent).units !== 0n;
}

export function computeWhatIf(states: States, move: Move, terms: AllTerms): Hypothetical {
  const pools = states.map(([dex, state]) => computeDex(dex, state, { move, terms }));
  const positions = new Map(pools.flatMap(({ positions: poolPositions }) => poolPositions));
  const change = pools.map(({ change: one }) => one).reduce(add, ZERO);
  const before = sum(states.map(([, { marginSummary }]) => marginSummary.accountValue));
  const ratio = divideRounded(change, absolute(before), RATIO_DECIMALS);
  const pnl = [...positions.values()].map(({ unrealizedPnl }) => unrealizedPnl);
  return {
    accountValue: formatDecimal(add(before, change)),
    change: formatDecimal(change),
    changeRatio: ratio && formatDecimal({ ...ratio, scale: ratio.scale - 2 }),
    unrealizedPnl: formatDecimal(sum(pnl)),
    positions,
  };
}

interface WhatIfInput {
  readonly move: Move;
  readonly terms: AllTerms;
}

/** A position at its moved mark. */
interface MovedPosition {
  readonly position: Position;
  /** The margin terms of the position's market; undefined if the ledger has no such market. */
  readonly terms: MarketTerms | undefined;
  readonly mark: Decimal;
  readonly value: Decimal;
  /** The change of the account value that this position causes. */
  readonly change: Decimal;
}

/** Computes an account on one dex, whose cross positions share one margin. */
function computeDex(dex: string, state: AccountState, { move, terms }: WhatIfInput) {
  const moved = state.assetPositions.map(({ position }) =>
    movePosition(position, move, terms.get(position.coin)),
  );
  const crossOutcome = judgeCross(
    state,
    moved.filter(({ position }) => !isIsolated(position)),
  );
  const positions = moved.map((one): [string, HypotheticalPosition] => {
    const { position, mark, change } = one;
    const unrealizedPnl = formatDecimal(add(parseDecimal(position.unrealizedPnl), change));
    const outcome = isIsolated(position) ? judgeIsolated(one) : crossOutcome;
    return [keyOf({ dex, position }), { mark: formatDecimal(mark), unrealizedPnl, outcome }];
  });
  return { positions, change: moved.map(({ change }) => change).reduce(add, ZERO) };
}

const isIsolated = ({ leverage }: Position): boolean => leverage.type === 'isolated';

function movePosition(
  position: Position,
  move: Move,
  terms: MarketTerms | undefined,
): MovedPosition {
  const before = markOf(position);
  const isStill = move.coin !== undefined && move.coin !== position.coin;
  const mark = isStill ? before : moveMark(before, move.percent, terms);
  const szi = parseDecimal(position.szi);
  const change = multiply(szi, subtract(mark, before));
  return { position, terms, mark, value: multiply(absolute(szi), mark), change };
}

/**
 * Returns the moved mark. A mark has only as many decimals as its market allows, and is never zero.
 */
function moveMark(mark: Decimal, percent: string, terms: MarketTerms | undefined): Decimal {
  const { units, scale } = add(parseDecimal(percent), { units: 100n, scale: 0 });
  const exact = multiply(mark, { units, scale: scale + 2 });
  if (terms === undefined) return exact;
  const rounded = roundTo(exact, terms.priceDecimals);
  return rounded.units > 0n ? rounded : { units: 1n, scale: terms.priceDecimals };
}

/** Returns the outcome of the cross positions, which are liquidated together. */
function judgeCross(state: AccountState, moved: readonly MovedPosition[]): PositionOutcome {
  const before = addMaintenance(moved, ({ position }) => parseDecimal(position.positionValue));
  const after = addMaintenance(moved, ({ value }) => value);
  const reported = parseDecimal(state.crossMaintenanceMarginUsed);
  if (before === undefined || after === undefined || compare(before, reported) !== 0)
    return 'unknown';
  const valueNow = parseDecimal(state.crossMarginSummary.accountValue);
  const value = moved.map(({ change }) => change).reduce(add, valueNow);
  if (compare(value, after) >= 0) return 'stays';
  return moved.some((one) => isBacked(one, subtract(valueNow, reported))) ? 'backed' : 'liquidated';
}

function addMaintenance(
  moved: readonly MovedPosition[],
  pick: (one: MovedPosition) => Decimal,
): Decimal | undefined {
  let total = ZERO;
  for (const one of moved) {
    if (one.terms === undefined) return undefined;
    total = add(total, maintenanceOf(one.terms, pick(one)));
  }
  return total;
}

/**
 * Returns true if the position's liquidation price shows that more collateral backs the account
 * than its own margin.
 */
function isBacked({ position, terms }: MovedPosition, spare: Decimal): boolean {
  if (terms === undefined) return false;
  const own = maintenanceOf(terms, parseDecimal(position.positionValue));
  return !givesLiquidationPrice(position, terms, add(spare, own));
}

function judgeIsolated({ position, terms, value, change }: MovedPosition): PositionOutcome {
  const margin = parseDecimal(position.marginUsed);
  if (terms === undefined || !givesLiquidationPrice(position, terms, margin)) return 'unknown';
  return compare(add(margin, change), maintenanceOf(terms, value)) < 0 ? 'liquidated' : 'stays';
}

/** Returns true if the terms reproduce the liquidation price of the answer. */
function givesLiquidationPrice(position: Position, terms: MarketTerms, equity: Decimal): boolean {
  const szi = parseDecimal(position.szi);
  const value = parseDecimal(position.positionValue);
  return liquidationOf(terms, { szi, value, equity }) === position.liquidationPx;
}

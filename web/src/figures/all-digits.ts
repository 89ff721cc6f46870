/** The named figures of a panel or a row, with all their digits, so that a person can copy them. */

import { type Holding, totalsOf } from './all-dexes.ts';
import type { Auction, Delegation, Position, States } from './answers.ts';
import { formatDecimal, negateText, sum } from './decimal.ts';
import { headlineOf } from './headline.ts';
import { derive } from './position-figures.ts';
import { findTightest } from './risk.ts';
import { describeDex } from './text.ts';

export interface NamedFigure {
  readonly label: string;
  readonly text: string;
}

type Entry = readonly [label: string, text: string | null | undefined];

/** Returns the named figures, without entries that have no value. */
function list(entries: readonly Entry[]): NamedFigure[] {
  return entries.flatMap(([label, text]) => (text == null ? [] : [{ label, text }]));
}

export function digitsOfPosition(position: Position): NamedFigure[] {
  const { cumFunding } = position;
  return list([
    ['Size', position.szi],
    ['Value', position.positionValue],
    ['Entry', position.entryPx],
    ['Mark', derive(position).mark],
    ['Unrealized profit', position.unrealizedPnl],
    ['Return on equity', position.returnOnEquity],
    ['Margin', position.marginUsed],
    ['Liquidation price', position.liquidationPx],
    ['Funding received since open', negateText(cumFunding.sinceOpen)],
    ['Funding received since change', negateText(cumFunding.sinceChange)],
    ['Funding received of all time', negateText(cumFunding.allTime)],
  ]);
}

export interface Sums {
  readonly value: string;
  readonly profit: string;
  readonly margin: string;
  readonly funding: string;
}

export function sumsOf(holdings: readonly Holding[]): Sums {
  const total = (pick: (position: Position) => string) =>
    formatDecimal(sum(holdings.map(({ position }) => pick(position))));
  return {
    value: total(({ positionValue }) => positionValue),
    profit: total(({ unrealizedPnl }) => unrealizedPnl),
    margin: total(({ marginUsed }) => marginUsed),
    funding: negateText(total(({ cumFunding }) => cumFunding.sinceOpen)),
  };
}

export function digitsOfSums(holdings: readonly Holding[]): NamedFigure[] {
  const { value, profit, margin, funding } = sumsOf(holdings);
  return list([
    ['Value', value],
    ['Unrealized profit', profit],
    ['Margin', margin],
    ['Funding received since open', funding],
  ]);
}

interface Change {
  readonly amount: string;
  readonly ratio: string | undefined;
}

/** `change` is the change of the account value over the time of the chart, if it is known. */
export function digitsOfAccount(states: States, change: Change | undefined): NamedFigure[] {
  const totals = totalsOf(states);
  const { unrealizedPnl, leverage, long, short, net } = headlineOf(states);
  return list([
    ['Account value', totals.accountValue],
    ['Margin used', totals.totalMarginUsed],
    ['Withdrawable', totals.withdrawable],
    ['Position value', totals.totalNtlPos],
    ['Unrealized profit', unrealizedPnl],
    ['Leverage', leverage],
    ['Long', long],
    ['Short', short],
    ['Net exposure', net],
    ...digitsOfCrossMargin(states),
    ['Change of the account value', change?.amount],
    ['Change in per cent', change?.ratio],
  ]);
}

/** Lists the figures of the dex that the gauge is about. */
function digitsOfCrossMargin(states: States): Entry[] {
  const tightest = findTightest(states);
  if (tightest === undefined) return [];
  const [dex, state] = tightest;
  const where = states.length > 1 ? ` on ${describeDex(dex)}` : '';
  return [
    [`Cross maintenance margin${where}`, state.crossMaintenanceMarginUsed],
    [`Cross account value${where}`, state.crossMarginSummary.accountValue],
  ];
}

export function digitsOfStake({ validator, amount }: Delegation): NamedFigure[] {
  return list([
    ['Validator', validator],
    ['Amount', amount],
  ]);
}

export function digitsOfStakes(delegations: readonly Delegation[]): NamedFigure[] {
  return list([['Amount', formatDecimal(sum(delegations.map(({ amount }) => amount)))]]);
}

/** `floor` is undefined if it is not known. */
export function digitsOfAuction(auction: Auction, floor: string | undefined): NamedFigure[] {
  const { endGas, currentGas, startGas } = auction;
  return list([
    [endGas === null ? 'Cost now' : 'Ended at', currentGas],
    ['Start', startGas],
    ['Floor', floor],
  ]);
}

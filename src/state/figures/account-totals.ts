/**
 * The totals of an account, without the figures of each position. A series of past values needs
 * only the totals.
 */

import { add, type Exact } from '../../exact/decimal.ts';
import type { StateView } from '../state.ts';
import { accountFigures } from './figures.ts';
import { QuickFigures } from './quick-figures.ts';

export interface AccountTotals {
  readonly accountValue: Exact;
  readonly totalNtlPos: Exact;
  readonly totalMarginUsed: Exact;
  readonly withdrawable: Exact;
  readonly unrealizedPnl: Exact;
}

const quick = new QuickFigures();

export function accountTotals(state: StateView, account: number): AccountTotals {
  return quick.computeTotals(state, account) ? quickTotals() : exactTotals(state, account);
}

function quickTotals(): AccountTotals {
  const { accountValue, totalNtlPos, totalMarginUsed } = quick.summary;
  let unrealizedPnl: Exact = 0;
  for (let index = 0; index < quick.positionCount; index++) {
    unrealizedPnl = add(unrealizedPnl, quick.positions[index].unrealizedPnl);
  }
  const { withdrawable } = quick;
  return { accountValue, totalNtlPos, totalMarginUsed, withdrawable, unrealizedPnl };
}

function exactTotals(state: StateView, account: number): AccountTotals {
  const { summary, withdrawable, positions } = accountFigures(state, account);
  const { accountValue, totalNtlPos, totalMarginUsed } = summary;
  let unrealizedPnl: Exact = 0;
  for (const position of positions) unrealizedPnl = add(unrealizedPnl, position.unrealizedPnl);
  return { accountValue, totalNtlPos, totalMarginUsed, withdrawable, unrealizedPnl };
}

/** An account on all its dexes: the part that is shown, its positions, and its exact totals. */

import type { AccountState, Position, States } from './answers.ts';
import { formatDecimal, sum } from './decimal.ts';

/** Returns the state on one dex, or all states if `dex` is undefined. */
export function pickDex(states: States, dex: string | undefined): States {
  return dex === undefined ? states : states.filter(([name]) => name === dex);
}

export interface Holding {
  readonly dex: string;
  readonly position: Position;
}

export function holdingsOf(states: States): Holding[] {
  return states.flatMap(([dex, { assetPositions }]) =>
    assetPositions.map(({ position }) => ({ dex, position })),
  );
}

/** Returns a name that is unique among the holdings of an account. */
export function keyOf({ dex, position }: Holding): string {
  return `${dex} ${position.coin}`;
}

export interface Totals {
  readonly accountValue: string;
  readonly totalNtlPos: string;
  readonly totalMarginUsed: string;
  readonly withdrawable: string;
}

export function totalsOf(states: States): Totals {
  const total = (pick: (state: AccountState) => string) =>
    formatDecimal(sum(states.map(([, state]) => pick(state))));
  return {
    accountValue: total(({ marginSummary }) => marginSummary.accountValue),
    totalNtlPos: total(({ marginSummary }) => marginSummary.totalNtlPos),
    totalMarginUsed: total(({ marginSummary }) => marginSummary.totalMarginUsed),
    withdrawable: total(({ withdrawable }) => withdrawable),
  };
}

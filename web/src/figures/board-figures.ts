/** The exact figures of an account on the board, over all of its dexes. */

import { totalsOf } from './all-dexes.ts';
import type { Delegation, States } from './answers.ts';
import {
  absolute,
  type Decimal,
  divideRounded,
  formatDecimal,
  parseDecimal,
  RATIO_DECIMALS,
  subtract,
  ZERO,
} from './decimal.ts';
import { type Headline, headlineOf } from './headline.ts';
import { findTightest, judgeAccount, marginRatioOf, type Verdict } from './risk.ts';

export interface BoardFigures extends Omit<Headline, 'leverage'> {
  readonly value: string;
  readonly verdict: Verdict;
  /**
   * The highest margin ratio of all dexes; undefined if maintenance margin is due and there is no
   * cross account value.
   */
  readonly marginRatio: Decimal | undefined;
}

export function boardFiguresOf(states: States): BoardFigures {
  const tightest = findTightest(states);
  return {
    ...headlineOf(states),
    value: totalsOf(states).accountValue,
    verdict: judgeAccount(states),
    marginRatio: tightest === undefined ? ZERO : marginRatioOf(tightest[1]),
  };
}

export interface AmountChange {
  /** The change in USDC. */
  readonly amount: string;
  /** The change in per cent; undefined if the value before was 0. */
  readonly percent: string | undefined;
}

export function changeBetween(before: string, after: string): AmountChange {
  const from = parseDecimal(before);
  const amount = subtract(parseDecimal(after), from);
  const ratio = divideRounded(amount, absolute(from), RATIO_DECIMALS);
  return {
    amount: formatDecimal(amount),
    percent: ratio && formatDecimal({ ...ratio, scale: ratio.scale - 2 }),
  };
}

/** Returns the delegation that is unlocked next; returns undefined if no delegation is locked. */
export function nextUnlockOf(
  delegations: readonly Delegation[],
  nowMs: number,
): Delegation | undefined {
  let next: Delegation | undefined;
  for (const delegation of delegations) {
    const { lockedUntilTimestamp } = delegation;
    if (lockedUntilTimestamp <= nowMs) continue;
    if (next === undefined || lockedUntilTimestamp < next.lockedUntilTimestamp) next = delegation;
  }
  return next;
}

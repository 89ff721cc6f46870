/**
 * Measures how close an account is to liquidation. The result is the worst of its cross margin
 * ratios and its positions' distances to liquidation, over all dexes.
 */

import type { AccountState, Position, States } from './answers.ts';
import {
  compare,
  type Decimal,
  divideRounded,
  parseDecimal,
  RATIO_DECIMALS,
  subtract,
  WHOLE,
  ZERO,
} from './decimal.ts';
import { distanceOf, isLost } from './position-figures.ts';
import {
  formatDistance,
  formatMarginRatio,
  LEVEL_WORDS,
  LEVELS,
  type Level,
  levelOfDistance,
  levelOfMarginRatio,
} from './risk-levels.ts';
import { group } from './text.ts';

export interface Verdict {
  readonly level: Level;
  readonly word: string;
  /** The cause of the risk, such as "NEAR isolated, 1.0 % to liquidation"; empty if nothing is at risk. */
  readonly cause: string;
  /** The remainder before liquidation, as a share of the margin or the mark. */
  readonly left: Decimal;
}

const NOTHING: Verdict = { level: 'safe', word: 'nothing at risk', cause: '', left: WHOLE };

/**
 * A possible cause of the risk, and the remainder before liquidation as a share of the margin or the mark.
 */
interface Finding {
  readonly level: Level;
  readonly left: Decimal;
  readonly cause: string;
}

export function judgeAccount(states: States): Verdict {
  const findings = states.flatMap(([dex, state]) => findRisks(dex, state));
  if (findings.length === 0) return NOTHING;
  const worst = findings.reduce((found, next) => (isWorse(next, found) ? next : found));
  return { ...worst, word: LEVEL_WORDS[worst.level] };
}

function isWorse(one: Finding, other: Finding): boolean {
  const byLevel = LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level);
  return byLevel > 0 || (byLevel === 0 && compare(one.left, other.left) < 0);
}

/** Returns the possible risks on one dex. If an account has no positions, only a debt is a risk. */
function findRisks(dex: string, state: AccountState): Finding[] {
  const { assetPositions, marginSummary } = state;
  const where = dex === '' ? '' : ` on ${dex}`;
  const risks = assetPositions.flatMap(({ position }) => findPositionRisk(position));
  if (assetPositions.length > 0) risks.push(findMarginRisk(state, where));
  if (parseDecimal(marginSummary.accountValue).units < 0n) {
    risks.push(danger(`the account value${where} is negative`));
  }
  return risks;
}

function danger(cause: string): Finding {
  return { level: 'danger', left: ZERO, cause };
}

function findPositionRisk(position: Position): Finding[] {
  const { coin, leverage } = position;
  const name = `${coin} ${leverage.type}`;
  if (isLost(position)) return [danger(`${name}, its margin is lost`)];
  const left = distanceOf(position);
  if (left === undefined) return [];
  if (left.units <= 0n) return [danger(`${name}, at its liquidation price`)];
  const cause = `${name}, ${group(formatDistance(left))} % to liquidation`;
  return [{ level: levelOfDistance(left), left, cause }];
}

function findMarginRisk(state: AccountState, where: string): Finding {
  const ratio = marginRatioOf(state);
  if (ratio === undefined) return danger(`no cross margin${where} is left`);
  const cause = `${formatMarginRatio(ratio)} % of the cross margin${where} used`;
  return { level: levelOfMarginRatio(ratio), left: subtract(WHOLE, ratio), cause };
}

/**
 * Returns the share of the cross account value that the maintenance margin takes. At 1, cross
 * positions are liquidated. Returns undefined if maintenance margin is due and there is no cross
 * account value.
 */
export function marginRatioOf(state: AccountState): Decimal | undefined {
  const maintenance = parseDecimal(state.crossMaintenanceMarginUsed);
  const value = parseDecimal(state.crossMarginSummary.accountValue);
  if (maintenance.units === 0n) return ZERO;
  return value.units <= 0n ? undefined : divideRounded(maintenance, value, RATIO_DECIMALS);
}

/**
 * Returns the dex with the largest margin ratio, and its state; returns undefined if there are no
 * states.
 */
export function findTightest(states: States): States[number] | undefined {
  let tightest: States[number] | undefined;
  let largest: Decimal | undefined;
  for (const entry of states) {
    const ratio = marginRatioOf(entry[1]);
    if (ratio === undefined) return entry;
    if (largest !== undefined && compare(ratio, largest) <= 0) continue;
    tightest = entry;
    largest = ratio;
  }
  return tightest;
}

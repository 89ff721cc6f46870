/** The naive twin's answers to the four questions. */

import { writeDecimal } from './naive-decimal.ts';
import { figureAccount, writeFigures } from './naive-figures.ts';
import { keyOf, type NaiveAuction, type NaiveState } from './naive-state.ts';
import { floor, rational } from './rational.ts';

export type Question =
  | { type: 'clearinghouseState'; user: string; dex: string }
  | { type: 'delegations'; user: string }
  | { type: 'userAbstraction'; user: string }
  | { type: 'perpDeployAuctionStatus' };

function answerDelegations(state: NaiveState, user: string): string {
  const delegations = state.delegations.get(user.toLowerCase()) ?? new Map();
  return JSON.stringify(
    [...delegations].map(([validator, { amount, lockedUntilTimestamp }]) => ({
      validator,
      amount: writeDecimal(amount, 8),
      lockedUntilTimestamp,
    })),
  );
}

function currentGasOf(auction: NaiveAuction, timeMs: number): bigint {
  if (auction.endGas !== undefined) return auction.endGas;
  const durationMs = auction.durationSeconds * 1000;
  const sinceStartMs = timeMs - auction.startTimeSeconds * 1000;
  const elapsedMs = BigInt(Math.min(Math.max(sinceStartMs, 0), durationMs));
  const fall = (auction.startGas - auction.floorGas) * elapsedMs;
  return floor(rational(auction.startGas * BigInt(durationMs) - fall, durationMs));
}

function answerAuction({ auction, time }: NaiveState): string {
  if (auction === undefined || auction === null) return 'null';
  return JSON.stringify({
    startTimeSeconds: auction.startTimeSeconds,
    durationSeconds: auction.durationSeconds,
    startGas: writeDecimal(auction.startGas, 8),
    currentGas: writeDecimal(currentGasOf(auction, time), 8),
    endGas: auction.endGas === undefined ? null : writeDecimal(auction.endGas, 8),
  });
}

function isKnown(state: NaiveState, question: Question): boolean {
  switch (question.type) {
    case 'clearinghouseState':
      return state.accounts.has(keyOf(question.user, question.dex));
    case 'delegations':
      return state.delegations.has(question.user.toLowerCase());
    case 'userAbstraction':
      return state.modes.has(question.user.toLowerCase());
    case 'perpDeployAuctionStatus':
      return state.auction !== undefined;
  }
}

/**
 * True if the dex is listed. Without a list, all dexes count as listed; the first dex always does.
 */
function isListed({ dexList }: NaiveState, dex: string): boolean {
  if (dexList === undefined || dex === '') return true;
  return dexList.some((item) => (item as { name?: unknown } | null)?.name === dex);
}

/**
 * Returns the answer; returns undefined if a partial ledger does not have the data, or if the dex
 * is not listed.
 */
export function answerNaively(state: NaiveState, question: Question): string | undefined {
  if (question.type === 'clearinghouseState' && !isListed(state, question.dex)) return undefined;
  if (state.isPartial && !isKnown(state, question)) return undefined;
  switch (question.type) {
    case 'clearinghouseState':
      return writeFigures(figureAccount(state, question.user, question.dex), state.time);
    case 'delegations':
      return answerDelegations(state, question.user);
    case 'userAbstraction':
      return JSON.stringify(state.modes.get(question.user.toLowerCase()) ?? 'default');
    case 'perpDeployAuctionStatus':
      return answerAuction(state);
  }
}

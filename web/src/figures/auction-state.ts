/** An auction in words: only what follows from the endpoint's answers. */

import type { Auction } from './answers.ts';
import { formatDuration, formatTime, group } from './text.ts';

/** An auction at its floor still runs, until a buyer pays. */
export type AuctionState = 'none' | 'scheduled' | 'running' | 'atFloor' | 'ended';

/** Decides the state by the ledger's time. */
export function stateOfAuction(auction: Auction | null, nowMs: number): AuctionState {
  if (auction === null) return 'none';
  if (auction.endGas !== null) return 'ended';
  if (nowMs < startMsOf(auction)) return 'scheduled';
  return nowMs < floorMsOf(auction) ? 'running' : 'atFloor';
}

/** No auction runs: the panel has little to show. */
export function isIdle(state: AuctionState): boolean {
  return state === 'none' || state === 'ended';
}

const startMsOf = ({ startTimeSeconds }: Auction): number => startTimeSeconds * 1000;

/** When the price is at its floor, if the auction runs so long. */
const floorMsOf = (auction: Auction): number => startMsOf(auction) + auction.durationSeconds * 1000;

/** The endpoint does not report when an auction ended. The end is between two answers. */
export interface Observation {
  readonly startTimeSeconds: number;
  /** The ledger's time of the last answer in which it had not ended. */
  readonly runningMs: number | undefined;
  /** The least of the ledger's times of answers in which it had: the past is shown after the present. */
  readonly endedMs: number | undefined;
}

export function noteObservation(
  last: Observation | undefined,
  { startTimeSeconds, endGas }: Auction,
  timeMs: number,
): Observation {
  const isSame = last?.startTimeSeconds === startTimeSeconds;
  const { runningMs, endedMs } = isSame ? last : {};
  return endGas === null
    ? { startTimeSeconds, runningMs: timeMs, endedMs: undefined }
    : { startTimeSeconds, runningMs, endedMs: Math.min(endedMs ?? timeMs, timeMs) };
}

/** When the auction ended, as closely as the answers show. */
export function describeEnd(auction: Auction, { runningMs, endedMs }: Observation): string {
  const from = formatTime(runningMs ?? startMsOf(auction));
  const to = formatTime(endedMs ?? startMsOf(auction));
  return from === to ? `at ${to}` : `between ${from} and ${to}`;
}

/** Says how long the auction might have run. */
export function describeSchedule(auction: Auction): string {
  const duration = formatDuration(auction.durationSeconds * 1000);
  return (
    `It started at ${formatTime(startMsOf(auction))}; its price would have been at the floor after ` +
    `${duration}, at ${formatTime(floorMsOf(auction))}.`
  );
}

/** Returns one line for the folded panel. */
export function summarizeIdle(auction: Auction | null): string {
  return auction === null ? 'No auction' : `Ended at ${group(auction.currentGas)} gas`;
}

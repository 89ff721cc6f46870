/** Describes the state of an auction, only from facts in the endpoint's answers. */

import type { Auction } from './answers.ts';
import { formatDuration, formatTime, group } from './text.ts';

/** The states of an auction. An auction at its floor still runs until a buyer pays. */
export type AuctionState = 'none' | 'scheduled' | 'running' | 'atFloor' | 'ended';

/** Returns the state at a time of the ledger, in milliseconds. */
export function stateOfAuction(auction: Auction | null, nowMs: number): AuctionState {
  if (auction === null) return 'none';
  if (auction.endGas !== null) return 'ended';
  if (nowMs < startMsOf(auction)) return 'scheduled';
  return nowMs < floorMsOf(auction) ? 'running' : 'atFloor';
}

/** Returns true if no auction runs, so that the panel has little to show. */
export function isIdle(state: AuctionState): boolean {
  return state === 'none' || state === 'ended';
}

const startMsOf = ({ startTimeSeconds }: Auction): number => startTimeSeconds * 1000;

/** Returns the time at which the price reaches its floor if nobody buys before. */
const floorMsOf = (auction: Auction): number => startMsOf(auction) + auction.durationSeconds * 1000;

/** The times between which an auction ended. The endpoint does not report the end itself. */
export interface Observation {
  readonly startTimeSeconds: number;
  /** The ledger's time of the last answer in which the auction had not ended. */
  readonly runningMs: number | undefined;
  /**
   * The earliest ledger time of an answer in which the auction had ended. It is not always the
   * first of these answers, because the page can show the past after the present.
   */
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

/** Returns the time of the end in words, as exactly as the answers show. */
export function describeEnd(auction: Auction, { runningMs, endedMs }: Observation): string {
  const from = formatTime(runningMs ?? startMsOf(auction));
  const to = formatTime(endedMs ?? startMsOf(auction));
  return from === to ? `at ${to}` : `between ${from} and ${to}`;
}

/** Returns a sentence that says how long the auction could have run. */
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

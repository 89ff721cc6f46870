/** The auction for deploying a new contract: a price in gas that falls from start to floor. */

import type { EventOf } from '../events/event.ts';
import { STAKE_DECIMALS } from '../events/fields.ts';
import { Refusal } from '../events/refusal.ts';
import { formatUnits } from '../exact/decimal.ts';

/** The auction. Each event replaces the whole object. Gas is in its smallest unit. */
export interface Auction {
  readonly startTimeSeconds: number;
  readonly durationSeconds: number;
  readonly startGas: bigint;
  readonly floorGas: bigint;
  /** Undefined while the auction runs. */
  readonly endGas: bigint | undefined;
}

/**
 * Null means that there is no auction. Undefined means that no event has mentioned an auction, so a
 * partial ledger does not know whether there is an auction.
 */
export type RecordedAuction = Auction | null | undefined;

export function startAuction(event: EventOf<'deployAuction'>): Auction {
  if (event.floorGas > event.startGas) {
    const startGas = formatUnits(event.startGas, STAKE_DECIMALS);
    const floorGas = formatUnits(event.floorGas, STAKE_DECIMALS);
    throw new Refusal('floorGas', floorGas, `at most startGas, ${startGas}`);
  }
  return { ...event, endGas: undefined };
}

export function endAuction(
  auction: RecordedAuction,
  { endGas }: EventOf<'deployAuctionEnd'>,
): Auction {
  if (auction === undefined || auction === null || auction.endGas !== undefined) {
    throw new Refusal(
      'endGas',
      formatGas(endGas),
      'a running auction; start one with deployAuction',
    );
  }
  return { ...auction, endGas };
}

/** Formats gas as events and answers do. */
export function formatGas(gas: bigint): string {
  return formatUnits(gas, STAKE_DECIMALS);
}

/**
 * Returns the price at a time. The price falls linearly from start to floor and is rounded down.
 * After the end of the auction, it is the final price.
 */
export function currentGas(auction: Auction, time: number): bigint {
  if (auction.endGas !== undefined) return auction.endGas;
  const durationMs = auction.durationSeconds * 1000;
  const elapsedMs = Math.min(Math.max(time - auction.startTimeSeconds * 1000, 0), durationMs);
  const scaledFall = (auction.startGas - auction.floorGas) * BigInt(elapsedMs);
  return (auction.startGas * BigInt(durationMs) - scaledFall) / BigInt(durationMs);
}

/**
 * Deployment auctions, one after the other. Each starts at a multiple of the duration. Whether and
 * when an auction sells is derived from the seed and the start of the auction, so that a resumed
 * ledger continues the auction.
 */

import { STAKE_DECIMALS } from '../events/fields.ts';
import { type Auction, currentGas, formatGas } from '../state/auction.ts';
import { Random } from './random.ts';
import type { Scene } from './scene.ts';

const FLOOR_GAS = 500n * 10n ** BigInt(STAKE_DECIMALS);
/** The start price of the first auction, and of an auction after an auction without a sale. */
const LOWEST_START_GAS = 2n * FLOOR_GAS;

/**
 * The limits of the time at which an auction sells, as a share of its duration. If the share is
 * above 1, the auction ends without a sale.
 */
const SOLD_AFTER_MIN = 0.05;
const SOLD_AFTER_MAX = 1.4;
/** An auction at the lowest start price always sells, so that a short run shows a sale. */
const CHEAPEST_SOLD_AFTER_MAX = 0.9;

export interface AuctionTerms {
  readonly seed: string;
  readonly durationSeconds: number;
}

export function runAuctions(scene: Scene, terms: AuctionTerms): void {
  const auction = scene.state.auction ?? undefined;
  if (auction === undefined || scene.time >= endMsOf(auction)) startNext(scene, terms);
  else if (auction.endGas === undefined) sellWhenDue(scene, auction, terms);
}

function endMsOf({ startTimeSeconds, durationSeconds }: Auction): number {
  return (startTimeSeconds + durationSeconds) * 1000;
}

/**
 * Starts the next auction at twice the last price, or at twice the floor if the last auction did
 * not sell.
 */
function startNext({ state, time, draft }: Scene, { durationSeconds }: AuctionTerms): void {
  const auction = state.auction ?? undefined;
  const startGas =
    auction === undefined ? LOWEST_START_GAS : 2n * (auction.endGas ?? auction.floorGas);
  const startTimeSeconds = Math.floor(time / 1000 / durationSeconds) * durationSeconds;
  draft.append({
    type: 'deployAuction',
    startTimeSeconds,
    durationSeconds,
    startGas: formatGas(startGas),
    floorGas: formatGas(FLOOR_GAS),
  });
}

function sellWhenDue({ time, draft }: Scene, auction: Auction, { seed }: AuctionTerms): void {
  const { startTimeSeconds, durationSeconds, startGas } = auction;
  const random = new Random(`${seed}/auction/${startTimeSeconds}`);
  const isCheapest = startGas === LOWEST_START_GAS;
  const soldAfterMax = isCheapest ? CHEAPEST_SOLD_AFTER_MAX : SOLD_AFTER_MAX;
  const soldAfter = random.between(SOLD_AFTER_MIN, soldAfterMax) * durationSeconds;
  if (time >= (startTimeSeconds + soldAfter) * 1000) {
    draft.append({ type: 'deployAuctionEnd', endGas: formatGas(currentGas(auction, time)) });
  }
}

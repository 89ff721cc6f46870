/**
 * Reads `perpDeployAuctionStatus`. The answer has neither a floor price nor a time. The floor is
 * known to be 500. For a running auction, the current price is checked against this floor.
 */

import { SECONDS_MAX, type WireEvent } from '../../events/event.ts';
import { type FieldReader, STAKE_DECIMALS } from '../../events/fields.ts';
import { type Auction, currentGas, formatGas, type RecordedAuction } from '../../state/auction.ts';
import { DialectError, readAnswer, readOpen, readStake } from './dialect.ts';

const FLOOR_GAS = 500n * 10n ** BigInt(STAKE_DECIMALS);
/**
 * The maximum difference between our estimate of the exchange's time and the time of the answer.
 */
const CLOCK_SLACK_MS = 60_000;

/**
 * Returns the auction; returns null if there is none. `time` is our estimate of the exchange's
 * time.
 */
export function readAuctionAnswer(json: unknown, time: number): Auction | null | DialectError {
  return readAnswer(() => (json === null ? null : readOpen(json, (fields) => read(fields, time))));
}

function read(fields: FieldReader, time: number): Auction {
  const startGas = readStake(fields, 'startGas');
  const auction: Auction = {
    startTimeSeconds: fields.whole('startTimeSeconds', { from: 0, to: SECONDS_MAX }),
    durationSeconds: fields.whole('durationSeconds', { from: 1, to: SECONDS_MAX }),
    startGas,
    floorGas: startGas < FLOOR_GAS ? startGas : FLOOR_GAS,
    endGas: fields.take('endGas') === null ? undefined : readStake(fields, 'endGas'),
  };
  if (auction.endGas === undefined) checkPrice(auction, readStake(fields, 'currentGas'), time);
  return auction;
}

/**
 * Checks the current price. The price falls with time, so it must be between the prices at the
 * latest and the earliest possible time of the answer.
 */
function checkPrice(auction: Auction, gas: bigint, time: number): void {
  const most = currentGas(auction, time - CLOCK_SLACK_MS);
  const least = currentGas(auction, time + CLOCK_SLACK_MS);
  if (gas >= least && gas <= most) return;
  const ours = `${formatGas(least)} to ${formatGas(most)}, with a floor of ${formatGas(auction.floorGas)}`;
  const theirs = formatGas(gas);
  throw new DialectError('figure', { field: 'currentGas', coin: undefined, ours, theirs });
}

/** Returns the events that make the ledger's auction equal to the upstream's auction. */
export function describeAuctionChanges(
  recorded: RecordedAuction,
  upstream: Auction | null,
): WireEvent[] {
  if (upstream === null) return recorded === null ? [] : [{ type: 'noDeployAuction' }];
  const isSameStart =
    recorded !== undefined &&
    recorded !== null &&
    recorded.startTimeSeconds === upstream.startTimeSeconds &&
    recorded.durationSeconds === upstream.durationSeconds &&
    recorded.startGas === upstream.startGas &&
    recorded.floorGas === upstream.floorGas;
  if (isSameStart && recorded.endGas === upstream.endGas) return [];
  // The ledger accepts an end only for a running auction. To replace a recorded end, the start must
  // be recorded again.
  const start = isSameStart && recorded.endGas === undefined ? [] : [describeStart(upstream)];
  const { endGas } = upstream;
  return endGas === undefined
    ? start
    : [...start, { type: 'deployAuctionEnd', endGas: formatGas(endGas) }];
}

function describeStart({
  startTimeSeconds,
  durationSeconds,
  startGas,
  floorGas,
}: Auction): WireEvent {
  return {
    type: 'deployAuction',
    startTimeSeconds,
    durationSeconds,
    startGas: formatGas(startGas),
    floorGas: formatGas(floorGas),
  };
}

/**
 * The auction's price falls in a straight line. The endpoint reports the start price and the
 * current price, but not the floor. The floor is computed from these two prices. The longer the
 * auction has run, the more exact the computed floor is.
 */

import type { Auction } from './answers.ts';
import {
  type Decimal,
  divideRounded,
  multiply,
  parseDecimal,
  roundTo,
  subtract,
} from './decimal.ts';

/** The decimals of gas amounts; `currentGas` is rounded down to them. */
const GAS_DECIMALS = 8;

export interface Floor {
  readonly startTimeSeconds: number;
  readonly gas: Decimal;
  /** True if the price was at the floor when it was observed; false if the floor is computed. */
  readonly isExact: boolean;
}

const whole = (count: number): Decimal => ({ units: BigInt(count), scale: 0 });

/** Returns the time from the start to a ledger time, clamped to the duration. */
export function elapsedMs({ startTimeSeconds, durationSeconds }: Auction, timeMs: number): number {
  return Math.min(durationSeconds * 1000, Math.max(0, timeMs - startTimeSeconds * 1000));
}

/**
 * Returns the floor; returns undefined if it cannot be derived: before the start, and after the
 * end.
 */
export function findFloor(auction: Auction, timeMs: number): Floor | undefined {
  const { startTimeSeconds, durationSeconds, startGas, currentGas, endGas } = auction;
  const elapsed = elapsedMs(auction, timeMs);
  if (endGas !== null || elapsed <= 0) return undefined;
  const durationMs = durationSeconds * 1000;
  const current = parseDecimal(currentGas);
  if (elapsed >= durationMs) return { startTimeSeconds, gas: current, isExact: true };
  const start = parseDecimal(startGas);
  const fallen = multiply(subtract(start, current), whole(durationMs));
  const depth = divideRounded(fallen, whole(elapsed), GAS_DECIMALS);
  if (depth === undefined) return undefined;
  // The extrapolation multiplies the rounding error of the current price, so the last decimals are
  // noise and are dropped.
  const lost = String(Math.ceil(durationMs / elapsed)).length + 1;
  const gas = roundTo(subtract(start, depth), Math.max(0, GAS_DECIMALS - lost));
  return { startTimeSeconds, gas, isExact: false };
}

/**
 * Returns the time at which the line passes a price, so that the chart shows where an ended auction
 * stopped.
 */
export function timeOfGas(auction: Auction, floor: Floor, gas: string): number {
  const start = parseDecimal(auction.startGas);
  const share = divideRounded(subtract(start, parseDecimal(gas)), subtract(start, floor.gas), 9);
  const part = share === undefined ? 1 : Math.min(1, Number(share.units) / 1e9);
  return (auction.startTimeSeconds + part * auction.durationSeconds) * 1000;
}

interface LinePoint {
  /** The time in seconds. */
  readonly time: number;
  readonly value: number;
}

export interface Line {
  readonly start: LinePoint;
  readonly present: LinePoint;
  readonly end: LinePoint;
}

/** Returns the line of an auction for its chart. */
export function drawLine(auction: Auction, floor: Floor, timeMs: number): Line {
  const { startTimeSeconds, durationSeconds, startGas, currentGas } = auction;
  const presentTime = startTimeSeconds + Math.floor(elapsedMs(auction, timeMs) / 1000);
  return {
    start: { time: startTimeSeconds, value: Number(startGas) },
    present: { time: presentTime, value: Number(currentGas) },
    end: {
      time: startTimeSeconds + durationSeconds,
      value: Number(floor.gas.units) / 10 ** floor.gas.scale,
    },
  };
}

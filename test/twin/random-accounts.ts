/**
 * Random markets and accounts for the figures. An account is drawn as a handful of choices, which
 * become amounts once its markets are known: so a size can sit on the boundary of a margin tier, and
 * a margin where the liquidation price is on one.
 */

import fc from 'fast-check';
import {
  SAFE_MAX,
  type WireEvent,
  type WireEventOf,
  type WirePosition,
  type WireTier,
} from '../../tools/naive-twin/naive-block.ts';
import { writeDecimal } from '../../tools/naive-twin/naive-decimal.ts';
import type { NaiveTier } from '../../tools/naive-twin/naive-state.ts';
import { floor, plus, type Rational, rational, ZERO } from '../../tools/naive-twin/rational.ts';

const BILLION = 1_000_000_000n;

function clamp(value: bigint, min: bigint): bigint {
  return value < min ? min : value > SAFE_MAX ? SAFE_MAX : value;
}

/** From 1 to the safe range, every magnitude as likely as any other. */
const magnitude = fc
  .tuple(fc.bigInt(1n, SAFE_MAX), fc.nat(52))
  .map(([value, shift]) => value >> BigInt(shift) || 1n);
const sign = fc.constantFrom(1n, -1n);
const usd = fc.oneof(
  fc.tuple(magnitude, sign).map(([value, factor]) => value * factor),
  fc.bigInt(-3n, 3n),
);
const usdZeroOrMore = fc.oneof(magnitude, fc.constant(0n));
const besides = fc.constantFrom(-1n, 0n, 0n, 1n);
const leverage = fc.oneof(
  fc.constantFrom(1, 2, 5, 10, 20, 25, 50),
  fc.integer({ min: 1, max: 1000 }),
);

export interface RandomMarket {
  szDecimals: number;
  markPx: bigint;
  tiers: NaiveTier[];
  /** Sizes whose value is on the lower bound of a tier, or next to it. */
  boundarySizes: bigint[];
}

/** A lower bound in round dollars, whose maintenance is whole, or right beside the value of a size. */
const boundary = fc.oneof(
  fc.bigInt(1n, 9_007n).map((thousands) => () => thousands * BILLION),
  fc.tuple(magnitude, besides).map(
    ([size, offset]) =>
      (markPx: bigint) =>
        (size % (SAFE_MAX / markPx)) * markPx + offset,
  ),
);

export const randomMarket: fc.Arbitrary<RandomMarket> = fc
  .record({
    szDecimals: fc.integer({ min: 0, max: 6 }),
    markPx: magnitude,
    firstLeverage: leverage,
    furtherTiers: fc.array(fc.tuple(boundary, leverage), { maxLength: 4 }),
  })
  .map(({ szDecimals, markPx, firstLeverage, furtherTiers }) => {
    const leverageByBound = new Map(
      furtherTiers.map(([boundAt, maxLeverage]) => [clamp(boundAt(markPx), 1n), maxLeverage]),
    );
    const bounds = [...leverageByBound.keys()].sort((a, b) => (a < b ? -1 : 1));
    const tiers = bounds.map((lowerBound) => ({
      lowerBound,
      maxLeverage: leverageByBound.get(lowerBound) ?? 1,
    }));
    return {
      szDecimals,
      markPx,
      tiers: [{ lowerBound: 0n, maxLeverage: firstLeverage }, ...tiers],
      boundarySizes: bounds.map((bound) => (bound + 1n) / markPx),
    };
  });

/** The maintenance of a position on a tier's lower bound: the sum over the tiers below. */
function maintenanceAtBound(tiers: readonly NaiveTier[], tierIndex: number): Rational {
  let maintenance = ZERO;
  for (let index = 1; index <= tierIndex; index++) {
    const width = tiers[index].lowerBound - tiers[index - 1].lowerBound;
    maintenance = plus(maintenance, rational(width, 2 * tiers[index - 1].maxLeverage));
  }
  return maintenance;
}

/**
 * The USD leg with which a position is liquidated right where its value is a tier's lower bound:
 * there, side * bound + leg = maintenance.
 */
function legAtBound(tiers: readonly NaiveTier[], choice: number, side: bigint): bigint {
  const tierIndex = choice % tiers.length;
  return floor(maintenanceAtBound(tiers, tierIndex)) - side * tiers[tierIndex].lowerBound;
}

/** A USD leg: any, or one that depends on the boundary of a tier. */
const leg = fc.oneof(
  usd.map((amount) => () => amount),
  fc.tuple(fc.nat(4), besides).map(
    ([choice, offset]) =>
      (tiers: readonly NaiveTier[], side: bigint) =>
        clamp(legAtBound(tiers, choice, side) + offset, -SAFE_MAX),
  ),
);

const size = fc.oneof(
  magnitude.map((units) => () => units),
  fc.tuple(fc.nat(3), besides).map(([choice, offset]) => ({ boundarySizes }: RandomMarket) => {
    const onBoundary = boundarySizes.at(choice % (boundarySizes.length || 1)) ?? 1n;
    return clamp(onBoundary + offset, 1n);
  }),
);

const entryNotional = fc.oneof(
  magnitude.map((amount) => () => amount),
  fc.bigInt(1n, 3n).map((amount) => () => amount),
  fc.bigInt(-100n, 100n).map((offset) => (value: bigint) => clamp(value + offset, 1n)),
);

const positionChoices = {
  marketChoice: fc.nat(),
  side: sign,
  size,
  entryNotional,
  isCross: fc.boolean(),
  leverage,
  leg,
  funding: fc.tuple(usd, usd, usd),
};
const position = fc.record({
  ...positionChoices,
  /** The market whose tiers it has as its own; null if it has those of the market that it is in. */
  ownTiersChoice: fc.option(fc.nat(), { freq: 2 }),
});
const ordinaryPosition = fc.record({ ...positionChoices, ownTiersChoice: fc.constant(null) });
type PositionChoices = typeof position extends fc.Arbitrary<infer T> ? T : never;

function accountWith(positions: fc.Arbitrary<PositionChoices>) {
  return fc.record({
    positions: fc.array(positions, { maxLength: 6 }),
    cash: leg,
    transfer: fc.option(usd),
    orderMargin: fc.option(usdZeroOrMore),
    collateral: fc.option(fc.oneof(usdZeroOrMore, fc.bigInt(1n, BILLION))),
  });
}

/** All positions have the tiers of their markets. */
export const randomAccount = accountWith(ordinaryPosition);
/** Some positions have tiers of their own. */
export const randomTieredAccount = accountWith(position);
export type AccountChoices = typeof randomAccount extends fc.Arbitrary<infer T> ? T : never;

function usdText(millionths: bigint): string {
  return writeDecimal(millionths, 6);
}

function coinAt(index: number): string {
  return `M${index}`;
}

function wireTiers(tiers: readonly NaiveTier[]): WireTier[] {
  return tiers.map(({ lowerBound, maxLeverage }) => ({
    lowerBound: usdText(lowerBound),
    maxLeverage,
  }));
}

export function marketEvent(market: RandomMarket, index: number): WireEventOf<'market'> {
  return {
    type: 'market',
    dex: '',
    coin: coinAt(index),
    szDecimals: market.szDecimals,
    marginTiers: wireTiers(market.tiers),
    onlyIsolated: false,
    markPx: writeDecimal(market.markPx, 6 - market.szDecimals),
  };
}

/** The position's own tiers; undefined if it has its market's. */
function ownTiersOf(
  { ownTiersChoice }: PositionChoices,
  markets: readonly RandomMarket[],
): readonly NaiveTier[] | undefined {
  return ownTiersChoice === null ? undefined : markets[ownTiersChoice % markets.length].tiers;
}

function wirePosition(
  choices: PositionChoices,
  markets: readonly RandomMarket[],
  marketIndex: number,
): WirePosition {
  const { side, isCross } = choices;
  const market = markets[marketIndex];
  const ownTiers = ownTiersOf(choices, markets);
  const units = choices.size(market);
  const [allTime, sinceOpen, sinceChange] = choices.funding.map(usdText);
  const { leverage: value } = choices;
  return {
    coin: coinAt(marketIndex),
    szi: writeDecimal(side * units, market.szDecimals),
    entryNtl: usdText(choices.entryNotional(units * market.markPx)),
    leverage: isCross
      ? { type: 'cross', value }
      : { type: 'isolated', value, rawUsd: usdText(choices.leg(ownTiers ?? market.tiers, side)) },
    cumFunding: { allTime, sinceOpen, sinceChange },
    ...(ownTiers && { marginTiers: wireTiers(ownTiers) }),
  };
}

/** At most one position per market: the first one drawn. */
function positionByMarket(choices: AccountChoices, marketCount: number) {
  const positions = new Map<number, PositionChoices>();
  for (const drawn of choices.positions.toReversed()) {
    positions.set(drawn.marketChoice % marketCount, drawn);
  }
  return positions;
}

/** The cash that puts the account's first cross position on a boundary, or any. */
function cashOf(
  choices: AccountChoices,
  markets: readonly RandomMarket[],
  positions: ReadonlyMap<number, PositionChoices>,
): bigint {
  const cross = [...positions].find(([, { isCross }]) => isCross);
  if (cross === undefined) return choices.cash([{ lowerBound: 0n, maxLeverage: 1 }], 1n);
  const [marketIndex, position] = cross;
  const collateral = choices.collateral ?? 0n;
  const tiers = ownTiersOf(position, markets) ?? markets[marketIndex].tiers;
  return clamp(choices.cash(tiers, position.side) - collateral, -SAFE_MAX);
}

/** The events that build the account; a part of the cash may come by a transfer. */
export function accountEvents(
  choices: AccountChoices,
  markets: readonly RandomMarket[],
  user: string,
): WireEvent[] {
  const dex = '';
  const positions = positionByMarket(choices, markets.length);
  const cash = cashOf(choices, markets, positions);
  const before = clamp(cash - (choices.transfer ?? 0n), -SAFE_MAX);
  const events: WireEvent[] = [
    {
      type: 'account',
      user,
      dex,
      rawUsd: usdText(before),
      positions: [...positions].map(([index, drawn]) => wirePosition(drawn, markets, index)),
    },
  ];
  const { orderMargin, collateral } = choices;
  if (before !== cash) {
    // The difference may exceed the safe range, so it is moved in two parts.
    const half = (cash - before) / 2n;
    for (const part of [half, cash - before - half]) {
      events.push({ type: 'transfer', user, dex, amount: usdText(part) });
    }
  }
  if (orderMargin !== null) {
    events.push({ type: 'orderMargin', user, dex, amount: usdText(orderMargin) });
  }
  if (collateral !== null) {
    events.push({ type: 'collateral', user, dex, amount: usdText(collateral) });
  }
  return events;
}

/**
 * The naive twin's state: plain maps and objects, with every amount as a bigint in its smallest
 * unit.
 */

export type Mode = 'cross' | 'isolated';

export interface NaiveTier {
  lowerBound: bigint;
  maxLeverage: number;
}

export interface NaiveMarket {
  dex: string;
  szDecimals: number;
  tiers: NaiveTier[];
  onlyIsolated: boolean;
  markPx: bigint;
}

export interface NaivePosition {
  szi: bigint;
  entryNtl: bigint;
  /** The USD part of an isolated position; 0 if the mode is cross. */
  rawUsd: bigint;
  sinceOpen: bigint;
  sinceChange: bigint;
}

/**
 * A user's holding of a coin. Its leverage setting and its allTime stay when the position is
 * closed.
 */
export interface NaiveHolding {
  mode: Mode;
  leverage: number;
  allTime: bigint;
  position: NaivePosition | undefined;
  /** The margin tiers that only the open position has; undefined if it has its market's tiers. */
  ownTiers: NaiveTier[] | undefined;
}

/** A user's account on a dex, without positions. */
export interface NaiveAccount {
  cash: bigint;
  orderMargin: bigint;
  collateral: bigint;
  /** The time when the account was last read; 0 if it was never read. */
  time: number;
}

export interface NaiveDelegation {
  amount: bigint;
  lockedUntilTimestamp: number;
}

export interface NaiveAuction {
  startTimeSeconds: number;
  durationSeconds: number;
  startGas: bigint;
  floorGas: bigint;
  endGas: bigint | undefined;
}

export interface NaiveState {
  height: number;
  time: number;
  dexes: Set<string>;
  /** The markets by coin, in the order of their first `market` event. */
  markets: Map<string, NaiveMarket>;
  /** The accounts by user and dex. */
  accounts: Map<string, NaiveAccount>;
  /** The holdings by user and coin. */
  holdings: Map<string, NaiveHolding>;
  /** The delegations by user, and then by validator in the order of creation. */
  delegations: Map<string, Map<string, NaiveDelegation>>;
  /**
   * The time when the list of delegations was last read, by user. A user whose list was never read
   * is absent.
   */
  delegationTimes: Map<string, number>;
  /** The dexes as another server lists them; undefined if no event has listed them. */
  dexList: unknown[] | undefined;
  /** The markets of a dex as another server lists them. */
  universes: Map<string, Record<string, unknown>>;
  /** The modes by user. */
  modes: Map<string, string>;
  isPartial: boolean;
  /** Null if there is no auction; undefined if no event has reported about auctions. */
  auction: NaiveAuction | null | undefined;
}

export function createNaiveState(): NaiveState {
  return {
    height: 0,
    time: 0,
    dexes: new Set(['']),
    markets: new Map(),
    accounts: new Map(),
    holdings: new Map(),
    delegations: new Map(),
    delegationTimes: new Map(),
    dexList: undefined,
    universes: new Map(),
    modes: new Map(),
    isPartial: false,
    auction: undefined,
  };
}

/** Returns the key of a user's account on a dex, or of a user's holding of a coin. */
export function keyOf(user: string, dexOrCoin: string): string {
  return `${user.toLowerCase()} ${dexOrCoin}`;
}

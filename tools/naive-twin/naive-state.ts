/** The twin's state: plain maps and objects, every amount a bigint of its smallest unit. */

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
  /** The position's own USD leg; 0 where the mode is cross. */
  rawUsd: bigint;
  sinceOpen: bigint;
  sinceChange: bigint;
}

/** A user's holding of a coin; its setting and allTime outlive the position. */
export interface NaiveHolding {
  mode: Mode;
  leverage: number;
  allTime: bigint;
  position: NaivePosition | undefined;
  /** The open position's own tiers; undefined if it has its market's. */
  ownTiers: NaiveTier[] | undefined;
}

/** A user's account on a dex, without positions. */
export interface NaiveAccount {
  cash: bigint;
  orderMargin: bigint;
  collateral: bigint;
  /** When it was last read; 0 if it never was. */
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
  /** By coin, in the order of their first `market` event. */
  markets: Map<string, NaiveMarket>;
  /** By user and dex. */
  accounts: Map<string, NaiveAccount>;
  /** By user and coin. */
  holdings: Map<string, NaiveHolding>;
  /** By user, then by validator in order of creation. */
  delegations: Map<string, Map<string, NaiveDelegation>>;
  /** By user, when the list was last read; users whose list never was are absent. */
  delegationTimes: Map<string, number>;
  /** The dexes as another server lists them; undefined if no event has. */
  dexList: unknown[] | undefined;
  /** The markets of a dex as another server lists them. */
  universes: Map<string, Record<string, unknown>>;
  /** By user. */
  modes: Map<string, string>;
  isPartial: boolean;
  /** Null if there is none, undefined if no event has named one. */
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

/** The key of a user's account on a dex, or of a user's holding in a coin. */
export function keyOf(user: string, dexOrCoin: string): string {
  return `${user.toLowerCase()} ${dexOrCoin}`;
}

/** The questions to the endpoint and its answers, with the names on the wire. */

interface MarginSummary {
  readonly accountValue: string;
  readonly totalNtlPos: string;
  readonly totalRawUsd: string;
  readonly totalMarginUsed: string;
}

export interface Position {
  readonly coin: string;
  readonly szi: string;
  readonly leverage: {
    readonly type: 'cross' | 'isolated';
    readonly value: number;
    /** Absent in a cross position if the exchange gave the answer. */
    readonly rawUsd?: string;
  };
  readonly entryPx: string;
  readonly positionValue: string;
  readonly unrealizedPnl: string;
  readonly returnOnEquity: string;
  readonly liquidationPx: string | null;
  readonly marginUsed: string;
  readonly maxLeverage: number;
  readonly cumFunding: {
    readonly allTime: string;
    readonly sinceOpen: string;
    readonly sinceChange: string;
  };
}

export interface AccountState {
  readonly marginSummary: MarginSummary;
  readonly crossMarginSummary: MarginSummary;
  readonly crossMaintenanceMarginUsed: string;
  readonly withdrawable: string;
  readonly assetPositions: readonly { readonly type: 'oneWay'; readonly position: Position }[];
  readonly time: number;
}

/** A user's account on each dex, in the order of the dexes. */
export type States = readonly (readonly [dex: string, state: AccountState])[];

export interface Delegation {
  readonly validator: string;
  readonly amount: string;
  readonly lockedUntilTimestamp: number;
}

export interface Auction {
  readonly startTimeSeconds: number;
  readonly durationSeconds: number;
  readonly startGas: string;
  readonly currentGas: string;
  readonly endGas: string | null;
}

export interface ArchivedSpan {
  readonly first: number;
  readonly firstTime: number;
  readonly last: number;
  readonly lastTime: number;
}

export interface Health {
  readonly status: string;
  readonly message: string;
  /** The identity of the ledger. */
  readonly ledger: string;
  readonly height: number;
  readonly time: number;
  readonly lagMs: number;
  /** The ledger is stale from this age on; 0 means no limit. */
  readonly maxAgeMs: number;
  readonly head: number;
  /** The first and the last height in the archive, with their times. Absent without an archive. */
  readonly archive?: ArchivedSpan;
  /** The URL of the operator's explorer, with {address} in place of an address. */
  readonly explorerUrl?: string;
  /** The follower's last report, if the ledger follows an exchange. */
  readonly follow?: FollowReport;
}

/**
 * The follower's report. Ages are in milliseconds; an age is null if there is nothing that could
 * have an age.
 */
export interface FollowReport {
  /** The exchange's address, without its path. */
  readonly upstream: string;
  readonly isHealthy: boolean;
  readonly reason: string;
  readonly ages: {
    readonly marks: number | null;
    readonly otherMarks: number | null;
    readonly markets: number | null;
    readonly stream: number | null;
    readonly accountsMedian: number | null;
    readonly accountsMax: number | null;
  };
  readonly followed: number;
  readonly budget: { readonly limit: number; readonly left: number } | null;
  readonly leftOut: {
    readonly count: number;
    readonly named: readonly { readonly subscription: string; readonly reason: string }[];
  };
  readonly counters: {
    readonly mismatches: Readonly<Record<string, number>>;
    readonly surprises: Readonly<Record<string, number>>;
  };
}

export interface Question {
  readonly type: string;
  readonly user?: string;
  readonly dex?: string;
  /**
   * A moment of the past: `atHeight` names a height, `atTime` names the last block that is not
   * later.
   */
  readonly atHeight?: number;
  readonly atTime?: number;
  /** The start, the end and the step of a time series, in milliseconds. */
  readonly from?: number;
  readonly to?: number;
  readonly step?: number;
}

/**
 * An answer, the height and time of the ledger that it is from, and the time of its account data.
 */
export interface Answer<T = unknown> {
  readonly value: T;
  /**
   * The ledger height of the answer; undefined if the exchange gave the answer, which is then from
   * no ledger.
   */
  readonly height: number | undefined;
  readonly time: number;
  /**
   * The time at which the account was read from the exchange; undefined on a ledger that follows no
   * exchange.
   */
  readonly accountTime: number | undefined;
}

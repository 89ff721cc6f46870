/** A ledger of one user with a few positions and stakes, written by hand. */

export const USER = `0x${'ab'.repeat(20)}`;
export const OTHER = `0x${'cd'.repeat(20)}`;
export const NOBODY = `0x${'0'.repeat(39)}1`;
export const VALIDATORS = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`];

const TIERS = [{ lowerBound: '0.0', maxLeverage: 20 }];
const NO_FUNDING = { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' };

/** What a user holds: coin, signed size, mark, and what it cost. */
export interface Held {
  readonly coin: string;
  readonly szi: string;
  readonly markPx: string;
  readonly entryNtl: string;
}

const HOLDINGS: readonly Held[] = [
  { coin: 'BTC', szi: '0.5', markPx: '86000.0', entryNtl: '42000.0' },
  { coin: 'ETH', szi: '-4.0', markPx: '3100.0', entryNtl: '12500.0' },
  { coin: 'SOL', szi: '100.0', markPx: '150.0', entryNtl: '15000.0' },
];

export interface Start {
  /** Of the first block, in milliseconds. */
  readonly time: number;
  readonly holdings?: readonly Held[];
  /** Further events of the first block. */
  readonly events?: readonly object[];
}

export function formatBlock(height: number, time: number, events: readonly object[]): string {
  return JSON.stringify({ height, time, events });
}

export function firstBlock({ time, holdings = HOLDINGS, events = [] }: Start): string {
  const markets = holdings.map(({ coin, markPx }) => ({
    type: 'market',
    dex: '',
    coin,
    szDecimals: 2,
    marginTiers: TIERS,
    onlyIsolated: false,
    markPx,
  }));
  const account = accountOf(USER, '20000.0', holdings);
  return formatBlock(1, time, [...markets, account, ...events]);
}

/** What a user has on the first dex, whose markets are in the block already. */
export function accountOf(
  user: string,
  rawUsd: string,
  holdings: readonly Omit<Held, 'markPx'>[],
): object {
  const positions = holdings.map(({ coin, szi, entryNtl }) => ({
    ...{ coin, szi, entryNtl, cumFunding: NO_FUNDING },
    leverage: { type: 'cross', value: 10 },
  }));
  return { type: 'account', user, dex: '', rawUsd, positions };
}

/** A second dex, on which the user has an isolated position that is 4.6 % from its liquidation. */
export const METALS: readonly object[] = [
  { type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: NOBODY },
  {
    ...{ type: 'market', dex: 'xyz', coin: 'xyz:GOLD', szDecimals: 2, onlyIsolated: false },
    ...{ marginTiers: TIERS, markPx: '100.0' },
  },
  {
    ...{ type: 'account', user: USER, dex: 'xyz', rawUsd: '0.0' },
    positions: [
      {
        ...{ coin: 'xyz:GOLD', szi: '100.0', entryNtl: '10000.0', cumFunding: NO_FUNDING },
        leverage: { type: 'isolated', value: 10, rawUsd: '-9300.0' },
      },
    ],
  },
];

export function delegation(
  validator: string,
  amount: string,
  lockedUntilTimestamp: number,
  user = USER,
): object {
  return { type: 'delegation', user, validator, amount, lockedUntilTimestamp };
}

export function auction(startTimeSeconds: number, durationSeconds: number): object {
  return {
    type: 'deployAuction',
    startTimeSeconds,
    durationSeconds,
    startGas: '1000.0',
    floorGas: '500.0',
  };
}

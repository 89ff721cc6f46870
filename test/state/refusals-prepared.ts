/**
 * What the refusals are tried on: a ledger of three blocks with something of everything in it, the
 * good events that a refused block starts with, and a good event of each kind to spoil.
 */

import type { EventType } from '../../src/events/event.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** A row of a table of refusals: what is changed in the sample, and what the message then says. */
export type Refused = readonly [change: Fields, reason: string];

/** An event as a block's line has it. */
export interface WireEvent extends Fields {
  readonly type: EventType;
}

export const ALICE = '0xa11ce00000000000000000000000000000000001';
export const BOB = '0xb0b0000000000000000000000000000000000002';
/** Her amounts are the largest possible. */
export const CAROL = '0xca40100000000000000000000000000000000003';
/** His size and funding are the largest possible, the rest is small. */
export const FRANK = '0xf4a2c00000000000000000000000000000000004';
/** Only the good events of the next block name these two. */
export const DAVE = '0xda5e000000000000000000000000000000000005';
const ERIN = '0xe419000000000000000000000000000000000006';
/** No event names this user. */
export const STRANGER = '0x5742a00000000000000000000000000000000007';

/** Alice's delegation here is locked, the next one is not. */
export const LOCKED_VALIDATOR = '0x10cced0000000000000000000000000000000008';
export const VALIDATOR = '0x0a11da7040000000000000000000000000000009';

/** The largest amounts that are stored: of USD, of a size with 5 decimals, of stake and gas. */
const USD_MAX = '9007199254.740991';
export const SIZE_MAX = '90071992547.40991';
export const STAKE_MAX = '92233720368.54775807';

export const TIME = 1_758_556_800_000;

const NO_FUNDING = { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' };
const FULL_FUNDING = { allTime: USD_MAX, sinceOpen: USD_MAX, sinceChange: USD_MAX };
const CROSS = { type: 'cross', value: 20 };

/** A position as an `account` event gives it. */
export const POSITION = {
  coin: 'BTC',
  szi: '0.5',
  entryNtl: '30000.0',
  leverage: CROSS,
  cumFunding: NO_FUNDING,
};

/** A delegation as a `delegations` event gives it. */
export const LISTED_DELEGATION = {
  validator: VALIDATOR,
  amount: '1.0',
  lockedUntilTimestamp: TIME,
};

const MARKETS: readonly WireEvent[] = [
  { type: 'perpDex', dex: 'xyz', fullName: 'Metals and more', deployer: BOB },
  {
    type: 'market',
    dex: '',
    coin: 'BTC',
    szDecimals: 5,
    marginTiers: [
      { lowerBound: '0.0', maxLeverage: 40 },
      { lowerBound: '150000000.0', maxLeverage: 20 },
    ],
    onlyIsolated: false,
    markPx: '60000.5',
  },
  {
    type: 'market',
    dex: '',
    coin: 'ETH',
    szDecimals: 4,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 25 }],
    onlyIsolated: false,
    markPx: '2500.25',
  },
  {
    type: 'market',
    dex: '',
    coin: 'MEME',
    szDecimals: 0,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 3 }],
    onlyIsolated: true,
    markPx: '0.25',
  },
  {
    type: 'market',
    dex: 'xyz',
    coin: 'xyz:GOLD',
    szDecimals: 3,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 20 }],
    onlyIsolated: false,
    markPx: '2400.125',
  },
];

/** Alice: BTC cross, ETH closed, MEME isolated. Bob: ETH isolated, xyz:GOLD cross. */
const ACCOUNTS: readonly WireEvent[] = [
  { type: 'transfer', user: ALICE, dex: '', amount: '100000.0' },
  { type: 'fill', user: ALICE, coin: 'BTC', side: 'B', sz: '0.5', px: '60000.0', fee: '12.5' },
  { type: 'fill', user: ALICE, coin: 'ETH', side: 'A', sz: '2.0', px: '2500.0', fee: '1.0' },
  { type: 'fill', user: ALICE, coin: 'ETH', side: 'B', sz: '2.0', px: '2490.0', fee: '1.0' },
  { type: 'fill', user: ALICE, coin: 'MEME', side: 'B', sz: '4000', px: '0.25', fee: '0.5' },
  { type: 'transfer', user: BOB, dex: '', amount: '50000.0' },
  { type: 'leverage', user: BOB, coin: 'ETH', mode: 'isolated', value: 10 },
  { type: 'fill', user: BOB, coin: 'ETH', side: 'A', sz: '3.0', px: '2500.0', fee: '-0.25' },
  { type: 'transfer', user: BOB, dex: 'xyz', amount: '7000.0' },
  { type: 'fill', user: BOB, coin: 'xyz:GOLD', side: 'B', sz: '1.5', px: '2399.5', fee: '0.1' },
  {
    type: 'account',
    user: CAROL,
    dex: '',
    rawUsd: USD_MAX,
    positions: [
      { ...POSITION, entryNtl: USD_MAX },
      {
        ...POSITION,
        coin: 'ETH',
        szi: '1.0',
        leverage: { type: 'isolated', value: 10, rawUsd: USD_MAX },
      },
      {
        ...POSITION,
        coin: 'MEME',
        szi: '-1',
        leverage: { type: 'isolated', value: 3, rawUsd: `-${USD_MAX}` },
      },
    ],
  },
  {
    type: 'account',
    user: FRANK,
    dex: '',
    rawUsd: '0.0',
    positions: [{ ...POSITION, szi: SIZE_MAX, cumFunding: FULL_FUNDING }],
  },
];

const STAKES_AND_AUCTION: readonly WireEvent[] = [
  { type: 'delegate', user: ALICE, validator: LOCKED_VALIDATOR, amount: '100.0' },
  {
    type: 'delegation',
    user: ALICE,
    validator: VALIDATOR,
    amount: '250.5',
    lockedUntilTimestamp: TIME,
  },
  {
    type: 'delegation',
    user: CAROL,
    validator: VALIDATOR,
    amount: STAKE_MAX,
    lockedUntilTimestamp: TIME,
  },
  {
    type: 'deployAuction',
    startTimeSeconds: TIME / 1000,
    durationSeconds: 111_600,
    startGas: '500.0',
    floorGas: '100.0',
  },
  { type: 'dexes', list: [null, { name: 'xyz', fullName: 'Metals and more' }] },
  { type: 'universe', dex: '', meta: { universe: [{ name: 'BTC' }, { name: 'ETH' }] } },
  { type: 'accountMode', user: ALICE, mode: 'default' },
];

/** The blocks that the refusals are tried on. */
export const PREPARED_BLOCKS = [
  { height: 1, time: TIME, events: MARKETS },
  { height: 2, time: TIME + 1000, events: ACCOUNTS },
  { height: 3, time: TIME + 2000, events: STAKES_AND_AUCTION },
];

export const NEXT_HEIGHT = PREPARED_BLOCKS.length + 1;
export const NEXT_TIME = TIME + 3000;

/** They change markets, marks, accounts, addresses, delegations, the auction, lists, modes and what is known. */
export const GOOD_EVENTS: readonly WireEvent[] = [
  { type: 'perpDex', dex: 'new', fullName: 'A new dex', deployer: DAVE },
  {
    type: 'market',
    dex: 'new',
    coin: 'new:OIL',
    szDecimals: 2,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
    onlyIsolated: false,
    markPx: '70.5',
  },
  {
    type: 'market',
    dex: '',
    coin: 'ETH',
    szDecimals: 4,
    marginTiers: [
      { lowerBound: '0.0', maxLeverage: 50 },
      { lowerBound: '1000000.0', maxLeverage: 10 },
    ],
    onlyIsolated: false,
    markPx: '2501.0',
  },
  { type: 'marks', prices: { BTC: '60100.0', 'new:OIL': '71.0' } },
  { type: 'transfer', user: DAVE, dex: 'new', amount: '1000.0' },
  { type: 'fill', user: DAVE, coin: 'new:OIL', side: 'B', sz: '2.0', px: '71.0', fee: '0.1' },
  { type: 'fill', user: BOB, coin: 'ETH', side: 'B', sz: '1.0', px: '2500.5', fee: '0.2' },
  { type: 'funding', coin: 'BTC', payments: [[ALICE, '3.5']] },
  { type: 'orderMargin', user: ALICE, dex: '', amount: '250.0' },
  { type: 'collateral', user: BOB, dex: 'xyz', amount: '4000.0' },
  { type: 'leverage', user: ALICE, coin: 'BTC', mode: 'cross', value: 5 },
  { type: 'delegate', user: ERIN, validator: DAVE, amount: '10.0' },
  { type: 'delegation', user: CAROL, validator: ERIN, amount: '5.0', lockedUntilTimestamp: TIME },
  { type: 'delegation', user: CAROL, validator: ERIN, amount: '0.0', lockedUntilTimestamp: TIME },
  { type: 'undelegate', user: ALICE, validator: VALIDATOR, amount: '50.5' },
  {
    type: 'delegations',
    user: ERIN,
    delegations: [
      { validator: VALIDATOR, amount: '3.0', lockedUntilTimestamp: TIME },
      { validator: DAVE, amount: '4.0', lockedUntilTimestamp: 0 },
    ],
  },
  { type: 'accountTime', user: BOB, dex: 'xyz', time: TIME + 2500 },
  { type: 'dexes', list: [null, { name: 'new' }, { name: 'xyz' }] },
  { type: 'universe', dex: '', meta: { universe: [{ name: 'ETH' }, null, { name: 'BTC' }] } },
  { type: 'accountMode', user: ALICE, mode: 'unifiedAccount' },
  { type: 'accountMode', user: DAVE, mode: 'portfolioMargin' },
  { type: 'partial' },
  { type: 'deployAuctionEnd', endGas: '499.0' },
  { type: 'noDeployAuction' },
  {
    type: 'deployAuction',
    startTimeSeconds: TIME / 1000,
    durationSeconds: 3600,
    startGas: '998.0',
    floorGas: '100.0',
  },
];

/** An event of each kind that applies after the good ones; the refusals spoil one thing in it. */
export const SAMPLES: { readonly [T in EventType]: Fields } = {
  perpDex: { dex: 'abc', fullName: 'Another dex', deployer: STRANGER },
  market: {
    dex: 'xyz',
    coin: 'xyz:SILVER',
    szDecimals: 2,
    marginTiers: [
      { lowerBound: '0.0', maxLeverage: 20 },
      { lowerBound: '5000.0', maxLeverage: 10 },
    ],
    onlyIsolated: false,
    markPx: '30.125',
  },
  marks: { prices: { ETH: '2502.5', 'xyz:GOLD': '2401.5' } },
  dexes: { list: [null, { name: 'xyz' }] },
  universe: { dex: 'xyz', meta: { universe: [{ name: 'xyz:GOLD' }], collateralToken: 268 } },
  account: { user: STRANGER, dex: '', rawUsd: '1000.0', positions: [POSITION] },
  accountTime: { user: ALICE, dex: '', time: NEXT_TIME },
  accountMode: { user: STRANGER, mode: 'unifiedAccount' },
  transfer: { user: STRANGER, dex: '', amount: '-25.5' },
  orderMargin: { user: ALICE, dex: '', amount: '10.0' },
  collateral: { user: ALICE, dex: '', amount: '10.0' },
  leverage: { user: ALICE, coin: 'BTC', mode: 'cross', value: 40 },
  fill: { user: ALICE, coin: 'BTC', side: 'B', sz: '0.1', px: '60000.5', fee: '1.5' },
  isolatedMargin: { user: ALICE, coin: 'MEME', amount: '20.0' },
  funding: { coin: 'BTC', payments: [[ALICE, '1.5']] },
  delegate: { user: STRANGER, validator: VALIDATOR, amount: '1.0' },
  undelegate: { user: ALICE, validator: VALIDATOR, amount: '1.0' },
  delegationReward: { user: ALICE, validator: VALIDATOR, amount: '1.0' },
  delegation: { user: ALICE, validator: VALIDATOR, amount: '1.0', lockedUntilTimestamp: TIME },
  delegations: { user: ALICE, delegations: [LISTED_DELEGATION] },
  partial: {},
  deployAuction: {
    startTimeSeconds: TIME / 1000,
    durationSeconds: 3600,
    startGas: '900.0',
    floorGas: '100.0',
  },
  deployAuctionEnd: { endGas: '450.0' },
  noDeployAuction: {},
};

/** The next block's line: the good events, then these. */
export function nextLine(...events: readonly unknown[]): string {
  return JSON.stringify({
    height: NEXT_HEIGHT,
    time: NEXT_TIME,
    events: [...GOOD_EVENTS, ...events],
  });
}

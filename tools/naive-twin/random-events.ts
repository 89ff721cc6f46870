/**
 * Random events on few users and coins, so that the events affect each other: positions grow,
 * shrink, close and flip, delegations unlock, and auctions follow each other. Most events are
 * valid, some are only slightly invalid, and in some the JSON is damaged.
 */

import fc from 'fast-check';
import {
  DAY_MS,
  SAFE_MAX,
  STAKE_MAX,
  type WireBlock,
  type WireEvent,
  type WireEventOf,
  type WireFields,
  type WirePosition,
  type WireType,
} from './naive-block.ts';
import { writeDecimal } from './naive-decimal.ts';

export const USERS = ['a1', 'b2', 'c3'].map((digits) => `0x${digits.repeat(20)}`);
const DEXES = ['', 'xyz', 'abc'];
const START_TIME = 1_700_000_000_000;

interface Coin {
  dex: string;
  coin: string;
  szDecimals: number;
  onlyIsolated: boolean;
}

const COINS: readonly Coin[] = [
  { dex: '', coin: 'BTC', szDecimals: 5, onlyIsolated: false },
  { dex: '', coin: 'DOGE', szDecimals: 0, onlyIsolated: false },
  { dex: 'xyz', coin: 'xyz:GOLD', szDecimals: 2, onlyIsolated: true },
  { dex: 'xyz', coin: 'xyz:BTC', szDecimals: 6, onlyIsolated: false },
];

/** Returns mostly a usual value, and sometimes an unusual value. */
function mostly<T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>, weight = 20): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: other });
}

function units(min: bigint, max: bigint, decimals: number): fc.Arbitrary<string> {
  return fc.bigInt(min, max).map((value) => writeDecimal(value, decimals));
}

function nearLimit(limit: bigint, decimals: number): fc.Arbitrary<string> {
  return units(limit - 3n, limit, decimals);
}

/**
 * A user. The first user is the most frequent, so that its positions and delegations have a
 * history.
 */
const user = fc
  .tuple(fc.constantFrom(USERS[0], ...USERS), fc.boolean())
  .map(([address, isUpper]) => (isUpper ? `0x${address.slice(2).toUpperCase()}` : address));
const dex = mostly(fc.constantFrom(...DEXES), fc.constant('nope'), 40);
const known = fc.constantFrom(...COINS);
const coin = mostly(
  known.map((market) => market.coin),
  fc.constantFrom('NOPE', 'xyz:NOPE', '', 'constructor'),
  40,
);
const usd = mostly(
  fc.oneof(units(-50n, 50n, 6), units(-2_000_000_000n, 2_000_000_000n, 6)),
  fc.oneof(nearLimit(SAFE_MAX, 6), nearLimit(-SAFE_MAX + 3n, 6)),
  12,
);
const usdZeroOrMore = mostly(units(0n, 2_000_000_000n, 6), nearLimit(SAFE_MAX, 6));
/** An entry notional. It is often so small that shrinking a position truncates it to zero. */
const entryNotional = mostly(
  fc.oneof(units(1n, 3n, 6), units(1n, 2_000_000_000n, 6)),
  nearLimit(SAFE_MAX, 6),
);
const stake = mostly(units(1n, 4n, 0), fc.oneof(units(0n, 9n, 8), nearLimit(STAKE_MAX, 8)), 8);

/**
 * Returns one of few sizes. Some sizes are sums of others, so that positions close and flip
 * exactly.
 */
function sizeText(szDecimals: number): fc.Arbitrary<string> {
  const usual = mostly(units(1n, 4n, szDecimals), units(1n, 1_000_000n, szDecimals), 3);
  return mostly(usual, fc.oneof(fc.constant('0.0'), units(1n, SAFE_MAX, szDecimals)), 30);
}

function priceText(szDecimals: number): fc.Arbitrary<string> {
  const decimals = 6 - szDecimals;
  const usual = fc.oneof(units(90n, 110n, decimals), units(1n, 5_000n, decimals));
  return mostly(usual, fc.oneof(fc.constant('0.0'), units(1n, SAFE_MAX, decimals)), 60);
}

function tiersOf(furtherMax: number): fc.Arbitrary<WirePosition['marginTiers'] & object> {
  return fc
    .array(fc.tuple(fc.bigInt(1n, 3_000n), fc.integer({ min: 1, max: 50 })), {
      maxLength: furtherMax,
    })
    .chain((further) =>
      fc.integer({ min: 3, max: 50 }).map((maxLeverage) => [
        { lowerBound: '0.0', maxLeverage },
        // The tiers are not sorted. Tiers that do not ascend are refused; one or two tiers usually
        // ascend.
        ...further.map(([bound, leverage]) => ({
          lowerBound: writeDecimal(bound, 0),
          maxLeverage: leverage,
        })),
      ]),
    );
}

function marketOf(market: Coin): fc.Arbitrary<WireFields['market']> {
  return fc.record({
    dex: mostly(fc.constant(market.dex), fc.constantFrom(...DEXES)),
    coin: fc.constant(market.coin),
    szDecimals: mostly(fc.constant(market.szDecimals), fc.integer({ min: 0, max: 6 })),
    marginTiers: tiersOf(4),
    onlyIsolated: mostly(fc.constant(market.onlyIsolated), fc.boolean(), 3),
    markPx: priceText(market.szDecimals),
  });
}

const newCoin: fc.Arbitrary<Coin> = fc
  .tuple(fc.constantFrom(...DEXES), fc.constantFrom('NEW1', 'New2', 'n3', 'bad:name', 'a-b', ''))
  .map(([name, suffix]) => ({
    dex: name,
    coin: name === '' ? suffix : `${name}:${suffix}`,
    szDecimals: 1,
    onlyIsolated: false,
  }));

function positionOf(market: Coin): fc.Arbitrary<WirePosition> {
  const value = fc.integer({ min: 1, max: 60 });
  const size = fc.tuple(sizeText(market.szDecimals), fc.constantFrom('', '-'));
  const usual = fc.record({
    coin: fc.constant(market.coin),
    szi: size.map(([text, minus]) => minus + text),
    entryNtl: entryNotional,
    leverage: fc.oneof(
      fc.record({ type: fc.constant('cross' as const), value }),
      fc.record({ type: fc.constant('isolated' as const), value, rawUsd: usd }),
    ),
    cumFunding: fc.record({ allTime: usd, sinceOpen: usd, sinceChange: usd }),
  });
  const withTiers = fc
    // There are few tiers, so that they are accepted often enough, and the positions are affected
    // by every kind of fill.
    .tuple(usual, tiersOf(1))
    .map(([position, marginTiers]) => ({ ...position, marginTiers }));
  return mostly<WirePosition>(usual, withTiers, 1);
}

const account = fc.constantFrom('', 'xyz').chain((name) => {
  const own = COINS.filter((market) => market.dex === name);
  return fc.record({
    user,
    dex: mostly(fc.constant(name), dex),
    rawUsd: usd,
    positions: fc.array(fc.constantFrom(...own).chain(positionOf), { maxLength: 2 }),
  });
});

const fill = known.chain((market) =>
  fc.record({
    user,
    coin: fc.constant(market.coin),
    side: fc.constantFrom('B' as const, 'A' as const),
    sz: sizeText(market.szDecimals),
    px: priceText(market.szDecimals),
    fee: mostly(units(-20n, 200n, 6), usd),
  }),
);

const prices = fc
  .array(
    known.chain((market) => fc.tuple(fc.constant(market.coin), priceText(market.szDecimals))),
    { maxLength: 3 },
  )
  .map((pairs): Record<string, string> => Object.fromEntries(pairs));

const someTime = fc.oneof(
  fc.constant(0),
  fc.nat(3 * DAY_MS).map((sinceStart) => START_TIME + sinceStart),
);

/** Returns an element of another server's list. Most elements name a coin or a dex. */
function listed(names: readonly string[]): fc.Arbitrary<unknown> {
  const named = fc.constantFrom(...names).map((name) => ({ name, szDecimals: 2 }));
  return mostly(named, fc.constantFrom(null, 7, 'BTC', [], {}, { name: 7 }), 6);
}

const meta = fc.record({
  universe: fc.array(listed(['NOPE', ...COINS.map((market) => market.coin)]), { maxLength: 5 }),
  collateralToken: fc.constantFrom(0, 268),
});

const delegating = fc.record({ user, validator: user, amount: stake });

/** The fields of each kind of event, and how often the event is drawn. */
const FIELDS: { [T in WireType]: [weight: number, fields: fc.Arbitrary<WireFields[T]>] } = {
  perpDex: [
    1,
    fc.record({
      dex: fc.constantFrom('abc', 'xyz', 'q1', 'toolong', 'UP', ''),
      fullName: mostly(
        fc.constant('A dex'),
        fc.constantFrom('', '😀'.repeat(100), 'x'.repeat(101)),
      ),
      deployer: user,
    }),
  ],
  market: [2, mostly(known, newCoin, 4).chain(marketOf)],
  marks: [2, fc.record({ prices: mostly(prices, fc.constant({ NOPE: '1.0' })) })],
  dexes: [1, fc.record({ list: fc.array(listed(DEXES), { maxLength: 4 }) })],
  universe: [
    2,
    fc.record({
      dex,
      meta: mostly<Record<string, unknown>>(meta, fc.constant({ marginTables: [] })),
    }),
  ],
  account: [4, account],
  accountTime: [2, fc.record({ user, dex, time: someTime })],
  accountMode: [
    1,
    fc.record({
      user,
      mode: mostly(
        fc.constantFrom('default', 'unifiedAccount', 'm'.repeat(40), 'Z9', '0'),
        fc.constantFrom('', 'm'.repeat(41), 'a b', 'é'),
      ),
    }),
  ],
  transfer: [2, fc.record({ user, dex, amount: usd })],
  orderMargin: [1, fc.record({ user, dex, amount: mostly(usdZeroOrMore, usd) })],
  collateral: [1, fc.record({ user, dex, amount: mostly(usdZeroOrMore, usd) })],
  leverage: [
    2,
    fc.record({
      user,
      coin,
      mode: fc.constantFrom('cross' as const, 'isolated' as const),
      value: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 60 })),
    }),
  ],
  fill: [14, fill],
  isolatedMargin: [2, fc.record({ user, coin, amount: usd })],
  funding: [
    2,
    fc.record({ coin, payments: fc.array(fc.tuple(user, usd), { minLength: 0, maxLength: 2 }) }),
  ],
  delegate: [2, delegating],
  undelegate: [2, delegating],
  delegationReward: [1, delegating],
  delegation: [
    1,
    fc.record({
      user,
      validator: user,
      amount: mostly(stake, fc.constant('0.0'), 2),
      lockedUntilTimestamp: someTime,
    }),
  ],
  delegations: [
    1,
    fc.record({
      user,
      delegations: fc.array(
        fc.record({ validator: user, amount: stake, lockedUntilTimestamp: someTime }),
        { maxLength: 3 },
      ),
    }),
  ],
  partial: [1, mostly<object>(fc.constant({}), fc.constant({ since: START_TIME }), 8)],
  deployAuction: [
    1,
    fc.record({
      startTimeSeconds: fc.integer({ min: -90_000, max: 90_000 }).map((s) => 1_700_000_000 + s),
      durationSeconds: fc.oneof(fc.nat(3), fc.nat(200_000)),
      startGas: mostly(units(500n, 90_000_000_000n, 8), nearLimit(STAKE_MAX, 8), 5),
      floorGas: mostly(units(0n, 600n, 8), nearLimit(STAKE_MAX, 8), 5),
    }),
  ],
  deployAuctionEnd: [1, fc.record({ endGas: units(-1n, 90_000_000_000n, 8) })],
  noDeployAuction: [1, mostly<object>(fc.constant({}), fc.constant({ endGas: '1.0' }), 8)],
};

const randomEvent: fc.Arbitrary<WireEvent> = fc.oneof(
  ...Object.entries(FIELDS).map(([type, [weight, fields]]) => ({
    weight,
    arbitrary: (fields as fc.Arbitrary<object>).map((drawn) => ({ type, ...drawn }) as WireEvent),
  })),
);

const ODD_VALUES = [
  null,
  true,
  0,
  -1,
  7,
  1.5,
  1e300,
  '',
  '0',
  '-1',
  '+1',
  '1e5',
  ' 1',
  '1.',
  '0.00000001',
  '0.000000001',
  '9007199254.740992',
  '92233720368.54775808',
  'cross',
  '0x12',
  [],
  {},
];

interface Damage {
  /** The index of the child to change, level by level. */
  path: number[];
  kind: 'drop' | 'add' | 'replace';
  value: unknown;
}

const damage: fc.Arbitrary<Damage> = fc.record({
  path: fc.array(fc.nat(9), { minLength: 1, maxLength: 4 }),
  kind: fc.constantFrom('drop', 'add', 'replace', 'replace'),
  value: fc.constantFrom(...ODD_VALUES),
});

/** Returns a copy of a JSON value with one change. */
function damaged(source: unknown, { path, kind, value }: Damage): unknown {
  const copy = structuredClone(source) as Record<string, unknown>;
  const names = Object.keys(copy);
  const name = names[path[0] % (names.length || 1)];
  const child = copy[name];
  if (path.length > 1 && typeof child === 'object' && child !== null) {
    copy[name] = damaged(child, { path: path.slice(1), kind, value });
  } else if (kind === 'drop') {
    delete copy[name];
  } else {
    copy[kind === 'add' ? 'another' : (name ?? 'another')] = value;
  }
  return copy;
}

const damagedEvent = fc
  .tuple(randomEvent, damage)
  .map(([event, change]) => damaged(event, change) as WireEvent);

/**
 * A block, with its height and time relative to the block before. Most blocks have the next height,
 * and the same time or a later time.
 */
export const randomBlock = fc.record({
  heightStep: mostly(fc.constant(1), fc.constantFrom(0, 2, 0.5), 60),
  timeStep: mostly(
    fc.oneof(fc.constant(0), fc.nat(60_000), fc.constantFrom(DAY_MS - 1, DAY_MS, DAY_MS + 1)),
    fc.constant(-1),
    60,
  ),
  events: fc.array(mostly(randomEvent, damagedEvent, 12), { maxLength: 3 }),
});
export type BlockSteps = typeof randomBlock extends fc.Arbitrary<infer T> ? T : never;

export function blockAfter(
  { height, time }: { height: number; time: number },
  { heightStep, timeStep, events }: BlockSteps,
): WireBlock {
  return { height: height + heightStep, time: time + timeStep, events };
}

/** The first block of every sequence: it creates a second dex and the coins. */
export const FIRST_BLOCK: WireBlock = {
  height: 1,
  time: START_TIME,
  events: [
    { type: 'perpDex', dex: 'xyz', fullName: 'A second dex', deployer: USERS[0] },
    ...COINS.map(
      (market): WireEventOf<'market'> => ({
        type: 'market',
        ...market,
        marginTiers: [
          { lowerBound: '0.0', maxLeverage: 40 },
          { lowerBound: '100.0', maxLeverage: 10 },
        ],
        markPx: writeDecimal(100n, 6 - market.szDecimals),
      }),
    ),
  ],
};

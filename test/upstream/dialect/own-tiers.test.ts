/** Positions whose margin tiers are not their market's, and an isolated leg that has outlived its position. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WireEvent } from '../../../src/events/event.ts';
import { type Address, formatAddress } from '../../../src/exact/address.ts';
import type { StateView } from '../../../src/state/state.ts';
import { readAccountAnswer } from '../../../src/upstream/dialect/account-answer.ts';
import { withFittingTiers } from '../../../src/upstream/dialect/own-tiers.ts';
import { type AnsweredAccount, askAccount } from '../follower/as-upstream.ts';
import {
  accountOf,
  type FollowedExchange,
  findTraders,
  followStanding,
} from '../follower/followed-exchange.ts';
import { mustRead } from '../follower/ledgers.ts';
import { directoryOf, loadCorpus } from './corpus.ts';

type Tiers = readonly { lowerBound: string; maxLeverage: number }[];

const FIFTY: Tiers = [{ lowerBound: '0.0', maxLeverage: 50 }];
/** A table that markets of the simulated exchange have, but not BTC. */
const LISTED: Tiers = [
  { lowerBound: '0.0', maxLeverage: 10 },
  { lowerBound: '3000000.0', maxLeverage: 5 },
];
const UNLISTED: Tiers = [
  { lowerBound: '0.0', maxLeverage: 33 },
  { lowerBound: '1000.0', maxLeverage: 7 },
];

interface Held {
  readonly coin: string;
  readonly szi: string;
  readonly marginTiers?: Tiers;
  readonly rawUsd?: string;
}

/** Gives the account these positions in place of its own. */
function hold(
  exchange: FollowedExchange,
  user: Address,
  held: readonly Held[],
  cash: string,
): void {
  const name = formatAddress(user);
  const positions = held.map(({ rawUsd, ...position }) => ({
    ...position,
    entryNtl: '1000.0',
    leverage:
      rawUsd === undefined ? { type: 'cross', value: 3 } : { type: 'isolated', value: 3, rawUsd },
    cumFunding: { allTime: '1.0', sinceOpen: '1.0', sinceChange: '1.0' },
  }));
  exchange.change([
    { type: 'account', user: name, dex: '', rawUsd: cash, positions },
    { type: 'orderMargin', user: name, dex: '', amount: '0.0' },
    { type: 'collateral', user: name, dex: '', amount: '0.0' },
  ]);
}

/** Once the marks are polled, every figure is the exchange's. */
async function untilRecorded(exchange: FollowedExchange, user: Address): Promise<void> {
  const figures = (state: StateView) =>
    JSON.stringify({ ...askAccount(state, formatAddress(user), ''), time: 0 });
  const isSame = () => figures(exchange.ledger) === figures(exchange.truth);
  await exchange.until(isSame, 70_000);
}

const CASES: readonly [string, readonly Held[]][] = [
  [
    'one tier on every coin',
    [
      { coin: 'BTC', szi: '-2.0', marginTiers: FIFTY },
      { coin: 'ETH', szi: '9.0', marginTiers: FIFTY },
    ],
  ],
  [
    'a table of another market, in its second tier',
    [
      { coin: 'BTC', szi: '-60.0', marginTiers: LISTED },
      { coin: 'ETH', szi: '9.0' },
    ],
  ],
  [
    'its own table in an isolated position',
    [{ coin: 'BTC', szi: '-60.0', marginTiers: LISTED, rawUsd: '9000000.0' }],
  ],
];

for (const [name, held] of CASES) {
  test(`a position with ${name} is recorded with it, and follows the marks by it`, async (t) => {
    const exchange = await followStanding(t);
    const [user] = findTraders(exchange.truth);
    hold(exchange, user, held, '9000000.0');
    const outcome = await exchange.readItem(accountOf(user));
    assert.equal(outcome.outcome, 'recorded', exchange.log.join());
    await untilRecorded(exchange, user);
    const metas = exchange.countAsked('meta') + exchange.countAsked('allPerpMetas');
    exchange.change([{ type: 'marks', prices: { BTC: '91234.0' } }]);
    await exchange.advance(2_000);
    assert.equal((await exchange.readItem(accountOf(user), 0)).outcome, 'recorded');
    await untilRecorded(exchange, user);
    const metasLater = exchange.countAsked('meta') + exchange.countAsked('allPerpMetas');
    assert.equal(metasLater, metas, 'the recorded table explains it');
  });
}

test('one price of a unified account is confirmed by its spot balance, with tiers of its own', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  const name = formatAddress(user);
  hold(exchange, user, [{ coin: 'BTC', szi: '-2.0', marginTiers: FIFTY }], '9000000.0');
  exchange.change([{ type: 'collateral', user: name, dex: '', amount: '1234.567891' }]);
  exchange.fault = ({ type }) => {
    if (type === 'userAbstraction') return 'unifiedAccount';
    if (type !== 'spotClearinghouseState') return undefined;
    const { crossMarginSummary } = askAccount(exchange.truth, name, '');
    const value = crossMarginSummary.accountValue;
    const [whole = '', fraction = ''] = value.split('.');
    const units = BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0')) + 1_234_567_891n;
    const text = String(units);
    const total = `${text.slice(0, -6)}.${text.slice(-6)}`;
    return { balances: [{ coin: 'USDC', token: 0, total, hold: value, entryNtl: '0.0' }] };
  };
  const outcome = await exchange.readItem(accountOf(user));
  assert.equal(outcome.outcome, 'recorded', exchange.log.join());
  await untilRecorded(exchange, user);
});

test('a position whose table no market has is passed on', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, [{ coin: 'BTC', szi: '-60.0', marginTiers: UNLISTED }], '9000000.0');
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'upstream');
});

test('a position that is closed, and opened again with the tiers of its market, has these', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, [{ coin: 'BTC', szi: '-2.0', marginTiers: FIFTY }], '9000000.0');
  await exchange.readItem(accountOf(user));
  hold(exchange, user, [{ coin: 'BTC', szi: '-2.0' }], '9000000.0');
  await exchange.advance(2_000);
  assert.equal((await exchange.readItem(accountOf(user), 0)).outcome, 'recorded');
  await untilRecorded(exchange, user);
});

test('a table that the exchange has changed is not taken for one of the position', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, [{ coin: 'BTC', szi: '-2.0' }], '9000000.0');
  await exchange.readItem(accountOf(user));
  const btc = exchange.truth.markets.markets.find(({ coin }) => coin === 'BTC');
  assert.ok(btc !== undefined);
  exchange.change([
    {
      ...{
        type: 'market',
        dex: '',
        coin: 'BTC',
        szDecimals: btc.sizeDecimals,
        onlyIsolated: false,
      },
      ...{ marginTiers: FIFTY, markPx: '90000.0' },
    },
  ]);
  await exchange.advance(2_000);
  assert.equal((await exchange.readItem(accountOf(user), 0)).outcome, 'recorded');
  await untilRecorded(exchange, user);
  assert.equal(exchange.ledger.markets.tierTables.count, 0);
});

test('an isolated leg without a position is named, passed on, and read once', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, [{ coin: 'BTC', szi: '-2.0' }], '9000000.0');
  exchange.fault = ({ type, user: asked }, truth: AnsweredAccount) => {
    if (type !== 'clearinghouseState' || asked !== formatAddress(user)) return undefined;
    truth.marginSummary.accountValue = addDollars(truth.marginSummary.accountValue);
    truth.marginSummary.totalRawUsd = addDollars(truth.marginSummary.totalRawUsd);
    return truth;
  };
  const metas = exchange.countAsked('meta') + exchange.countAsked('allPerpMetas');
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'upstream');
  assert.equal(exchange.countAsked('clearinghouseState', formatAddress(user)), 1);
  assert.equal(exchange.countAsked('meta') + exchange.countAsked('allPerpMetas'), metas);
  assert.deepEqual(exchange.feed.status().counters.mismatches, { isolatedLeg: 1 });
});

test('one wrong digit in the value of an account is no isolated leg', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, [{ coin: 'BTC', szi: '-2.0' }], '9000000.0');
  exchange.fault = ({ type, user: asked }, truth: AnsweredAccount) => {
    if (type !== 'clearinghouseState' || asked !== formatAddress(user)) return undefined;
    truth.marginSummary.accountValue = `${truth.marginSummary.accountValue}000001`;
    return truth;
  };
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'upstream');
  const counted = Object.keys(exchange.feed.status().counters.mismatches);
  assert.deepEqual(counted, ['marginSummary.accountValue']);
});

test('of thousands of tables only some are tried', () => {
  const recorded = loadCorpus().find(({ name }) => name === 'copybot-leader');
  assert.ok(recorded !== undefined);
  const meta = structuredClone(recorded.meta) as { marginTables: unknown[] };
  meta.marginTables.push(...manyTables());
  const directory = directoryOf({ ...recorded, meta });
  const reading = mustRead(readAccountAnswer(recorded.clearinghouseState, { dex: '', directory }));
  let positionsValued = 0;
  const fold = directory.fold.bind(directory);
  Object.assign(directory, {
    fold: (events: readonly WireEvent[]) => {
      for (const event of events) {
        if (event.type !== 'account') continue;
        const { positions: held } = event as { readonly positions?: readonly unknown[] };
        positionsValued += held?.length ?? 0;
      }
      return fold(events);
    },
  });
  const { positions } = reading.reported;
  for (const position of positions) Object.assign(position, { maxLeverage: 33 });
  const coins = new Set(positions.map(({ coin }) => coin));
  assert.equal(withFittingTiers(reading, coins, { directory, collateral: 0 }), undefined);
  assert.ok(positionsValued > positions.length && positionsValued < 2_000, `${positionsValued}`);
});

/** 4,000 tables with a tier of the same leverage as the one that nobody lists. */
function manyTables() {
  return Array.from({ length: 4_000 }, (_, index) => {
    const lowerBound = `${index + 2_000}.0`;
    const marginTiers = [
      { lowerBound: '0.0', maxLeverage: 33 },
      { lowerBound, maxLeverage: 7 },
    ];
    return [1_000 + index, { description: 'one of many', marginTiers }];
  });
}

/** 25 dollars more, without a double. */
function addDollars(text: string): string {
  const [whole = '', fraction] = text.split('.');
  return `${BigInt(whole) + 25n}.${fraction}`;
}

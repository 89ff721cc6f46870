/** The client ccxt, as it is published, makes its own figures from our answers. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import ccxt, { type Exchange, type MarketInterface } from 'ccxt';
import { until } from '../../tools/harness/running.ts';
import { isFollowed } from '../follow/perpinfo-upstream.ts';
import { startDemo } from './demo.ts';

const demo = await startDemo({ after });
const { base, trader } = demo;

const OPTIONS = { walletAddress: trader, enableRateLimit: false };

/** Tells a client where to ask; it is closed with the tests. */
function direct<T extends Exchange>(client: T): T {
  client.urls['api'] = { public: base, private: base, ws: { public: demo.pushAddress } };
  demo.closeFirst(() => client.close());
  return client;
}

async function connect() {
  const client = direct(new ccxt.pro.hyperliquid(OPTIONS));
  // Without this the client knows no addresses that begin with ws:
  await client.loadHttpProxyAgent();
  return client;
}

const client = direct(new ccxt.hyperliquid(OPTIONS));

interface AnsweredPosition {
  readonly coin: string;
  readonly szi: string;
  readonly leverage: { readonly type: string; readonly value: number };
  readonly entryPx: string;
  readonly positionValue: string;
  readonly unrealizedPnl: string;
  readonly liquidationPx: string | null;
  readonly marginUsed: string;
}

interface AnsweredAccount {
  readonly marginSummary: { readonly accountValue: string; readonly totalMarginUsed: string };
  readonly withdrawable: string;
  readonly assetPositions: readonly { readonly position: AnsweredPosition }[];
  readonly time: number;
}

function symbolOf(coin: string): string {
  return `${coin.replace(':', '-').toUpperCase()}/USDC:USDC`;
}

/** Millionths of a dollar. */
function parseUsd(text: string): bigint {
  const [whole, decimals] = text.split('.');
  return BigInt(whole + decimals.padEnd(6, '0'));
}

/** |profit| / margin * 100, cut off as the client does it. */
function percentageOf(profit: bigint, margin: bigint): number | undefined {
  if (margin === 0n) return undefined;
  const size = profit < 0n ? -profit : profit;
  return Number(`${((size * 10n ** 18n) / margin) * 100n}e-18`);
}

/** What the client makes of a position, and of nothing else. */
function expectPosition(entry: AnsweredAccount['assetPositions'][number]) {
  const { position } = entry;
  const { coin, szi, leverage, unrealizedPnl, liquidationPx, marginUsed } = position;
  const isIsolated = leverage.type === 'isolated';
  const profit = parseUsd(unrealizedPnl);
  const margin = parseUsd(marginUsed);
  return {
    info: entry,
    id: undefined,
    symbol: symbolOf(coin),
    timestamp: undefined,
    datetime: undefined,
    isolated: isIsolated,
    hedged: undefined,
    side: szi.startsWith('-') ? 'short' : 'long',
    contracts: Math.abs(Number(szi)),
    contractSize: 1,
    entryPrice: Number(position.entryPx),
    markPrice: undefined,
    notional: Number(position.positionValue),
    leverage: leverage.value,
    collateral: Number(marginUsed),
    initialMargin: Number(`${isIsolated ? margin - profit : margin}e-6`),
    maintenanceMargin: undefined,
    initialMarginPercentage: undefined,
    maintenanceMarginPercentage: undefined,
    unrealizedPnl: Number(unrealizedPnl),
    liquidationPrice: liquidationPx === null ? undefined : Number(liquidationPx),
    marginMode: leverage.type,
    percentage: percentageOf(profit, margin),
  };
}

function expectPositions({ assetPositions }: AnsweredAccount) {
  return assetPositions.map(expectPosition);
}

test('every market of every dex is loaded, with its precision and its leverage', async () => {
  const { value: loaded, first, last } = await demo.tell(() => client.loadMarkets());
  const markets = Object.values(loaded) as MarketInterface[];
  const { dexes, markets: listed } = (await demo.stateAt(last)).markets;
  assert.equal(markets.length, listed.length);
  for (const [dexIndex, { name: dex }] of dexes.entries()) {
    const value = markets
      .filter(({ info }) => info.dex === (dexIndex === 0 ? undefined : dex))
      .map(readMarket);
    const question = { type: 'metaAndAssetCtxs', dex };
    await demo.assertTold({ value, first, last }, question, ([{ universe }, contexts]) =>
      universe.map((market: object, place: number) =>
        expectMarket({ ...market, ...contexts[place] }, { dex, dexIndex, place }),
      ),
    );
  }
});

function readMarket({
  id,
  symbol,
  active,
  contractSize,
  precision,
  limits,
  info,
}: MarketInterface) {
  return { id, symbol, active, contractSize, precision, leverageMax: limits.leverage?.max, info };
}

interface AnsweredMarket {
  readonly name: string;
  readonly szDecimals: number;
  readonly maxLeverage: number;
  readonly markPx: string;
}

interface Place {
  readonly dex: string;
  readonly dexIndex: number;
  readonly place: number;
}

/** What the client makes of a market; on further dexes it looks up the token of the margin. */
function expectMarket(market: AnsweredMarket, { dex, dexIndex, place }: Place) {
  const { name, szDecimals, maxLeverage, markPx } = market;
  const baseId = dexIndex === 0 ? place : 100_000 + dexIndex * 10_000 + place;
  const token = { collateralToken: '0', collateralTokenName: 'USDC' };
  return {
    id: String(baseId),
    symbol: symbolOf(name),
    active: true,
    contractSize: 1,
    precision: {
      amount: Number(`1e-${szDecimals}`),
      price: Number(`1e-${countPriceDecimals(markPx, szDecimals)}`),
    },
    leverageMax: maxLeverage,
    info: { ...market, baseId, ...(dexIndex === 0 ? {} : { ...token, hip3: true, dex }) },
  };
}

/** Five significant digits, but whole prices are always fine, and never more than six decimals. */
function countPriceDecimals(markPx: string, szDecimals: number): number {
  const [, zeros = ''] = /^0\.(0*)/.exec(markPx) ?? [];
  const whole = markPx.split('.')[0];
  const wanted = whole === '0' ? 5 + zeros.length : Math.max(0, 5 - whole.length);
  return Math.min(6 - szDecimals, wanted);
}

test('every figure of every position follows from the answer', async () => {
  const { dexes, markets } = (await demo.stateAt(await demo.height())).markets;
  const met = new Set<string>();
  for (const user of await demo.users()) {
    for (const [dexIndex, { name: dex }] of dexes.entries()) {
      const coins = markets.filter((market) => market.dexIndex === dexIndex);
      const symbols = dex === '' ? undefined : coins.map(({ coin }) => symbolOf(coin));
      const told = await demo.tell(() => client.fetchPositions(symbols, { user }));
      await demo.assertTold(told, { type: 'clearinghouseState', user, dex }, expectPositions);
      const where = dex === '' ? 'first dex' : 'further dex';
      for (const { marginMode, side } of told.value) met.add(`${marginMode} ${side}, ${where}`);
    }
  }
  assert.deepEqual([...met].sort(), [
    'cross long, first dex',
    'cross long, further dex',
    'cross short, first dex',
    'cross short, further dex',
    'isolated long, first dex',
    'isolated long, further dex',
    'isolated short, first dex',
    'isolated short, further dex',
  ]);
});

test('the position on one market is found', async () => {
  // A simulated trader may have closed every position.
  const symbol = await until('a position', async () => {
    const [position] = await client.fetchPositions();
    return position?.symbol;
  });
  const told = await demo.tell(() => client.fetchPosition(symbol));
  await demo.assertTold(
    told,
    { type: 'clearinghouseState', user: trader },
    (answer) => expectPositions(answer).find((position) => position.symbol === symbol) ?? {},
  );
});

function expectBalance(account: AnsweredAccount, free: number) {
  const { accountValue, totalMarginUsed } = account.marginSummary;
  const figures = { total: Number(accountValue), used: Number(totalMarginUsed), free };
  const { total, used } = figures;
  return {
    info: account,
    USDC: figures,
    timestamp: account.time,
    datetime: new Date(account.time).toISOString(),
    free: { USDC: free },
    used: { USDC: used },
    total: { USDC: total },
  };
}

/** Without margin mode the client takes for free what is not used. */
function freeOf({ marginSummary }: AnsweredAccount): number {
  const { accountValue, totalMarginUsed } = marginSummary;
  return Number(`${parseUsd(accountValue) - parseUsd(totalMarginUsed)}e-6`);
}

test('the balance is the summary of the account', async () => {
  for (const dex of ['', 'abc', 'idx']) {
    const told = await demo.tell(() => client.fetchBalance(dex === '' ? {} : { dex }));
    await demo.assertTold(told, { type: 'clearinghouseState', user: trader, dex }, (answer) =>
      expectBalance(answer, freeOf(answer)),
    );
  }
});

test('in spot there is nothing', async () => {
  const balance = await client.fetchBalance({ type: 'spot' });
  assert.deepEqual(balance, { info: { balances: [] }, free: {}, used: {}, total: {} });
});

test('the status is good, and the time that of the ledger', async () => {
  const question = { type: 'exchangeStatus' };
  await demo.assertTold(await demo.tell(() => client.fetchTime()), question, ({ time }) => time);
  await demo.assertTold(await demo.tell(() => client.fetchStatus()), question, (answer) => ({
    status: 'ok',
    updated: answer.time,
    eta: undefined,
    url: undefined,
    info: answer,
  }));
});

test('what there is not is refused in our words', {
  skip: isFollowed && 'a follower passes it on',
}, async () => {
  await assert.rejects(client.fetchOpenOrders(), (error: Error) => {
    assert.ok(error instanceof ccxt.ExchangeError);
    assert.match(
      error.message,
      /"error":"unknown_type","message":"type: got \\"frontendOpenOrders/,
    );
    return true;
  });
});

/** Asserts that what was pushed follows from the trader's account at its time. */
async function assertPushed(
  value: unknown,
  time: number,
  expectedOf: (account: AnsweredAccount) => unknown,
  earlier = 0,
): Promise<void> {
  const question = { type: 'clearinghouseState', user: trader } as const;
  const accounts = await demo.answersAt(time, question, earlier);
  const expected = accounts.map(expectedOf);
  const found = expected.find((one) => isDeepStrictEqual(value, one));
  assert.deepEqual(value, found ?? expected.at(-1));
}

test('balances are pushed as they change', async () => {
  const pushed = await connect();
  let previous = 0;
  for (let count = 0; count < 3; count++) {
    const balance = structuredClone(await pushed.watchBalance());
    const time = Number(balance.timestamp);
    // Blocks of a follower may have the same time.
    assert.ok(isFollowed ? time >= previous : time > previous);
    previous = time;
    await assertPushed(balance, time, (account) =>
      expectBalance(account, Number(account.withdrawable)),
    );
  }
});

test('positions are pushed as they change', async () => {
  const pushed = await connect();
  for (let count = 0; count < 3; count++) {
    const positions = structuredClone([...(await pushed.watchPositions())]);
    // They have no time of their own: the next balance is of their message, or of one soon after it.
    const { timestamp } = await pushed.watchBalance();
    await assertPushed(positions, Number(timestamp), expectPositions, 30);
  }
});

test('prices are pushed as they change', async () => {
  const pushed = await connect();
  for (const [dex, question] of [
    [undefined, { type: 'allMids' }],
    ['abc', { type: 'allMids', dex: 'abc' }],
  ] as const) {
    const told = await demo.tell(() => pushed.watchTickers(undefined, dex ? { dex } : {}));
    const { markets } = await demo.stateAt(told.last);
    const coins = markets.markets.filter(
      ({ dexIndex }) => markets.dexes[dexIndex].name === (dex ?? ''),
    );
    const shown = coins.map(({ coin }) => [coin, told.value[symbolOf(coin)]?.last]);
    await demo.assertTold({ ...told, value: Object.fromEntries(shown) }, question, (answer) =>
      Object.fromEntries(Object.entries(answer).map(([coin, price]) => [coin, Number(price)])),
    );
  }
});

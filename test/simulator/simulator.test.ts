import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { EVENT_TYPES, parseBlock } from '../../src/events/event.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import {
  createSimulator,
  type Simulator,
  type SimulatorOptions,
} from '../../src/simulator/simulator.ts';
import { type AccountFigures, accountFigures } from '../../src/state/figures/figures.ts';
import { liquidationPrice } from '../../src/state/figures/liquidation.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State, type StateView } from '../../src/state/state.ts';
import { CASH, marketOfTerms, SIZE, TERMS } from '../../src/state/tables/columns.ts';
import { ALSO_FULL, LONG_ONLY, scale } from '../scale.ts';
import { NOT_SIMULATED } from './not-simulated.ts';

const LINE_BYTES_MAX = 256 * 1024;
const DEMO: SimulatorOptions = { seed: 'demo', accounts: 50 };

interface WireEvent {
  type: string;
  [field: string]: unknown;
}

function makeLines(simulator: Simulator, count: number): string[] {
  return Array.from({ length: count }, () => simulator.next());
}

function replay(lines: readonly string[], state = createState()): State {
  for (const line of lines) applyBlock(state, parseBlock(line));
  return state;
}

function eventsOf(lines: readonly string[]): WireEvent[] {
  return lines.flatMap((line) => JSON.parse(line).events as WireEvent[]);
}

function allFigures(state: StateView): AccountFigures[] {
  const rows = Array.from({ length: state.accounts.rowCount - 1 }, (_, index) => index + 1);
  return rows.map((account) => accountFigures(state, account));
}

/** Longs less shorts, by market. */
function netSizes({ markets, positions }: StateView): number[] {
  const net = markets.markets.map(() => 0);
  for (let row = 1; row < positions.rowCount; row++) {
    net[marketOfTerms(positions.get(row, TERMS))] += positions.get(row, SIZE);
  }
  return net;
}

const demo = createSimulator(DEMO);
const demoLines = makeLines(demo, 600);

test('the same seed gives the same bytes', () => {
  assert.deepEqual(makeLines(createSimulator(DEMO), 200), demoLines.slice(0, 200));
});

test('the first 600 lines of a seed never change', () => {
  const digest = createHash('sha256').update(demoLines.join('\n')).digest('hex');
  assert.equal(digest, '1b7375ea257611facab9f722ffb10a193766ccc28743c398ed59dd4fd2c0c5b2');
});

test('another seed gives other blocks and other users', () => {
  const lines = makeLines(createSimulator({ ...DEMO, seed: 'other' }), 20);
  const users = new Set(eventsOf(lines).map(({ user }) => user));
  users.delete(undefined);
  assert.ok(users.size > 40);
  assert.ok(eventsOf(demoLines).every(({ user }) => !users.has(user)));
});

test('every line applies to a fresh state and gives the state that the simulator has', () => {
  const state = replay(demoLines);
  assert.equal(state.height, 600);
  assert.equal(state.time, demo.state.time);
  assert.equal(stateDigest(state), stateDigest(demo.state));
  assert.deepEqual(state.accounts.cells, demo.state.accounts.cells);
  assert.deepEqual(state.positions.cells, demo.state.positions.cells);
  assert.deepEqual(state.delegations.cells, demo.state.delegations.cells);
});

test('every kind of event that an exchange itself has occurs within 600 blocks of 50 accounts, whatever the seed', () => {
  for (const seed of scale<(string | number)[]>(['demo'], ['demo', 1, 2, 3])) {
    const lines = seed === 'demo' ? demoLines : makeLines(createSimulator({ ...DEMO, seed }), 600);
    const types = new Set(eventsOf(lines).map(({ type }) => type));
    assert.deepEqual(
      EVENT_TYPES.filter((type) => !types.has(type)),
      NOT_SIMULATED,
      `seed ${seed}`,
    );
  }
});

test('positions are long and short, cross and isolated, in several tiers, with and without a liquidation price', () => {
  const seen = new Set<string>();
  for (const figures of allFigures(demo.state)) {
    for (const position of figures.positions) {
      seen.add(position.size > 0 ? 'long' : 'short');
      seen.add(position.isIsolated ? 'isolated' : 'cross');
      const isFirstTier = position.maxLeverage === position.market.tiers[0].maxLeverage;
      seen.add(isFirstTier ? 'first tier' : 'higher tier');
      const price = liquidationPrice(figures, position);
      seen.add(price === undefined ? 'no liquidation price' : 'liquidation price');
    }
  }
  assert.deepEqual([...seen].sort(), [
    'cross',
    'first tier',
    'higher tier',
    'isolated',
    'liquidation price',
    'long',
    'no liquidation price',
    'short',
  ]);
});

test('every trade has two sides, so that longs equal shorts in every market', () => {
  const fills = eventsOf(demoLines).filter(({ type }) => type === 'fill');
  for (let index = 0; index < fills.length; index += 2) {
    const { user: taker, fee: takerFee, ...taken } = fills[index];
    const { user: maker, fee: makerFee, ...given } = fills[index + 1];
    assert.deepEqual({ ...taken, side: taken['side'] === 'B' ? 'A' : 'B' }, given);
    assert.notEqual(taker, maker);
    assert.ok(Number(takerFee) > 0 || Number(taken['sz']) * Number(taken['px']) < 0.01);
    assert.ok(Number(makerFee) < Number(takerFee));
  }
  assert.ok(netSizes(demo.state).every((net) => net === 0));
});

test('marks have at most five significant figures, unless they are whole dollars', () => {
  for (const { type, prices } of eventsOf(demoLines)) {
    if (type !== 'marks') continue;
    for (const text of Object.values(prices as Record<string, string>)) {
      const figures = text.replace(/\.0$/, '').replace('.', '').replace(/^0+/, '');
      assert.ok(figures.length <= 5 || text.endsWith('.0'), text);
    }
  }
});

test('nobody takes out more than is withdrawable', () => {
  const state = createState();
  let count = 0;
  for (const line of demoLines) {
    for (const { type, user, dex, amount } of eventsOf([line])) {
      if (type !== 'transfer' || Number(amount) >= 0) continue;
      const answer = answerQuestion(state, { type: 'clearinghouseState', user, dex });
      assert.ok(-Number(amount) <= Number(JSON.parse(answer).withdrawable));
      count++;
    }
    replay([line], state);
  }
  assert.ok(count > 0);
});

test('accounts stay solvent and of a believable size', LONG_ONLY, () => {
  const simulator = createSimulator({ seed: 'solvent', accounts: 200 });
  makeLines(simulator, 3000);
  for (const figures of allFigures(simulator.state)) {
    const accountValue = Number(figures.summary.accountValue) / 1e6;
    const notional = Number(figures.summary.totalNtlPos) / 1e6;
    assert.ok(accountValue > -100, `account value ${accountValue}`);
    assert.ok(accountValue < 100_000_000, `account value ${accountValue}`);
    assert.ok(notional <= 50 * Math.max(accountValue, 1000), `${notional} on ${accountValue}`);
  }
});

test('an account below its maintenance margin is closed soon', ALSO_FULL, () => {
  const simulator = createSimulator({ seed: 'liquidated', accounts: 60 });
  const blocksBelow = new Map<number, number>();
  let liquidations = 0;
  for (let block = 0; block < scale(500, 1500); block++) {
    simulator.next();
    for (const [index, figures] of allFigures(simulator.state).entries()) {
      const { crossSummary, collateral, crossMaintenanceMargin } = figures;
      const equity = Number(crossSummary.accountValue) + collateral;
      const isBelow = figures.positions.some(({ isIsolated, marginUsed, maintenanceMargin }) =>
        isIsolated ? marginUsed < maintenanceMargin : equity < crossMaintenanceMargin,
      );
      const blocks = isBelow ? (blocksBelow.get(index) ?? 0) + 1 : 0;
      if (blocks === 1) liquidations++;
      assert.ok(blocks <= 5, `account ${index + 1} is below for ${blocks} blocks`);
      blocksBelow.set(index, blocks);
    }
  }
  assert.ok(liquidations > 0);
});

test('without auctions the feature never becomes live', () => {
  const simulator = createSimulator({ ...DEMO, auctions: false });
  makeLines(simulator, 400);
  assert.equal(answerQuestion(simulator.state, { type: 'perpDeployAuctionStatus' }), 'null');
});

test('auctions start on multiples of their duration, at twice the last price; some are not sold', () => {
  const durationSeconds = 300;
  const simulator = createSimulator({ ...DEMO, auctionDurationSeconds: durationSeconds });
  const events = eventsOf(makeLines(simulator, 1500));
  const auctions = events.filter(({ type }) => type.startsWith('deployAuction'));
  let lastPrice = 500;
  let soldCount = 0;
  let unsoldCount = 0;
  let isRunning = false;
  for (const auction of auctions) {
    if (auction.type === 'deployAuctionEnd') {
      lastPrice = Number(auction['endGas']);
      isRunning = false;
      soldCount++;
      continue;
    }
    if (isRunning) {
      lastPrice = 500;
      unsoldCount++;
    }
    isRunning = true;
    assert.equal(Number(auction['startTimeSeconds']) % durationSeconds, 0);
    assert.equal(auction['durationSeconds'], durationSeconds);
    assert.equal(Number(auction['startGas']).toFixed(6), (2 * lastPrice).toFixed(6));
    assert.equal(auction['floorGas'], '500.0');
  }
  assert.ok(soldCount > 5, `${soldCount} sold`);
  assert.ok(unsoldCount > 5, `${unsoldCount} not sold`);
});

test('funding is paid every hour by everyone who holds a position', () => {
  const fundings = eventsOf(demoLines).filter(({ type }) => type === 'funding');
  const payers = new Set(
    fundings.flatMap(({ payments }) => (payments as [string, string][]).map(([user]) => user)),
  );
  assert.ok(payers.size >= 40);
});

test('lines stay below 256 KiB, also at the start and at the funding of many accounts', () => {
  const simulator = createSimulator({ seed: 'many', accounts: 5000, intervalMs: 600_000 });
  for (const line of [...demoLines, ...makeLines(simulator, 60)]) {
    assert.ok(Buffer.byteLength(line) < LINE_BYTES_MAX);
  }
});

test('each account begins with the number of positions that was asked for', () => {
  const simulator = createSimulator({ seed: 7, accounts: 300, positionsPerAccount: 3 });
  while (!simulator.next().includes('"marks"')) {
    const counts = allFigures(simulator.state).map(({ positions }) => positions.length);
    assert.ok(counts.every((count) => count === 3));
  }
  assert.ok(simulator.state.accounts.rowCount > 300);
});

test('a time that is given takes the place of the simulated one, and never runs back', () => {
  const simulator = createSimulator(DEMO);
  const times = [5_000_000, 6_000_000, 5_500_000, 7_000_000];
  const lines = times.map((time) => simulator.next(time));
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).time),
    [5_000_000, 6_000_000, 6_000_000, 7_000_000],
  );
});

test('a ledger is continued from its state, also one that was interrupted at its start', () => {
  for (const height of [0, 1, 2, 3, 4, 300]) {
    const state = replay(demoLines.slice(0, height));
    const simulator = createSimulator({ ...DEMO, resume: state });
    const copy = replay(demoLines.slice(0, height));
    replay(makeLines(simulator, 50), copy);
    assert.equal(copy.height, height + 50);
    assert.deepEqual(copy.positions.cells, simulator.state.positions.cells);
    assert.ok(netSizes(copy).every((net) => net === 0));
    assert.equal(copy.markets.markets.length, demo.state.markets.markets.length);
  }
});

test('a ledger that is continued goes on trading at once', () => {
  const simulator = createSimulator({ ...DEMO, resume: replay(demoLines) });
  const types = new Set(eventsOf([simulator.next()]).map(({ type }) => type));
  assert.ok(types.has('marks'));
  assert.ok(!types.has('account') && !types.has('perpDex'));
});

test('a ledger is continued with another seed and more accounts', () => {
  const before = demo.state.accounts.rowCount;
  const state = replay(demoLines);
  const simulator = createSimulator({ seed: 'new', accounts: 80, resume: state });
  replay(makeLines(simulator, 100), replay(demoLines));
  assert.ok(simulator.state.accounts.rowCount > before + 60);
});

test('one account alone makes valid blocks', () => {
  const simulator = createSimulator({ seed: 1, accounts: 1 });
  replay(makeLines(simulator, 50));
  assert.ok(simulator.state.accounts.get(1, CASH) > 0);
});

test('options that make no sense are refused by name', () => {
  assert.throws(() => createSimulator({ seed: 1, accounts: 0 }), /^RangeError: accounts: got 0/);
  const tooMany = { seed: 1, accounts: 5, positionsPerAccount: 100 };
  assert.throws(() => createSimulator(tooMany), /^RangeError: positionsPerAccount: got 100/);
});

/** A snapshot holds the whole state, is refused if it cannot be read, and stays as it was while blocks go on. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { applyBlock } from '../../src/state/fold.ts';
import {
  allocateTables,
  decodeDescription,
  decodeState,
  type EncodedSnapshot,
  encodeSnapshot,
  tableByteLength,
} from '../../src/state/snapshot/snapshot.ts';
import { createState, type State, type StateView, type TableView } from '../../src/state/state.ts';
import { Table } from '../../src/state/tables/table.ts';
import { hashEncoded, hashSnapshot } from './snapshot-hash.ts';

const USER = '0xa11ce00000000000000000000000000000000001';
const AUCTION = {
  type: 'deployAuction',
  startTimeSeconds: 1_758_556_800,
  durationSeconds: 3600,
  startGas: '500.0',
  floorGas: '100.0',
};

function extend(state: State, ...events: object[]): void {
  const line = JSON.stringify({ height: state.height + 1, time: state.height * 1000, events });
  applyBlock(state, parseBlock(line));
}

/** The state after a block of each. */
function stateOf(...events: object[]): State {
  const state = createState();
  for (const event of events) extend(state, event);
  return state;
}

function load({ description, tables }: EncodedSnapshot): State {
  const decoded = decodeDescription(description);
  const bytes = Buffer.concat(Array.from(tables, (piece) => Buffer.from(piece)));
  assert.equal(bytes.length, tableByteLength(decoded));
  const allocated = allocateTables(decoded);
  let start = 0;
  for (const target of allocated.targets) {
    target.set(bytes.subarray(start, start + target.length));
    start += target.length;
  }
  return decodeState(decoded, allocated.tables);
}

function reload(state: StateView): State {
  const snapshot = encodeSnapshot(state);
  try {
    return load(snapshot);
  } finally {
    snapshot.release();
  }
}

const DEX = { type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: USER };

test('a loaded state is the one that was saved, and goes on as it does', () => {
  const simulator = createSimulator({ seed: 'snapshot', accounts: 5 });
  for (let block = 0; block < 300; block++) simulator.next();
  const loaded = reload(simulator.state);
  assert.equal(hashSnapshot(loaded), hashSnapshot(simulator.state));
  const { ledgerId, height, time, auctionChangedAt } = simulator.state;
  assert.deepEqual(
    [loaded.ledgerId, loaded.height, loaded.time, loaded.auctionChangedAt, loaded.isPartial],
    [ledgerId, height, time, auctionChangedAt, false],
  );
  for (let block = 0; block < 50; block++) applyBlock(loaded, parseBlock(simulator.next()));
  assert.equal(stateDigest(loaded), stateDigest(simulator.state));
});

for (const [what, state] of [
  ['a dex, and no auction that is known', stateOf(DEX)],
  ['no auction', stateOf({ type: 'noDeployAuction' })],
  ['a running auction', stateOf(AUCTION)],
  ['an auction that has ended', stateOf(AUCTION, { type: 'deployAuctionEnd', endGas: '250.5' })],
  ['a partial ledger', stateOf({ type: 'partial' })],
] as const) {
  test(`${what} is the same after loading`, () => {
    const loaded = reload(state);
    assert.deepEqual(loaded.auction, state.auction);
    assert.equal(loaded.auctionChangedAt, state.auctionChangedAt);
    assert.deepEqual(loaded.markets.dexes, state.markets.dexes);
    assert.equal(loaded.isPartial, state.isPartial);
    assert.equal(stateDigest(loaded), stateDigest(state));
  });
}

const MARKET = {
  ...{ type: 'market', dex: '', coin: 'A', szDecimals: 0, onlyIsolated: false, markPx: '10.0' },
  marginTiers: [{ lowerBound: '0.0', maxLeverage: 40 }],
};
const OWN_TIERS = [
  { lowerBound: '0.0', maxLeverage: 50 },
  { lowerBound: '1000.0', maxLeverage: 25 },
];

function accountWith(marginTiers: object[]) {
  const position = {
    ...{ coin: 'A', szi: '5.0', entryNtl: '40.0', leverage: { type: 'cross', value: 7 } },
    cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
    marginTiers,
  };
  return { type: 'account', user: USER, dex: '', rawUsd: '9.0', positions: [position] };
}

test('tiers of positions are the same after loading, and the next ones get the next number', () => {
  const [first] = OWN_TIERS;
  const state = stateOf(MARKET, accountWith([first]), accountWith(OWN_TIERS));
  const loaded = reload(state);
  assert.equal(hashSnapshot(loaded), hashSnapshot(state));
  assert.deepEqual(loaded.markets.tierTables.all, state.markets.tierTables.all);
  for (const each of [state, loaded]) {
    extend(each, accountWith([first]));
    extend(each, accountWith([{ ...first, maxLeverage: 3 }]));
  }
  assert.equal(stateDigest(loaded), stateDigest(state));
  assert.equal(loaded.markets.tierTables.count, 3);
});

test('a snapshot of format 3, which has no tiers of positions and no modes, is loaded', () => {
  const state = stateOf(MARKET);
  const snapshot = encodeSnapshot(state);
  const { tierTables, universes, ...description } = JSON.parse(
    Buffer.from(snapshot.description).toString(),
  );
  assert.deepEqual([tierTables, universes], [[], { byDex: [] }]);
  const text = JSON.stringify({ ...description, format: 3 });
  const tables = Array.from(snapshot.tables, (piece) => Buffer.from(piece)).slice(0, -1);
  const loaded = load({ ...snapshot, description: Buffer.from(text), tables });
  snapshot.release();
  assert.equal(hashSnapshot(loaded), hashSnapshot(state));
});

test('lists of another server and modes of accounts are loaded', () => {
  const state = stateOf(
    DEX,
    { type: 'dexes', list: [null, null, { name: 'xyz' }] },
    { type: 'universe', dex: 'xyz', meta: { universe: [7, { name: 'xyz:GOLD' }] } },
    { type: 'accountMode', user: USER, mode: 'a1'.repeat(20) },
    { type: 'accountMode', user: USER, mode: 'unifiedAccount' },
  );
  const loaded = reload(state);
  assert.equal(stateDigest(loaded), stateDigest(state));
  assert.equal(hashSnapshot(loaded), hashSnapshot(state));
  const row = loaded.modes.listAddresses()[0];
  assert.deepEqual([loaded.modes.find(row), loaded.modes.changedAt(row)], ['unifiedAccount', 5]);
  assert.deepEqual(loaded.universes.dexes?.names, ['', undefined, 'xyz']);
  assert.equal(loaded.universes.byDex.get(1)?.placeOf('xyz:GOLD'), 1);
});

test('the name of the ledger is the same after loading', () => {
  assert.equal(reload({ ...stateOf(DEX), ledgerId: 'abc' }).ledgerId, 'abc');
});

test('a snapshot stays as it was while blocks change and add rows', () => {
  const simulator = createSimulator({ seed: 'snapshot', accounts: 5 });
  for (let block = 0; block < 300; block++) simulator.next();
  const before = hashSnapshot(simulator.state);
  const snapshot = encodeSnapshot(simulator.state);
  for (let block = 0; block < 20; block++) simulator.next();
  assert.equal(
    hashEncoded(snapshot, () => simulator.next()),
    before,
  );
  snapshot.release();
  assert.notEqual(hashSnapshot(simulator.state), before);
});

test('one snapshot is open at a time, and none in the middle of a block', () => {
  const state = stateOf({ type: 'transfer', user: USER, dex: '', amount: '1.0' });
  const before = hashSnapshot(state);
  const first = encodeSnapshot(state);
  assert.throws(() => encodeSnapshot(state), { message: 'a snapshot is open already' });
  // The one that is open stays so.
  extend(state, { type: 'transfer', user: USER, dex: '', amount: '1.0' });
  assert.equal(hashEncoded(first), before);
  first.release();
  const expected = { message: 'cannot open a snapshot in the middle of a block' };
  state.delegations.addRow();
  assert.throws(() => encodeSnapshot(state), expected);
  state.delegations.rollback();
  state.positions.set(0, 0, 0);
  assert.throws(() => encodeSnapshot(state), expected);
  state.positions.rollback();
  // What was opened before the failure is closed.
  encodeSnapshot(state).release();
});

test('the cells of a row are where the format has them', () => {
  const market = {
    type: 'market',
    dex: '',
    coin: 'A',
    szDecimals: 0,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 40 }],
    onlyIsolated: false,
    markPx: '10.0',
  };
  const position = {
    coin: 'A',
    szi: '5.0',
    entryNtl: '40.0',
    leverage: { type: 'isolated', value: 7, rawUsd: '-30.0' },
    cumFunding: { allTime: '1.0', sinceOpen: '2.0', sinceChange: '3.0' },
  };
  const onDex = { user: USER, dex: '' };
  const state = stateOf(
    market,
    { type: 'account', ...onDex, rawUsd: '9.0', positions: [position] },
    { type: 'orderMargin', ...onDex, amount: '4.0' },
    { type: 'collateral', ...onDex, amount: '5.0' },
    { type: 'delegate', user: USER, validator: USER, amount: '50.0' },
  );
  const row = ({ cells }: TableView) => [...cells.subarray(8, 16)];
  const { addresses, markets, accounts, positions, delegations } = state;
  const { word0, word1, word2, word3 } = addresses.addressOf(1);
  assert.deepEqual(row(addresses.table), [word0, word1, word2, word3, 1, 1, 5, 1]);
  assert.deepEqual(row(markets.marks), [10_000_000, 1, 1, 0, 0, 0, 0, 0]);
  assert.deepEqual(row(accounts), [0, 9e6, 4e6, 5e6, 1, 0, 1000, 4]);
  assert.deepEqual(row(positions), [15, 0, 5, 40e6, -30e6, 1e6, 2e6, 3e6]);
  const lockedUntil = 4000 + 86_400_000;
  assert.deepEqual(row(delegations), [1, 1, 705_032_704, lockedUntil, 0, 1, 0, 0]);
});

for (const [format, written] of [
  [5, 'a newer perpinfo: upgrade this one'],
  [1, 'an older perpinfo'],
] as const) {
  test(`a snapshot of format ${format} is refused, with what to do`, () => {
    const bytes = Buffer.from(JSON.stringify({ format }));
    assert.throws(() => decodeDescription(bytes), {
      name: 'SnapshotFormatError',
      message: `it has format ${format}, expected one of 2, 3, 4; it was written by ${written}`,
    });
  });
}

test('a snapshot without rows, or with a part of one, is refused', () => {
  const { description, release } = encodeSnapshot(createState());
  release();
  const decoded = decodeDescription(description);
  assert.equal(tableByteLength(decoded), 6 * 64);
  for (const positions of [0, 1.5, 2 ** 53]) {
    const rowCounts = { ...decoded.rowCounts, positions };
    assert.throws(() => tableByteLength({ ...decoded, rowCounts }), {
      message: `the row count of positions is ${positions}, expected 1 or more`,
    });
  }
});

test('of a cell that is written twice a snapshot has the first value, piece by piece', () => {
  const table = new Table(5000);
  for (let row = 0; row < 5000; row++) table.set(row, 3, row);
  table.commit();
  const copied: number[] = [];
  let turn = 0;
  for (const piece of table.openSnapshot().pieces()) {
    copied.push(...piece.filter((_, cell) => cell % 8 === 3));
    turn++;
    for (const row of [0, 2047, 2048, 4095, 4096, 4999]) table.set(row, 3, -turn);
    table.commit();
  }
  assert.deepEqual([turn, copied], [3, Array.from({ length: 5000 }, (_, row) => row)]);
  table.closeSnapshot();
});

/** An account with many positions: how much of its list an `account` event reads, and what it leaves. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { splitBlock } from '../../src/events/block-pieces.ts';
import { parseBlock } from '../../src/events/event.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import { applyBlock, applyInPieces } from '../../src/state/fold.ts';
import { createState, type State } from '../../src/state/state.ts';
import { Table } from '../../src/state/tables/table.ts';
import { runs, SEED_NOTE } from '../../tools/harness/seed.ts';
import { hashSnapshot } from './snapshot-hash.ts';

const USER = '0xa11ce00000000000000000000000000000000001';
const MARKETS = 2000;
const NO_FUNDING = { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' };

class CountedTable extends Table {
  reads = 0;

  override get(row: number, column: number): number {
    this.reads++;
    return super.get(row, column);
  }
}

function coinOf(index: number): string {
  return `C${index}`;
}

function marketOf(index: number): object {
  return {
    type: 'market',
    dex: '',
    coin: coinOf(index),
    szDecimals: 2,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
    onlyIsolated: false,
    markPx: '5.0',
  };
}

function accountOf(markets: readonly number[]): object {
  const positions = markets.map((index) => ({
    coin: coinOf(index),
    szi: `${index + 1}.0`,
    entryNtl: '20.0',
    leverage: { type: 'cross', value: 7 },
    cumFunding: NO_FUNDING,
  }));
  return { type: 'account', user: USER, dex: '', rawUsd: '10.0', positions };
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function nextLine(state: State, events: readonly object[]): string {
  return JSON.stringify({ height: state.height + 1, time: 0, events });
}

function extend(state: State, events: readonly object[]): void {
  applyBlock(state, parseBlock(nextLine(state, events)));
}

/** Returns how many pieces there were. */
function extendInPieces(state: State, events: readonly object[]): number {
  const cut = splitBlock(Buffer.from(nextLine(state, events)));
  assert.ok(cut !== undefined);
  return Array.from(applyInPieces(state, cut, cut.pieces)).length;
}

function createExchange(count: number): State & { positions: CountedTable } {
  const state = { ...createState(), positions: new CountedTable() };
  extend(state, upTo(count).map(marketOf));
  return state;
}

function readsOf(state: { positions: CountedTable }, work: () => void): number {
  const before = state.positions.reads;
  work();
  return state.positions.reads - before;
}

test('each position of an account event takes the same few reads, however many there are', () => {
  const readsMax = 10 * MARKETS;
  const state = createExchange(MARKETS);
  const odd = upTo(MARKETS).filter((index) => index % 2 === 1);
  for (const markets of [odd, upTo(MARKETS), odd]) {
    const reads = readsOf(state, () => extend(state, [accountOf(markets)]));
    assert.ok(reads >= markets.length && reads <= readsMax, `${reads} reads`);
  }
});

const FEW = 12;
const someMarkets = fc.uniqueArray(fc.nat(FEW - 1), { maxLength: FEW });

test(`the order of the positions in an account event does not matter ${SEED_NOTE}`, () => {
  fc.assert(
    fc.property(someMarkets, someMarkets, (first, second) => {
      const [given, sorted] = [createExchange(FEW), createExchange(FEW)];
      for (const markets of [first, second]) {
        extend(given, [accountOf(markets)]);
        extend(sorted, [accountOf(markets.toSorted((a, b) => a - b))]);
      }
      assert.equal(stateDigest(given), stateDigest(sorted));
    }),
    runs(100),
  );
});

test('an account event in pieces gives the rows of the whole one', () => {
  const [whole, inPieces] = [createExchange(300), createExchange(300)];
  const backwards = upTo(300).reverse();
  for (const markets of [upTo(200), backwards, upTo(150)]) {
    extend(whole, [accountOf(markets)]);
    assert.ok(extendInPieces(inPieces, [accountOf(markets)]) > 4);
    assert.equal(hashSnapshot(inPieces), hashSnapshot(whole));
  }
});

test('a coin that another piece has given is refused, and nothing is left of the block', () => {
  const state = createExchange(100);
  const before = hashSnapshot(state);
  assert.throws(() => extendInPieces(state, [accountOf([...upTo(100), 0])]), {
    name: 'Refusal',
    message: /: got "C0", expected each coin once$/,
  });
  assert.equal(hashSnapshot(state), before);
});

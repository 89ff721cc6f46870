/** What waits for the next block, and what a block takes of it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock, type WireEvent } from '../../../src/events/event.ts';
import { BlockError } from '../../../src/events/refusal.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type State } from '../../../src/state/state.ts';
import {
  PendingChanges,
  type RecordOutcome,
} from '../../../src/upstream/follower/blocks/pending-changes.ts';
import { ManualClock } from '../../follow/manual-clock.ts';
import { market } from './ledgers.ts';

const NOON = 1_758_556_800_000;

const EVERY_MS = 60_000;

function createPending(lineBytesMax = 1 << 20) {
  const ledger = createState();
  const clock = new ManualClock();
  const options = { lineBytesMax, marksEveryMs: EVERY_MS, clock };
  return { ledger, clock, pending: new PendingChanges(ledger, options) };
}

function transfer(digit: string, amount = '1.0'): WireEvent {
  return { type: 'transfer', user: `0x${digit.repeat(40)}`, dex: '', amount };
}

/** Writes the next block as a writer does; its events, or undefined if there is no block. */
function write(ledger: State, pending: PendingChanges, time = NOON): WireEvent[] | undefined {
  const taken = pending.takeBlock(ledger, time);
  if (taken === undefined) return undefined;
  const line = taken.line.toString();
  try {
    applyBlock(ledger, parseBlock(line));
    taken.applied(ledger.height);
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    taken.refused(error);
  }
  return JSON.parse(line).events;
}

function note(outcomes: Record<string, RecordOutcome>, key: string) {
  return (outcome: RecordOutcome) => {
    outcomes[key] = outcome;
  };
}

test('the first block is written before the exchange has told its time, and says partial', () => {
  const { ledger, pending } = createPending();
  assert.ok(pending.isDue(ledger, 0));
  assert.deepEqual(write(ledger, pending, 0), [{ type: 'partial' }]);
  assert.deepEqual([ledger.height, ledger.time, ledger.isPartial], [1, 0, true]);
  assert.equal(pending.isDue(ledger, 0), false);
});

test('what is put is recorded once, and those who wait hear the height', async () => {
  const { ledger, pending } = createPending();
  write(ledger, pending);
  const recorded = pending.put('a', () => [transfer('a')]);
  assert.ok(pending.isDue(ledger, NOON));
  assert.deepEqual(write(ledger, pending), [transfer('a')]);
  assert.deepEqual(await recorded, { height: 2 });
  assert.equal(pending.isDue(ledger, NOON), false);
  assert.equal(write(ledger, pending), undefined);
});

test('the latest under a key counts, for all who wait', async () => {
  const { ledger, pending } = createPending();
  write(ledger, pending);
  const both = [
    pending.put('a', () => [transfer('a', '1.0')]),
    pending.put('a', () => [transfer('a', '2.0')]),
  ];
  assert.deepEqual(write(ledger, pending), [transfer('a', '2.0')]);
  assert.deepEqual(await Promise.all(both), [{ height: 2 }, { height: 2 }]);
});

test('what the ledger has already needs no block', async () => {
  const { ledger, pending } = createPending();
  write(ledger, pending);
  const recorded = pending.put('a', () => []);
  assert.equal(write(ledger, pending), undefined);
  assert.deepEqual(await recorded, { height: 1 });
});

test('a line that is full leaves the rest to the next block, and drops what never fits', async () => {
  const { ledger, pending } = createPending(400);
  write(ledger, pending);
  const outcomes: Record<string, RecordOutcome> = {};
  for (const digit of ['a', 'b', 'c', 'd', 'e']) {
    void pending.put(digit, () => [transfer(digit)]).then(note(outcomes, digit));
  }
  const huge = Array.from({ length: 10 }, () => transfer('f'));
  void pending.put('f', () => huge).then(note(outcomes, 'f'));
  const blocks: WireEvent[][] = [];
  for (let events = write(ledger, pending); events; events = write(ledger, pending)) {
    blocks.push(events);
  }
  assert.deepEqual(
    blocks.map((events) => events.map(({ user }) => String(user)[2]).join('')),
    ['abc', 'de'],
  );
  await Promise.resolve();
  assert.deepEqual(outcomes['e'], { height: 3 });
  assert.match(JSON.stringify(outcomes['f']), /does not fit into a block of 400 bytes/);
});

test('what never fits is dropped even if every block has something before it', async () => {
  const { ledger, pending } = createPending(400);
  write(ledger, pending);
  const outcomes: Record<string, RecordOutcome> = {};
  const huge = Array.from({ length: 10 }, () => transfer('f'));
  void pending.put('a', () => [transfer('a')]).then(note(outcomes, 'a'));
  void pending.put('f', () => huge).then(note(outcomes, 'f'));
  void pending.put('b', () => [transfer('b')]).then(note(outcomes, 'b'));
  assert.deepEqual(write(ledger, pending), [transfer('a'), transfer('b')]);
  await Promise.resolve();
  assert.deepEqual([outcomes['a'], outcomes['b']], [{ height: 2 }, { height: 2 }]);
  assert.match(JSON.stringify(outcomes['f']), /does not fit into a block of 400 bytes/);
});

test('what is refused is dropped with its reason, and the rest is written without it', async () => {
  const { ledger, pending } = createPending();
  write(ledger, pending);
  const refused = pending.put('a', () => [transfer('a', 'much')]);
  const recorded = pending.put('b', () => [transfer('b')]);
  write(ledger, pending);
  assert.equal(ledger.height, 1);
  assert.deepEqual(write(ledger, pending), [transfer('b')]);
  assert.match(JSON.stringify(await refused), /amount: got/);
  assert.deepEqual(await recorded, { height: 2 });
});

test('time never goes back, and alone makes a block once a second', () => {
  const { ledger, pending } = createPending();
  write(ledger, pending);
  assert.equal(ledger.time, NOON);
  assert.equal(pending.isDue(ledger, NOON + 999), false);
  assert.ok(pending.isDue(ledger, NOON + 1_000));
  assert.deepEqual(write(ledger, pending, NOON + 1_000), []);
  void pending.put('a', () => [transfer('a')]);
  write(ledger, pending, NOON);
  assert.equal(ledger.time, NOON + 1_000);
});

test('a follower that stops leaves nobody waiting', async () => {
  const { pending } = createPending();
  const waiting = pending.put('a', () => [transfer('a')]);
  pending.close();
  assert.deepEqual(await waiting, { refusal: 'the follower stops' });
  assert.deepEqual(await pending.put('b', () => []), { refusal: 'the follower stops' });
});

function firstBlock(coins: readonly string[]): string {
  const events = [{ type: 'partial' }, ...coins.map((coin) => market(coin))];
  return JSON.stringify({ height: 1, time: NOON, events });
}

/** A ledger with some markets, whose marks were recorded a moment ago. */
function createWithMarkets() {
  const created = createPending();
  const { ledger, pending, clock } = created;
  const coins = ['A', 'B', 'C'];
  applyBlock(ledger, parseBlock(firstBlock(coins)));
  pending.setPrices(new Map(coins.map((coin) => [coin, 1_010_000])));
  write(ledger, pending);
  clock.advance(1_000);
  return created;
}

function account(coins: readonly string[]): WireEvent {
  const amounts = { szi: '1.0', entryNtl: '100.0', leverage: { type: 'cross', value: 5 } };
  const cumFunding = { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' };
  const positions = coins.map((coin) => ({ coin, ...amounts, cumFunding }));
  return { type: 'account', user: `0x${'a'.repeat(40)}`, dex: '', rawUsd: '1000.0', positions };
}

function marks(...coins: readonly string[]): WireEvent {
  return { type: 'marks', prices: Object.fromEntries(coins.map((coin) => [coin, '102.0'])) };
}

test('marks of markets without a position wait for their turn in the interval, and for a block', () => {
  const { ledger, pending, clock } = createWithMarkets();
  pending.setPrices(
    new Map([
      ['A', 1_020_000],
      ['C', 1_020_000],
    ]),
  );
  assert.equal(write(ledger, pending), undefined);
  clock.advance(EVERY_MS - 1_001);
  assert.equal(pending.isDue(ledger, NOON), false);
  assert.deepEqual(write(ledger, pending), [marks('A')]);
  clock.advance(1);
  assert.deepEqual(write(ledger, pending), [marks('C')]);
  pending.setPrices(new Map([['A', 1_030_000]]));
  clock.advance(EVERY_MS / 3 - 1);
  assert.equal(write(ledger, pending), undefined);
  clock.advance(1);
  assert.deepEqual(write(ledger, pending), [{ type: 'marks', prices: { A: '103.0' } }]);
});

test('the age of the oldest mark of a market without a position leaves out those with one', () => {
  const { ledger, pending, clock } = createWithMarkets();
  assert.equal(pending.marks.othersMs, 1_000);
  clock.advance(EVERY_MS / 3);
  write(ledger, pending, NOON + EVERY_MS / 3);
  assert.equal(pending.marks.othersMs, 1_000 + EVERY_MS / 3, 'one of three had its turn');
  pending.marks.setPositionCoins(new Set(['B', 'C']));
  assert.equal(pending.marks.othersMs, 0);
  pending.marks.setPositionCoins(new Set(['A', 'B', 'C']));
  assert.equal(pending.marks.othersMs, undefined);
});

test('without an interval all marks are recorded as they come', () => {
  const ledger = createState();
  const clock = new ManualClock();
  const pending = new PendingChanges(ledger, { lineBytesMax: 1 << 20, marksEveryMs: 0, clock });
  applyBlock(ledger, parseBlock(firstBlock(['A'])));
  pending.setPrices(new Map([['A', 1_020_000]]));
  write(ledger, pending);
  pending.setPrices(new Map([['A', 1_030_000]]));
  assert.ok(pending.isDue(ledger, NOON));
  assert.deepEqual(write(ledger, pending), [{ type: 'marks', prices: { A: '103.0' } }]);
  assert.equal(pending.isDue(ledger, NOON), false);
});

test('marks of markets with a position are recorded as they come, without the others', () => {
  const { ledger, pending } = createWithMarkets();
  pending.marks.setPositionCoins(new Set(['A']));
  write(ledger, pending);
  pending.setPrices(
    new Map([
      ['A', 1_020_000],
      ['B', 1_020_000],
    ]),
  );
  assert.ok(pending.isDue(ledger, NOON));
  assert.deepEqual(write(ledger, pending), [marks('A')]);
  pending.marks.setPositionCoins(new Set(['B']));
  assert.deepEqual(write(ledger, pending), [marks('B')]);
  pending.setPrices(new Map([['A', 1_030_000]]));
  assert.equal(write(ledger, pending), undefined);
});

test('a position that appears is recorded with the current mark of its market, and keeps it current', () => {
  const { ledger, pending } = createWithMarkets();
  pending.setPrices(
    new Map([
      ['A', 1_020_000],
      ['B', 1_020_000],
    ]),
  );
  void pending.put('a', () => [account(['B'])]);
  assert.deepEqual(write(ledger, pending), [marks('B'), account(['B'])]);
  assert.equal(write(ledger, pending), undefined);
  pending.setPrices(
    new Map([
      ['B', 1_010_000],
      ['A', 1_030_000],
    ]),
  );
  assert.deepEqual(write(ledger, pending), [{ type: 'marks', prices: { B: '101.0' } }]);
});

test('marks of a block that was refused are recorded by the next one', () => {
  const { ledger, pending, clock } = createWithMarkets();
  clock.advance(EVERY_MS);
  pending.setPrices(new Map([['A', 1_020_000]]));
  void pending.put('a', () => [transfer('a', 'much')]);
  write(ledger, pending);
  assert.deepEqual(write(ledger, pending), [marks('A')]);
});

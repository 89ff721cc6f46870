/** What waits for the next block, and what a block takes of it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock, type WireEvent } from '../../../src/events/event.ts';
import { BlockError } from '../../../src/events/refusal.ts';
import { Learned, type RecordOutcome } from '../../../src/feed/follow/learned.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type State } from '../../../src/state/state.ts';
import { ManualClock } from '../../follow/manual-clock.ts';

const NOON = 1_758_556_800_000;

function createLearned(lineBytesMax = 1 << 20) {
  const ledger = createState();
  return { ledger, learned: new Learned(ledger, { lineBytesMax, clock: new ManualClock() }) };
}

function transfer(digit: string, amount = '1.0'): WireEvent {
  return { type: 'transfer', user: `0x${digit.repeat(40)}`, dex: '', amount };
}

/** Writes the next block as a writer does; its events, or undefined if there is no block. */
function write(ledger: State, learned: Learned, time = NOON): WireEvent[] | undefined {
  const taken = learned.takeBlock(ledger, time);
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
  const { ledger, learned } = createLearned();
  assert.ok(learned.isDue(ledger, 0));
  assert.deepEqual(write(ledger, learned, 0), [{ type: 'partial' }]);
  assert.deepEqual([ledger.height, ledger.time, ledger.isPartial], [1, 0, true]);
  assert.equal(learned.isDue(ledger, 0), false);
});

test('what is put is recorded once, and those who wait hear the height', async () => {
  const { ledger, learned } = createLearned();
  write(ledger, learned);
  const recorded = learned.put('a', () => [transfer('a')]);
  assert.ok(learned.isDue(ledger, NOON));
  assert.deepEqual(write(ledger, learned), [transfer('a')]);
  assert.deepEqual(await recorded, { height: 2 });
  assert.equal(learned.isDue(ledger, NOON), false);
  assert.equal(write(ledger, learned), undefined);
});

test('the latest under a key counts, for all who wait', async () => {
  const { ledger, learned } = createLearned();
  write(ledger, learned);
  const both = [
    learned.put('a', () => [transfer('a', '1.0')]),
    learned.put('a', () => [transfer('a', '2.0')]),
  ];
  assert.deepEqual(write(ledger, learned), [transfer('a', '2.0')]);
  assert.deepEqual(await Promise.all(both), [{ height: 2 }, { height: 2 }]);
});

test('what the ledger has already needs no block', async () => {
  const { ledger, learned } = createLearned();
  write(ledger, learned);
  const recorded = learned.put('a', () => []);
  assert.equal(write(ledger, learned), undefined);
  assert.deepEqual(await recorded, { height: 1 });
});

test('a line that is full leaves the rest to the next block, and drops what never fits', async () => {
  const { ledger, learned } = createLearned(400);
  write(ledger, learned);
  const outcomes: Record<string, RecordOutcome> = {};
  for (const digit of ['a', 'b', 'c', 'd', 'e']) {
    void learned.put(digit, () => [transfer(digit)]).then(note(outcomes, digit));
  }
  const huge = Array.from({ length: 10 }, () => transfer('f'));
  void learned.put('f', () => huge).then(note(outcomes, 'f'));
  const blocks: WireEvent[][] = [];
  for (let events = write(ledger, learned); events; events = write(ledger, learned)) {
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
  const { ledger, learned } = createLearned(400);
  write(ledger, learned);
  const outcomes: Record<string, RecordOutcome> = {};
  const huge = Array.from({ length: 10 }, () => transfer('f'));
  void learned.put('a', () => [transfer('a')]).then(note(outcomes, 'a'));
  void learned.put('f', () => huge).then(note(outcomes, 'f'));
  void learned.put('b', () => [transfer('b')]).then(note(outcomes, 'b'));
  assert.deepEqual(write(ledger, learned), [transfer('a'), transfer('b')]);
  await Promise.resolve();
  assert.deepEqual([outcomes['a'], outcomes['b']], [{ height: 2 }, { height: 2 }]);
  assert.match(JSON.stringify(outcomes['f']), /does not fit into a block of 400 bytes/);
});

test('what is refused is dropped with its reason, and the rest is written without it', async () => {
  const { ledger, learned } = createLearned();
  write(ledger, learned);
  const refused = learned.put('a', () => [transfer('a', 'much')]);
  const recorded = learned.put('b', () => [transfer('b')]);
  write(ledger, learned);
  assert.equal(ledger.height, 1);
  assert.deepEqual(write(ledger, learned), [transfer('b')]);
  assert.match(JSON.stringify(await refused), /amount: got/);
  assert.deepEqual(await recorded, { height: 2 });
});

test('time never goes back, and alone makes a block once a second', () => {
  const { ledger, learned } = createLearned();
  write(ledger, learned);
  assert.equal(ledger.time, NOON);
  assert.equal(learned.isDue(ledger, NOON + 999), false);
  assert.ok(learned.isDue(ledger, NOON + 1_000));
  assert.deepEqual(write(ledger, learned, NOON + 1_000), []);
  void learned.put('a', () => [transfer('a')]);
  write(ledger, learned, NOON);
  assert.equal(ledger.time, NOON + 1_000);
});

test('a follower that stops leaves nobody waiting', async () => {
  const { learned } = createLearned();
  const waiting = learned.put('a', () => [transfer('a')]);
  learned.close();
  assert.deepEqual(await waiting, { refusal: 'the follower stops' });
  assert.deepEqual(await learned.put('b', () => []), { refusal: 'the follower stops' });
});

/** Snapshots written while blocks are applied: to the byte those of the height at which they began. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseBlock } from '../../src/events/event.ts';
import { CHAIN_START, nextBlock } from '../../src/ledger/hash-chain.ts';
import type { Ledger, StoredBlock } from '../../src/ledger/ledger.ts';
import { Replica, stateDigest } from '../../src/replica/replica.ts';
import type { SharedSnapshots } from '../../src/replica/shared-snapshots.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { SnapshotKeeper } from '../../src/replica/snapshot-keeper.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { applyBlock, applyInPieces } from '../../src/state/fold.ts';
import { encodeSnapshot } from '../../src/state/snapshot/snapshot.ts';
import { createState, type State } from '../../src/state/state.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { LONG_ONLY } from '../scale.ts';
import { hashEncoded, hashSnapshot } from '../state/snapshot-hash.ts';
import { longLine } from './long-line.ts';

/** Enough to write a table in several pieces. */
const ACCOUNTS = 3000;
const LATER_BLOCKS = 60;

/** An exchange that is set up, and the blocks that follow. */
function simulate(): { state: State; later: string[] } {
  const simulator = createSimulator({ seed: `held ${SEED}`, accounts: ACCOUNTS });
  const state = createState();
  while (!simulator.isSetUp) applyBlock(state, parseBlock(simulator.next()));
  return { state, later: Array.from({ length: LATER_BLOCKS }, () => simulator.next()) };
}

function copyOf(lines: readonly string[], state: State): void {
  for (const line of lines) applyBlock(state, parseBlock(line));
}

test(`blocks that are applied between its pieces do not change a snapshot ${SEED_NOTE}`, () => {
  const { state, later } = simulate();
  const standing = simulate().state;
  const expected = hashSnapshot(standing);
  const snapshot = encodeSnapshot(state);
  const blocks = later.map((line) => parseBlock(line));
  let applied = 0;
  let pieces = 0;
  const written = hashEncoded(snapshot, () => {
    pieces++;
    for (let count = 0; count < 3 && applied < blocks.length; count++) {
      applyBlock(state, blocks[applied++]);
    }
  });
  snapshot.release();
  assert.ok(pieces > 6, `${pieces} pieces`);
  assert.ok(applied > 12, `${applied} blocks`);
  assert.equal(written, expected);
  copyOf(later.slice(0, applied), standing);
  assert.equal(hashSnapshot(state), hashSnapshot(standing));
});

test(`a piece may be copied in the middle of a block, even one that is rolled back ${SEED_NOTE}`, () => {
  const { state, later } = simulate();
  const expected = hashSnapshot(state);
  const long = parseBlock(longLine(state, 3000));
  const snapshot = encodeSnapshot(state);
  let steps = applyInPieces(state, long, cut(long.events, 50));
  let turn = 0;
  const written = hashEncoded(snapshot, () => {
    for (let step = 0; step < 5; step++) steps.next();
    if (++turn % 3 !== 0) return;
    steps.return();
    steps = applyInPieces(state, long, cut(long.events, 50));
  });
  snapshot.release();
  steps.return();
  assert.equal(written, expected);
  assert.equal(hashSnapshot(state), expected);
  copyOf(later, state);
});

function* cut<T>(items: readonly T[], count: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += count) yield items.slice(from, from + count);
}

test('one snapshot at a time, and none in the middle of a block', () => {
  const { state, later } = simulate();
  const snapshot = encodeSnapshot(state);
  assert.throws(() => encodeSnapshot(state), /a snapshot is open already/);
  snapshot.release();
  const block = parseBlock(later[0]);
  for (const _ of applyInPieces(state, block, [block.events])) {
    assert.throws(() => encodeSnapshot(state), /in the middle of a block/);
  }
  encodeSnapshot(state).release();
});

test('a replica follows while it writes a snapshot, to the same bytes', LONG_ONLY, async (t) => {
  const [folder, standingFolder] = [await makeTemporaryFolder(t), await makeTemporaryFolder(t)];
  const { later } = simulate();
  const [replica, standing] = [restore(), restore()];
  const { height } = replica.point;
  const digest = stateDigest(standing.state);
  await new SnapshotFolder(standingFolder).save(standing.state, standing.point.hash);

  const snapshots = new SnapshotFolder(folder);
  const published: number[] = [];
  const shared = {
    async publish(_: SnapshotFolder, at: number) {
      published.push(at);
      return true;
    },
  } as Partial<SharedSnapshots> as SharedSnapshots;
  const keeper = new SnapshotKeeper({ snapshots, shared, every: 1, keep: 10, warn: assert.fail });
  await keeper.ready();
  keeper.keep(replica);
  const blocks = chain(later, replica);
  await replica.follow(oneByOne(blocks), new AbortController().signal, {
    advanced: () => keeper.keep(replica),
  });
  await keeper.close();
  assert.equal(replica.point.height, height + LATER_BLOCKS);

  const heights = snapshots.heights();
  assert.equal(heights[0], height);
  assert.ok(published.includes(height));
  const bytes = await readFile(snapshots.pathOf(height));
  assert.ok(bytes.equals(await readFile(new SnapshotFolder(standingFolder).pathOf(height))));
  for (const at of heights) {
    const loaded = await snapshots.load(at);
    while (standing.point.height < at) standing.apply(blocks[standing.point.height - height]);
    assert.equal(stateDigest(loaded?.state ?? createState()), stateDigest(standing.state));
    assert.deepEqual(loaded?.point, standing.point);
  }
  assert.equal(stateDigest((await snapshots.load(height))?.state ?? createState()), digest);
});

function restore(): Replica {
  const { state } = simulate();
  return new Replica(state, { height: state.height, hash: CHAIN_START.hash });
}

function chain(lines: readonly string[], { point }: Replica): StoredBlock[] {
  let last = point;
  return lines.map((line) => {
    const block = nextBlock(last, Buffer.from(line));
    last = block;
    return block;
  });
}

/** A ledger whose follower gets a block in every turn of the event loop. */
function oneByOne(blocks: readonly StoredBlock[]): Ledger {
  async function* follow(): AsyncGenerator<readonly StoredBlock[]> {
    for (const block of blocks) {
      yield [block];
      await nextTurn();
    }
  }
  return { follow } as Partial<Ledger> as Ledger;
}

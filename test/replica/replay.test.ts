/** Equal ledgers give equal states and answers, however their blocks were appended and replayed. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import {
  appendAll,
  appendChunks,
  NO_SNAPSHOTS,
  restoreDirectory,
  restoreFrom,
  snapshotPath,
} from '../../tools/harness/data-directory.ts';
import { MAIN } from '../../tools/harness/paths.ts';
import { runs, SEED_NOTE } from '../../tools/harness/seed.ts';
import { inTemporaryFolder, makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { ALSO_FULL, scale } from '../scale.ts';
import { foldOutlooks, type Outlook, outlookOf, simulateLines } from './exchange.ts';

const BLOCKS = scale(300, 300, 800);
const SNAPSHOT_EVERY = 50;
const FOLLOW_MS_MAX = 20_000;

/** Cuts the bytes into chunks, cycling through the lengths. */
function* cutBytes(bytes: Buffer, lengths: readonly number[]): Generator<Buffer> {
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const end = start + lengths[turn % lengths.length];
    yield bytes.subarray(start, end);
    start = end;
  }
}

function joinLines(lines: readonly string[], newline = '\n'): Buffer {
  return Buffer.from(lines.map((line) => `${line}${newline}`).join(''));
}

for (const seed of scale(['one'], ['one', 'two', 'three'])) {
  describe(`the exchange of seed ${seed}`, ALSO_FULL, () => {
    let lines: string[];
    let outlooks: Outlook[];
    let final: Outlook;
    before(() => {
      lines = simulateLines(seed, BLOCKS);
      outlooks = foldOutlooks(lines);
      final = outlooks[BLOCKS];
    });

    test('a full replay gives the state of the fold alone', ALSO_FULL, async (t) => {
      const folder = await makeTemporaryFolder(t);
      const { replica: written } = await appendAll(folder, lines, NO_SNAPSHOTS);
      const { replica, startHeight } = await restoreDirectory(folder);
      assert.equal(startHeight, 0);
      assert.deepEqual(outlookOf(written.state), final);
      assert.deepEqual(outlookOf(replica.state), final);
      assert.deepEqual(replica.point, written.point);
    });

    test('a replay from each snapshot alone gives the same state', ALSO_FULL, async (t) => {
      const folder = await makeTemporaryFolder(t);
      await appendAll(folder, lines, { snapshotEvery: SNAPSHOT_EVERY });
      const heights = new SnapshotFolder(folder).heights();
      assert.equal(heights.length, BLOCKS / SNAPSHOT_EVERY);
      const ledger = await openEmbeddedLedger(folder);
      t.after(() => ledger.close());
      for (const height of heights) {
        const alone = await isolateSnapshot(folder, height);
        const { replica, startHeight, warnings } = await restoreFrom(ledger, alone);
        assert.deepEqual({ startHeight, warnings }, { startHeight: height, warnings: [] });
        assert.deepEqual(outlookOf(replica.state), final);
      }
    });

    test('a restore at any height gives the state of that height', ALSO_FULL, async (t) => {
      const folder = await makeTemporaryFolder(t);
      await appendAll(folder, lines, { snapshotEvery: SNAPSHOT_EVERY });
      for (const height of [0, 1, 29, 30, 49, 50, 51, 99, 100, 237, BLOCKS - 1, BLOCKS]) {
        const { replica, startHeight } = await restoreDirectory(folder, height);
        assert.equal(startHeight, height - (height % SNAPSHOT_EVERY));
        assert.deepEqual(outlookOf(replica.state), outlooks[height]);
      }
      await assert.rejects(restoreDirectory(folder, BLOCKS + 1), {
        fault: 'missing',
        message: `height ${BLOCKS + 1} is not in the ledger: the ledger ends at ${BLOCKS}`,
      });
    });

    test('following while another process appends gives the same state', ALSO_FULL, async (t) => {
      const folder = await makeTemporaryFolder(t);
      const { replica } = await appendAll(folder, lines.slice(0, 10), NO_SNAPSHOTS);
      const ledger = await openEmbeddedLedger(folder);
      t.after(() => ledger.close());
      const arrived = new AbortController();
      const signal = AbortSignal.any([arrived.signal, AbortSignal.timeout(FOLLOW_MS_MAX)]);
      const following = replica.follow(ledger, signal);
      await appendFromOtherProcess(folder, lines.slice(10));
      while (replica.point.height < BLOCKS && !signal.aborted) await sleep(1);
      arrived.abort();
      await following;
      assert.deepEqual(outlookOf(replica.state), final);
    });
  });
}

/** A folder below the data directory with a copy of that snapshot and no other. */
async function isolateSnapshot(folder: string, height: number): Promise<string> {
  const alone = path.join(folder, `only-${height}`);
  await cp(snapshotPath(folder, height), snapshotPath(alone, height));
  return alone;
}

/** Runs `perpinfo append`, handing it the lines a few at a time. */
async function appendFromOtherProcess(folder: string, lines: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [MAIN, 'append', '--data', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const exited = once(child, 'exit');
  for (let start = 0; start < lines.length; start += 20) {
    child.stdin.write(joinLines(lines.slice(start, start + 20)));
    await sleep(2);
  }
  child.stdin.end();
  assert.deepEqual(await exited, [0, null]);
}

/** One way to append the same lines. */
interface Batching {
  /** Lines before the writer is closed and opened again, cycled through. */
  readonly pieceLines: readonly number[];
  /** Lengths of the stream's chunks, cycled through. */
  readonly chunkBytes: readonly number[];
  readonly snapshotEvery: number;
  readonly newline: string;
  readonly keepsSnapshots: boolean;
}

const batchings: fc.Arbitrary<Batching> = fc.record({
  pieceLines: fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 1, maxLength: 6 }),
  chunkBytes: fc.oneof(
    fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }),
    fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 6 }),
    fc.constant([1 << 20]),
  ),
  snapshotEvery: fc.integer({ min: 5, max: 400 }),
  newline: fc.constantFrom('\n', '\n\n', '\n \t\r\n'),
  keepsSnapshots: fc.boolean(),
});

async function appendInPieces(
  folder: string,
  lines: readonly string[],
  batching: Batching,
): Promise<void> {
  const { pieceLines, chunkBytes, newline, snapshotEvery, keepsSnapshots } = batching;
  for (let start = 0, turn = 0; start < lines.length; turn++) {
    const end = start + pieceLines[turn % pieceLines.length];
    const bytes = joinLines(lines.slice(start, end), newline);
    const { warnings } = await appendChunks(folder, cutBytes(bytes, chunkBytes), { snapshotEvery });
    assert.deepEqual(warnings, []);
    if (!keepsSnapshots) await new SnapshotFolder(folder).keepNewest(0);
    start = end;
  }
}

describe('the same lines in any batching', ALSO_FULL, () => {
  const lines = simulateLines('batching', 250);
  const outlooks = foldOutlooks(lines);

  test(`random pieces and chunks give the same state ${SEED_NOTE}`, ALSO_FULL, async (t) => {
    const whole = await appendAll(await makeTemporaryFolder(t), lines, NO_SNAPSHOTS);
    const compare = (batching: Batching) =>
      inTemporaryFolder(async (folder) => {
        await appendInPieces(folder, lines, batching);
        const { replica } = await restoreDirectory(folder);
        assert.deepEqual(replica.point, whole.replica.point);
        assert.deepEqual(outlookOf(replica.state), outlooks[lines.length]);
      });
    await fc.assert(fc.asyncProperty(batchings, compare), runs(scale(1, 10)));
  });

  test('input cut at every byte gives the same state', async (t) => {
    const folder = await makeTemporaryFolder(t);
    // Includes the line with characters of two, three and four bytes.
    const bytes = joinLines(lines.slice(0, 33));
    const { replica } = await appendChunks(folder, cutBytes(bytes, [1]), NO_SNAPSHOTS);
    assert.deepEqual(outlookOf(replica.state), outlooks[33]);
  });
});

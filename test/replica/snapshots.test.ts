/** Snapshots are a cache: complete or absent, used only where they fit, and never required. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, open, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import { LedgerError } from '../../src/ledger/ledger.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import { type LoadedSnapshot, SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { createState } from '../../src/state/state.ts';
import {
  appendAll,
  NO_SNAPSHOTS,
  restoreDirectory,
  restoreFrom,
  snapshotPath,
} from '../../tools/harness/data-directory.ts';
import { MAIN } from '../../tools/harness/paths.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { LONG_ONLY } from '../scale.ts';
import { foldOutlooks, outlookOf, simulateLines } from './exchange.ts';
import { SMALL_LINES } from './small-ledger.ts';

const TIME = 1_758_556_800_000;
const { hash: HASH } = CHAIN_START;

/** Lines in which each user appears with cash and a delegation. */
function lineOfUsers(height: number, users: { from: number; to: number }): string {
  const events = [];
  for (let user = users.from; user < users.to; user++) {
    const address = `0x${user.toString(16).padStart(40, '0')}`;
    events.push({ type: 'transfer', user: address, dex: '', amount: `${user}.5` });
    events.push({ type: 'delegate', user: address, validator: address, amount: `${user}.25` });
  }
  return JSON.stringify({ height, time: TIME + height, events });
}

/** Pins the layout of the digest (state/snapshot/digest.ts), which was hashed by hand for these blocks. */
test('the digest of a handwritten ledger never changes', () => {
  const { digest } = foldOutlooks(SMALL_LINES)[SMALL_LINES.length];
  assert.equal(digest, '53bbddfe1a4cd774835fac9c6c5513791636d1fc0dccd87595963ec24ae4c7d6');
  assert.equal(
    stateDigest(createState()),
    'b947d73f2357de4d7fe8e90cedc074f23d0ca7149c177a24ef52993f0c20fbab',
  );
});

async function loadSnapshot(folder: string, height: number): Promise<LoadedSnapshot> {
  const loaded = await new SnapshotFolder(folder).load(height);
  assert.ok(loaded, `there is no snapshot of height ${height}`);
  return loaded;
}

test('each piece of work of a save is told: the beginning, the heads, and every piece of a table', async (t) => {
  const saveWith = async (rows: number) => {
    const state = createState();
    for (let row = 1; row <= rows; row++) state.positions.addRow();
    state.positions.commit();
    const seconds: number[] = [];
    const snapshots = new SnapshotFolder(await makeTemporaryFolder(t));
    await snapshots.save(state, HASH, (each) => seconds.push(each));
    assert.ok(seconds.every((each) => each >= 0));
    return seconds.length;
  };
  const small = await saveWith(1);
  assert.ok(small > 4, `${small} pieces`);
  // A long table is written in several pieces.
  assert.ok((await saveWith(100_000)) > small + 2);
});

/** Larger than one read, so that reading and hashing overlap. */
test('a large snapshot is loaded, and refused with any bit flipped', LONG_ONLY, async (t) => {
  const folder = await makeTemporaryFolder(t);
  const state = createState();
  for (let row = 1; row <= 300_000; row++) state.positions.set(state.positions.addRow(), 3, row);
  state.positions.commit();
  const snapshots = new SnapshotFolder(folder);
  await snapshots.save(state, HASH);
  const loaded = await loadSnapshot(folder, 0);
  assert.ok(Buffer.from(loaded.state.positions.cells).equals(Buffer.from(state.positions.cells)));
  const file = await open(snapshotPath(folder, 0), 'r+');
  t.after(() => file.close());
  const { size } = await file.stat();
  for (let position = size - 1; position > 0; position -= 1_500_000) {
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, position);
    await file.write(Buffer.of(byte[0] ^ 1), 0, 1, position);
    await assert.rejects(snapshots.load(0), /do not match its checksum/, `byte ${position}`);
    await file.write(byte, 0, 1, position);
  }
  await loadSnapshot(folder, 0);
  await file.truncate(size - 5_000_000);
  await assert.rejects(snapshots.load(0), /its size does not match its description/);
});

test('a snapshot that is deleted before it is read is not an error', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const { replica } = await appendAll(folder, SMALL_LINES, { snapshotEvery: 3 });
  assert.equal(await new SnapshotFolder(folder).load(4), undefined);
  await new SnapshotFolder(folder).keepNewest(0);
  const restored = await restoreDirectory(folder);
  assert.deepEqual(restored.warnings, []);
  assert.deepEqual(outlookOf(restored.replica.state), outlookOf(replica.state));
});

test('a snapshot holds the state and its place in the chain', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const { replica } = await appendAll(folder, SMALL_LINES, { snapshotEvery: 6 });
  const { state, point } = await loadSnapshot(folder, 6);
  assert.deepEqual(outlookOf(state), outlookOf(replica.state));
  assert.deepEqual(point, replica.point);
});

test('a snapshot is not visible until it is complete', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const line = lineOfUsers(1, { from: 1, to: 3000 });
  const { replica } = await appendAll(folder, [line], NO_SNAPSHOTS);
  const snapshots = new SnapshotFolder(folder);
  for (let round = 0; round < 5; round++) {
    let isSaved = false;
    const saving = snapshots.save(replica.state, replica.point.hash).then(() => {
      isSaved = true;
    });
    while (!isSaved) {
      for (const height of snapshots.heights()) await snapshots.load(height);
      await sleep(0);
    }
    await saving;
    assert.deepEqual(snapshots.heights(), [1]);
    await snapshots.keepNewest(0);
  }
});

test('a snapshot that cannot be written leaves the one before it', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const { replica } = await appendAll(folder, SMALL_LINES, { snapshotEvery: 6 });
  // A folder in its place makes the rename fail.
  await mkdir(snapshotPath(folder, 0));
  const snapshots = new SnapshotFolder(folder);
  await assert.rejects(
    snapshots.save(createState(), HASH),
    /^Error: EISDIR: .* bytes are free in /,
  );
  assert.deepEqual((await loadSnapshot(folder, 6)).point, replica.point);
  assert.deepEqual((await readdir(path.join(folder, 'snapshots'))).length, 2);
});

test('after a kill of the writer every visible snapshot is complete', LONG_ONLY, async (t) => {
  const folder = await makeTemporaryFolder(t);
  const lines = simulateLines('killed', 400);
  const outlooks = foldOutlooks(lines);
  let height = 0;
  for (const lifetimeMs of [20, 40, 80, 120, 160]) {
    await killWhileAppending(folder, lines.slice(height), lifetimeMs);
    const { replica, warnings } = await restoreDirectory(folder);
    assert.deepEqual(warnings, []);
    height = replica.point.height;
    assert.deepEqual(outlookOf(replica.state), outlooks[height]);
    const snapshots = new SnapshotFolder(folder);
    for (const at of snapshots.heights()) {
      assert.deepEqual(outlookOf((await loadSnapshot(folder, at)).state), outlooks[at]);
    }
  }
  assert.ok(height > 0, 'every writer was killed before its first block');
});

/** Runs `perpinfo append` with a snapshot after each block, and kills it once it has begun. */
async function killWhileAppending(folder: string, lines: readonly string[], lifetimeMs: number) {
  const args = [MAIN, 'append', '--data', folder, '--snapshot-every', '1', '--snapshot-keep', '5'];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  child.stdin.on('error', () => undefined);
  child.stdin.end(lines.map((line) => `${line}\n`).join(''));
  await once(child.stdout, 'data');
  await sleep(lifetimeMs);
  child.kill('SIGKILL');
  await exited;
}

test('a draft that another process is writing is left alone', async (t) => {
  const folder = await makeTemporaryFolder(t);
  await appendAll(folder, SMALL_LINES.slice(0, 3), { snapshotEvery: 2 });
  const draft = `${snapshotPath(folder, 3)}.another.draft`;
  await writeFile(draft, 'perpsnap and more to come');
  await appendAll(folder, SMALL_LINES.slice(3), { snapshotEvery: 2, snapshotKeep: 1 });
  const names = await readdir(path.join(folder, 'snapshots'));
  assert.deepEqual(
    names.sort(),
    [draft, snapshotPath(folder, 6)].map((file) => path.basename(file)),
  );
});

test('drafts left by a crash are not used, and are cleaned up', async (t) => {
  const folder = await makeTemporaryFolder(t);
  await appendAll(folder, SMALL_LINES.slice(0, 3), { snapshotEvery: 2 });
  const draft = `${snapshotPath(folder, 3)}.another.draft`;
  await writeFile(draft, 'perpsnap and not much more');
  const longAgo = new Date(Date.now() - 120_000);
  await utimes(draft, longAgo, longAgo);
  const { startHeight, warnings } = await restoreDirectory(folder);
  assert.deepEqual({ startHeight, warnings }, { startHeight: 2, warnings: [] });
  await appendAll(folder, SMALL_LINES.slice(3), { snapshotEvery: 2 });
  const names = await readdir(path.join(folder, 'snapshots'));
  assert.deepEqual(
    names.sort(),
    [2, 4, 6].map((height) => path.basename(snapshotPath(folder, height))),
  );
});

test('only the newest snapshots are kept', async (t) => {
  const folder = await makeTemporaryFolder(t);
  await appendAll(folder, SMALL_LINES, { snapshotEvery: 1, snapshotKeep: 2 });
  const snapshots = new SnapshotFolder(folder);
  assert.deepEqual(snapshots.heights(), [5, 6]);
  await snapshots.keepNewest(7);
  assert.deepEqual(snapshots.heights(), [5, 6]);
  await snapshots.keepNewest(0);
  assert.deepEqual(snapshots.heights(), []);
});

test('snapshots of another ledger are ignored with a warning', async (t) => {
  const [folder, other] = [await makeTemporaryFolder(t), await makeTemporaryFolder(t)];
  const lines = simulateLines('this', 20);
  await appendAll(folder, lines, NO_SNAPSHOTS);
  await appendAll(other, simulateLines('another', 20), { snapshotEvery: 10 });
  await cp(path.join(other, 'snapshots'), path.join(folder, 'snapshots'), { recursive: true });
  const { replica, warnings, startHeight } = await restoreDirectory(folder);
  assert.equal(startHeight, 0);
  assert.deepEqual(warnings, [
    'the snapshot of height 20 is ignored: it belongs to another ledger',
    'the snapshot of height 10 is ignored: it belongs to another ledger',
  ]);
  assert.deepEqual(outlookOf(replica.state), foldOutlooks(lines)[20]);
});

test('a snapshot under the name of another height is ignored with a warning', async (t) => {
  const folder = await makeTemporaryFolder(t);
  await appendAll(folder, SMALL_LINES, { snapshotEvery: 4 });
  await cp(snapshotPath(folder, 4), snapshotPath(folder, 5));
  const { replica, warnings, startHeight } = await restoreDirectory(folder);
  assert.equal(startHeight, 4);
  assert.deepEqual(warnings, [
    'the snapshot of height 5 is ignored: it holds the state of height 4',
  ]);
  assert.deepEqual(outlookOf(replica.state), foldOutlooks(SMALL_LINES)[6]);
});

test('a snapshot ahead of the ledger is ignored, and does not crowd out new ones', async (t) => {
  const [folder, longer] = [await makeTemporaryFolder(t), await makeTemporaryFolder(t)];
  await appendAll(longer, SMALL_LINES, { snapshotEvery: 1 });
  await cp(path.join(longer, 'snapshots'), path.join(folder, 'snapshots'), { recursive: true });
  await rm(snapshotPath(folder, 1));
  await rm(snapshotPath(folder, 2));
  const policy = { snapshotEvery: 2, snapshotKeep: 2 };
  const { replica, warnings } = await appendAll(folder, SMALL_LINES.slice(0, 2), policy);
  assert.deepEqual(warnings, ['there is a snapshot of height 6, but the ledger ends at 0']);
  assert.deepEqual(outlookOf(replica.state), foldOutlooks(SMALL_LINES)[2]);
  assert.deepEqual(new SnapshotFolder(folder).heights(), [2]);
});

test('a loaded state can grow', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const lines = [
    lineOfUsers(1, { from: 1, to: 3 }),
    ...Array.from({ length: 20 }, (_, index) =>
      lineOfUsers(index + 2, { from: 3 + index * 50, to: 60 + index * 50 }),
    ),
  ];
  const outlooks = foldOutlooks(lines);
  await appendAll(folder, lines.slice(0, 1), { snapshotEvery: 1 });
  const { replica, startHeight } = await appendAll(folder, lines.slice(1), { snapshotEvery: 7 });
  assert.equal(startHeight, 1);
  assert.deepEqual(outlookOf(replica.state), outlooks[21]);
  for (const at of [7, 14, 21]) {
    const { replica: later, startHeight: from } = await restoreDirectory(folder, at);
    assert.equal(from, at);
    assert.deepEqual(outlookOf(later.state), outlooks[at]);
  }
});

test('a pruned ledger needs a snapshot from its base on, and says so', async (t) => {
  const folder = await makeTemporaryFolder(t);
  await appendAll(folder, SMALL_LINES, { snapshotEvery: 4 });
  await prune(folder, 3);
  const { replica, startHeight } = await restoreDirectory(folder);
  assert.equal(startHeight, 4);
  assert.deepEqual(outlookOf(replica.state), foldOutlooks(SMALL_LINES)[6]);
  await rm(snapshotPath(folder, 4));
  await assert.rejects(restoreDirectory(folder), {
    fault: 'missing',
    message: 'the blocks up to 3 were pruned, and no snapshot from there to 6 is usable',
  });
});

test('a ledger that does not answer for a moment makes no snapshot unusable', async (t) => {
  const folder = await makeTemporaryFolder(t);
  await appendAll(folder, SMALL_LINES, { snapshotEvery: 4 });
  await prune(folder, 3);
  const ledger = await openEmbeddedLedger(folder);
  t.after(() => ledger.close());
  const point = t.mock.method(ledger, 'point', async () => {
    throw new LedgerError('unavailable', 'no leader');
  });
  await assert.rejects(restoreFrom(ledger, folder), { fault: 'unavailable', message: 'no leader' });
  point.mock.restore();
  assert.equal((await restoreFrom(ledger, folder)).startHeight, 4);
});

async function prune(folder: string, height: number): Promise<void> {
  const writer = await openEmbeddedLedgerWriter(folder);
  await writer.prune(height);
  await writer.close();
}

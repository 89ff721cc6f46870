/** Snapshots on a full or read-only disk: they are a cache, so appending and answering continue. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { CHAIN_START, nextBlock } from '../../src/ledger/hash-chain.ts';
import { LiveState } from '../../src/replica/live-state.ts';
import type { SharedSnapshots } from '../../src/replica/shared-snapshots.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { SnapshotKeeper } from '../../src/replica/snapshot-keeper.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState } from '../../src/state/state.ts';
import {
  createPlaces,
  joinLines,
  readVerification,
  run,
  succeed,
} from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { assertSentences, makeDisk, mountDisk, type SmallDisk } from './small-disk.ts';

const place = createPlaces();
const lines = simulateLines(60, 'disk');
const EVERY_TENTH = ['--snapshot-every', '10', '--snapshot-keep', '2'];

interface Placed {
  readonly data: string;
  /** The disk that holds its snapshots, and nothing else. */
  readonly disk: SmallDisk;
}

function placeOnTwoDisks(t: TestContext, snapshotsKibibytes: number): Placed {
  const data = place();
  return { data, disk: mountDisk(t, path.join(data, 'snapshots'), snapshotsKibibytes) };
}

const BREAKING: [what: string, breakDisk: (disk: SmallDisk) => void, reason: string][] = [
  ['full', (disk) => disk.fill(), 'ENOSPC: no space left on device'],
  ['nearly full', (disk) => disk.fill({ leave: 8192 }), 'ENOSPC: no space left on device'],
  [
    'read-only',
    (disk) => disk.setReadOnly(true),
    '\\S+/snapshots cannot be written to: EROFS: read-only file system',
  ],
];

for (const [what, breakDisk, reason] of BREAKING) {
  test(`an append continues if the disk of its snapshots is ${what}, and leaves no draft`, async (t) => {
    const { data, disk } = placeOnTwoDisks(t, 1024);
    const input = joinLines(lines.slice(0, 25));
    await run(['append', '--data', data, ...EVERY_TENTH], { input });
    const before = disk.names();
    assert.equal(before.length, 2);
    breakDisk(disk);
    const rest = joinLines(lines.slice(25));
    const { stdout, stderr } = await succeed(['append', '--data', data, ...EVERY_TENTH], {
      input: rest,
    });
    assert.match(stdout, /durable 60\n$/);
    assertSentences(stderr);
    for (const height of [30, 40, 50, 60]) {
      const warning = `warning: the snapshot of height ${height} was not saved: ${reason}`;
      assert.match(stderr, new RegExp(warning));
    }
    assert.deepEqual(disk.names(), before);
    const verified = await run(['verify', '--data', data]);
    assert.equal(readVerification(verified).height, 60, verified.stderr);
  });
}

test('a snapshot that lacks room for its last byte is not used', async (t) => {
  const disk = makeDisk(t, 1024);
  const state = createState();
  for (const line of lines) applyBlock(state, parseBlock(line));
  const snapshots = new SnapshotFolder(disk.folder);
  await snapshots.save(state, CHAIN_START.hash);
  await snapshots.remove([60]);
  let refusals = 0;
  for (let leave = 0; leave < 512 * 1024; leave += 4096) {
    disk.makeRoom();
    disk.fill({ leave });
    const isSaved = await snapshots.save(state, CHAIN_START.hash).then(
      () => true,
      ({ message }: Error) => /ENOSPC.* bytes are free in /.test(message) && false,
    );
    assert.deepEqual(snapshots.heights(), isSaved ? [60] : []);
    assert.equal((await snapshots.load(60))?.state.height, isSaved ? 60 : undefined);
    if (isSaved) break;
    refusals++;
    assert.deepEqual(disk.names('snapshots'), []);
  }
  assert.ok(refusals > 5 && snapshots.heights().length === 1, `${refusals} refusals`);
});

test('a replica that cannot save snapshots keeps following, and saves again once it can', async (t) => {
  const { data, disk } = placeOnTwoDisks(t, 1024);
  const writer = await openEmbeddedLedgerWriter(data);
  t.after(() => writer.close());
  const snapshots = new SnapshotFolder(data);
  const warnings: string[] = [];
  const shared = { publish: async () => true } as Partial<SharedSnapshots> as SharedSnapshots;
  const warn = (message: string) => void warnings.push(message);
  const keeper = new SnapshotKeeper({ snapshots, shared, every: 1, keep: 2, warn });
  const live = new LiveState({
    ledger: writer,
    snapshots,
    maxAgeMs: 0,
    warn,
    advanced: () => undefined,
    keep: (replica) => keeper.keep(replica),
    failed: assert.ifError,
  });
  disk.setReadOnly(true);
  await keeper.ready();
  const stop = new AbortController();
  const following = live.run(stop.signal);
  let point = CHAIN_START;
  const append = async (line: string) => {
    const block = nextBlock(point, Buffer.from(line));
    point = block;
    await writer.append([block]);
    await live.waitFor(block.height, 5000);
    assert.equal(live.state?.height, block.height, live.unavailableReason);
  };
  for (const line of lines.slice(0, 5)) await append(line);
  const readOnly = /^the snapshot of height \d was not saved: .*EROFS/;
  await until('a warning of the read-only disk', () =>
    warnings.some((text) => readOnly.test(text)),
  );
  disk.setReadOnly(false);
  disk.fill();
  for (const line of lines.slice(5, 10)) await append(line);
  await until('a warning of the full disk', () => warnings.some((text) => /ENOSPC/.test(text)));
  disk.makeRoom();
  for (const line of lines.slice(10, 20)) await append(line);
  await until('a snapshot', () => snapshots.heights().length > 0);
  assert.equal((await live.health(Date.now())).status, 'ok');
  stop.abort();
  await following;
  await keeper.close();
  assert.ok(disk.names().every((name) => /^(users|\d{16}\.snapshot)$/.test(name)));
});

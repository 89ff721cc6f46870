/** A start that replays for long leaves a snapshot, so that the next one does not. */

import assert from 'node:assert/strict';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { LiveState } from '../../src/replica/live-state.ts';
import { type ReplicaOptions, restoreReplica, stateDigest } from '../../src/replica/replica.ts';
import type { SharedSnapshots } from '../../src/replica/shared-snapshots.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { SnapshotKeeper } from '../../src/replica/snapshot-keeper.ts';
import {
  appendAll,
  NO_SNAPSHOTS,
  restoreDirectory,
  snapshotPath,
} from '../../tools/harness/data-directory.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { simulateLines } from './exchange.ts';

const BLOCKS = 30;
const lines = simulateLines('replayed', BLOCKS);
/** Stands for a ledger on NATS: nothing is fetched from it. */
const SHARED = { fetch: async () => undefined, publish: async () => undefined };
const shared = SHARED as unknown as SharedSnapshots;

interface Replayed {
  readonly folder: string;
  readonly ledger: Ledger;
  readonly snapshots: SnapshotFolder;
}

async function makeReplayed(t: TestContext): Promise<Replayed> {
  const folder = await makeTemporaryFolder(t);
  await appendAll(folder, lines, NO_SNAPSHOTS);
  const ledger = await openEmbeddedLedger(folder);
  t.after(() => ledger.close());
  return { folder, ledger, snapshots: new SnapshotFolder(folder) };
}

async function restore(
  { ledger, snapshots }: Replayed,
  terms: Pick<ReplicaOptions, 'saveAfterMs' | 'height' | 'shared'>,
): Promise<string[]> {
  const warnings: string[] = [];
  const warn = (message: string) => warnings.push(message);
  const replica = await restoreReplica({ ledger, snapshots, warn, ...terms });
  assert.equal(replica.point.height, terms.height ?? BLOCKS);
  return warnings;
}

test('a replay that takes too long is followed by a snapshot, from which the next one starts', async (t) => {
  const replayed = await makeReplayed(t);
  const before = await restoreDirectory(replayed.folder);
  assert.equal(before.startHeight, 0);
  assert.deepEqual(await restore(replayed, { saveAfterMs: 0 }), []);
  assert.deepEqual(replayed.snapshots.heights(), [BLOCKS]);
  const after = await restoreDirectory(replayed.folder);
  assert.deepEqual([after.startHeight, after.warnings], [BLOCKS, []]);
  assert.equal(stateDigest(after.replica.state), stateDigest(before.replica.state));
});

const UNSAVED: [what: string, terms: Parameters<typeof restore>[1]][] = [
  ['a quick replay', { saveAfterMs: 3_600_000 }],
  ['a replay that is not to be saved', {}],
  ['a replay to a height of the past', { saveAfterMs: 0, height: 20 }],
  ['a replay of a ledger on NATS', { saveAfterMs: 0, shared }],
];

for (const [what, terms] of UNSAVED) {
  test(`${what} is followed by no snapshot`, async (t) => {
    const replayed = await makeReplayed(t);
    assert.deepEqual(await restore(replayed, terms), []);
    assert.deepEqual(replayed.snapshots.heights(), []);
  });
}

test('while another process writes a snapshot, none is added', async (t) => {
  const replayed = await makeReplayed(t);
  mkdirSync(path.join(replayed.folder, 'snapshots'));
  writeFileSync(`${snapshotPath(replayed.folder, BLOCKS)}.other.draft`, 'half');
  assert.deepEqual(await restore(replayed, { saveAfterMs: 0 }), []);
  assert.deepEqual(replayed.snapshots.heights(), []);
});

test('in the folder of another user, no snapshot is saved', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root can give a folder away');
  const replayed = await makeReplayed(t);
  chownSync(replayed.folder, 65_534, 65_534);
  assert.deepEqual(await restore(replayed, { saveAfterMs: 0 }), []);
  assert.deepEqual(replayed.snapshots.heights(), []);
});

test('a snapshot that cannot be saved is a warning', async (t) => {
  const replayed = await makeReplayed(t);
  // In place of the folder of the snapshots; without permissions, root would still write.
  writeFileSync(path.join(replayed.folder, 'snapshots'), '');
  const warnings = await restore(replayed, { saveAfterMs: 0 });
  assert.match(warnings.at(-1) ?? '', /^the snapshot of height 30 was not saved: /);
});

/** The ledger on a machine on which a replay takes a minute. */
function slowDown(t: TestContext, ledger: Ledger): Ledger {
  let passedMs = 0;
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + passedMs);
  return {
    base: () => ledger.base(),
    head: () => ledger.head(),
    height: () => ledger.height(),
    point: (height) => ledger.point(height),
    follow: (after, signal) => ledger.follow(after, signal),
    close: () => ledger.close(),
    async *read(after, to) {
      passedMs += 60_000;
      yield* ledger.read(after, to);
    },
  };
}

/** Restores as a service does, and offers the state to `keep`. */
async function serve(
  replayed: Replayed,
  options: Pick<ConstructorParameters<typeof LiveState>[0], 'keep' | 'shared'>,
): Promise<void> {
  const stop = new AbortController();
  const live = new LiveState({
    ...{ ledger: replayed.ledger, snapshots: replayed.snapshots, ...options },
    ...{ maxAgeMs: 0, maxBehindMs: 0 },
    warn: assert.fail,
    advanced: () => undefined,
    failed: assert.fail,
  });
  const running = live.run(stop.signal);
  await live.restored;
  stop.abort();
  await running;
}

test('a service on a folder saves a snapshot after a start that took long', async (t) => {
  const { ledger, ...place } = await makeReplayed(t);
  await serve({ ledger: slowDown(t, ledger), ...place }, {});
  assert.deepEqual(place.snapshots.heights(), [BLOCKS]);
});

test('a replica on NATS saves and publishes one, long before the next is due', async (t) => {
  const { ledger, ...place } = await makeReplayed(t);
  const published: number[] = [];
  const publish = async (_: unknown, height: number) => void published.push(height);
  const keeper = new SnapshotKeeper({
    ...{ snapshots: place.snapshots, keep: 2, every: 10_000, warn: assert.fail },
    shared: { ...SHARED, publish } as unknown as SharedSnapshots,
  });
  await keeper.ready();
  const keep = keeper.keep.bind(keeper);
  await serve({ ledger: slowDown(t, ledger), ...place }, { keep, shared });
  await keeper.close();
  assert.deepEqual([place.snapshots.heights(), published], [[BLOCKS], [BLOCKS]]);
});

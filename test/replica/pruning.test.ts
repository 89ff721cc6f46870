/** Readers of a ledger survive a prune, from a snapshot if necessary. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { LiveState } from '../../src/replica/live-state.ts';
import { restoreReplica, stateDigest } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { joinLines, succeed } from '../../tools/harness/program.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { foldOutlooks, simulateLines } from './exchange.ts';

const lines = simulateLines('pruned', 40);
const outlooks = foldOutlooks(lines);
const SNAPSHOTS = ['--snapshot-every', '5', '--snapshot-keep', '2'];

/** In another process, like a real writer. */
async function append(data: string, some: readonly string[], flags: readonly string[] = []) {
  const args = ['append', '--data', data, ...SNAPSHOTS, ...flags];
  await succeed(args, { input: joinLines(some) });
}

/** The same ledger, with a hook before its first read or follow after a height. */
function interrupted(ledger: Ledger, interrupt: () => Promise<void>): Ledger {
  let isDone = false;
  async function* first<T>(batches: () => AsyncIterable<T>): AsyncIterable<T> {
    if (!isDone) {
      isDone = true;
      await interrupt();
    }
    yield* batches();
  }
  return {
    base: () => ledger.base(),
    head: () => ledger.head(),
    height: () => ledger.height(),
    point: (height) => ledger.point(height),
    read: (after, to) => first(() => ledger.read(after, to)),
    follow: (after, signal) => first(() => ledger.follow(after, signal)),
    close: () => ledger.close(),
  };
}

test('a restore whose blocks are pruned meanwhile starts again from a later snapshot', async (t) => {
  const folder = await makeTemporaryFolder(t);
  await append(folder, lines.slice(0, 8));
  const ledger = await openEmbeddedLedger(folder);
  t.after(() => ledger.close());
  const grown = interrupted(ledger, () => append(folder, lines.slice(8), ['--keep-blocks', '5']));
  const snapshots = new SnapshotFolder(folder);
  const replica = await restoreReplica({ ledger: grown, snapshots, warn: assert.fail });
  assert.equal((await ledger.base()).height, 35);
  assert.equal(stateDigest(replica.state), outlooks[40].digest);
});

test('a replica whose next blocks were pruned continues from a snapshot', async (t) => {
  const folder = await makeTemporaryFolder(t);
  await append(folder, lines.slice(0, 5));
  const ledger = await openEmbeddedLedger(folder);
  t.after(() => ledger.close());
  const grown = interrupted(ledger, () => append(folder, lines.slice(5), ['--keep-blocks', '5']));
  const warnings: string[] = [];
  const live = new LiveState({
    ledger: { ...grown, read: (after, to) => ledger.read(after, to) },
    snapshots: new SnapshotFolder(folder),
    maxAgeMs: 0,
    warn: (message) => warnings.push(message),
    advanced: () => undefined,
    failed: assert.ifError,
  });
  const stop = new AbortController();
  const following = live.run(stop.signal);
  await live.waitFor(40, 20_000);
  assert.ok(live.state, live.unavailableReason);
  assert.equal(stateDigest(live.state), outlooks[40].digest);
  assert.deepEqual(warnings, ['the blocks after height 5 were pruned: restoring again']);
  stop.abort();
  await following;
});

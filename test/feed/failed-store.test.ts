/** A ledger that fails ends the feed with its reason, whatever the feed waits for. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BlockWriter } from '../../src/feed/block-writer.ts';
import { createNdjsonFeed } from '../../src/feed/ndjson.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { LedgerError } from '../../src/ledger/ledger.ts';
import { restoreReplica } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';

const TAKEN_BATCHES = 2;
const PAUSE_MS = 50;

test('the first batch that cannot be stored ends an append, even while it waits for input', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const ledger = await openEmbeddedLedgerWriter(folder);
  t.after(() => ledger.close());
  const snapshots = new SnapshotFolder(folder);
  const replica = await restoreReplica({ ledger, snapshots, warn: assert.fail });
  const append = ledger.append.bind(ledger);
  let batches = 0;
  ledger.append = (blocks) => {
    if (batches++ < TAKEN_BATCHES) return append(blocks);
    return Promise.reject(new LedgerError('unwritable', 'no space left'));
  };
  const simulator = createSimulator({ seed: 'failed', accounts: 20 });
  let read = 0;
  /** Blocks at intervals; after ten of them, nothing more. */
  async function* trickle() {
    for (; read < 10; read++) {
      yield Buffer.from(`${simulator.next()}\n`);
      await sleep(PAUSE_MS);
    }
    await new Promise(() => undefined);
  }
  const durable: number[] = [];
  const writer = new BlockWriter({
    ledger,
    replica,
    snapshots,
    snapshotEvery: Number.MAX_SAFE_INTEGER,
    snapshotKeep: 1,
    aheadMsMax: 0,
    warn: assert.fail,
    durable: (height) => durable.push(height),
  });
  const feed = createNdjsonFeed({ name: 'trickle', lineBytesMax: 1 << 20, read: trickle });
  const appending = writer.run(feed, new AbortController().signal);
  const late = sleep(20 * PAUSE_MS, 'it waits for further input', { ref: false });
  await assert.rejects(Promise.race([appending, late]), { fault: 'unwritable' });
  assert.deepEqual(durable, [1, 2]);
  assert.ok(read <= TAKEN_BATCHES + 1, `${read} blocks were read`);
});

/** The names of new folders and files are durable before anything in them is acknowledged. */

import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';

/** Collects what folders held when they were synced: these names survive a power cut. */
async function collectDurableNames(context: TestContext, folder: string): Promise<Set<string>> {
  const names = new Set<string>();
  const handle = await open(folder);
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const { sync } = prototype;
  context.mock.method(prototype, 'sync', async function (this: FileHandle) {
    const synced = readlinkSync(`/proc/self/fd/${this.fd}`);
    for (const name of readdirSync(synced)) names.add(path.join(synced, name));
    await sync.call(this);
  });
  return names;
}

test('a new ledger and the folders above it have durable names before the first block', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const names = await collectDurableNames(t, folder);
  const writer = await openEmbeddedLedgerWriter(path.join(folder, 'above', 'data'));
  t.after(() => writer.close());
  const made = ['above', 'above/data', 'above/data/ledger', 'above/data/ledger/data.mdb'];
  for (const name of made) assert.ok(names.has(path.join(folder, name)), name);
});

/** The embedded ledger: the conformance suite, and several processes on one ledger. */

import assert from 'node:assert/strict';
import { mkdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { open } from 'lmdb';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { chainLines, chainOfLength, collectBlocks, describeBlocks } from './chains.ts';
import { describeLedger, type LedgerHarness } from './conformance.ts';
import { type OtherProcess, startOther } from './other-process.ts';

async function makeHarness(): Promise<LedgerHarness> {
  const folder = await mkdtemp(path.join(tmpdir(), 'perpinfo-test-'));
  return {
    openWriter: () => openEmbeddedLedgerWriter(folder),
    openReader: () => openEmbeddedLedger(folder),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

describeLedger('the embedded ledger', makeHarness);

test('a folder without a ledger cannot be read, and is left as it is', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const missing = path.join(folder, 'nowhere');
  await assert.rejects(openEmbeddedLedger(missing), {
    fault: 'missing',
    message: `there is no ledger in ${missing}: the commands append, follow and demo create one`,
  });
  // Not even the folder was made.
  await assert.rejects(rm(missing), { code: 'ENOENT' });
});

test('a ledger whose creation was interrupted cannot be read, but can be written', async (t) => {
  const folder = await makeTemporaryFolder(t);
  mkdirSync(path.join(folder, 'ledger'));
  await open({ path: path.join(folder, 'ledger'), maxDbs: 8 }).close();
  await assert.rejects(openEmbeddedLedger(folder), {
    fault: 'missing',
    message: `there is no ledger in ${folder}: its creation was interrupted`,
  });
  const writer = await openEmbeddedLedgerWriter(folder);
  await writer.append(chainOfLength(1));
  await writer.close();
});

test('the file takes little more than the blocks', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const writer = await openEmbeddedLedgerWriter(folder);
  const blocks = chainLines(Array.from({ length: 4_000 }, () => 'x'.repeat(250)));
  for (let start = 0; start < blocks.length; start += 100) {
    await writer.append(blocks.slice(start, start + 100));
  }
  await writer.close();
  const { size } = statSync(path.join(folder, 'ledger', 'data.mdb'));
  const bytes = blocks.length * (250 + 32);
  assert.ok(size < 1.35 * bytes, `${size} for ${bytes}`);
});

test('a writer is refused while another process has the ledger open, and accepted after it', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const other = await startOther(t, 'write', folder);
  assert.equal(await other.nextLine(), 'open');
  await assert.rejects(openEmbeddedLedgerWriter(folder), {
    fault: 'busy',
    message: `another writer, process ${other.pid}, has this ledger open`,
  });
  await other.kill('SIGTERM');
  const writer = await openEmbeddedLedgerWriter(folder);
  assert.equal((await writer.head()).height, 0);
  await writer.close();
});

test('a killed writer leaves no lock, and its acknowledged blocks are there', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const other = await startOther(t, 'append', folder);
  assert.equal(await other.nextLine(), 'open');
  let durable = '';
  while (durable !== 'durable 25') durable = await other.nextLine();
  await other.kill('SIGKILL');
  const writer = await openEmbeddedLedgerWriter(folder);
  const blocks = await collectBlocks(writer.read(0));
  assert.ok(blocks.length >= 25, `only ${blocks.length} blocks are left`);
  assert.deepEqual(describeBlocks(blocks), describeBlocks(chainOfLength(blocks.length)));
  await writer.append(chainOfLength(1, blocks[blocks.length - 1]));
  await writer.close();
});

test('a prune that is killed halfway has taken effect, and the next one clears the rest', async (t) => {
  const blocks = chainOfLength(9000);
  let leftovers = 0;
  for (const turns of [1, 2, 3]) {
    const folder = await makeTemporaryFolder(t);
    const writer = await openEmbeddedLedgerWriter(folder);
    await writer.append(blocks);
    await writer.close();
    const other = await startOther(t, 'prune', folder, '8500', String(turns));
    assert.equal(await other.endedBy(), 'SIGKILL');
    if ((await countStored(folder)) > 500) leftovers++;
    const next = await openEmbeddedLedgerWriter(folder);
    assert.equal((await next.base()).height, 8500);
    assert.equal(await next.point(8499), undefined);
    const kept = await collectBlocks(next.read(0));
    assert.deepEqual(describeBlocks(kept), describeBlocks(blocks.slice(8500)));
    await next.append(chainOfLength(1, blocks[8999]));
    await next.prune(8500);
    await next.close();
    assert.equal(await countStored(folder), 501);
  }
  assert.ok(leftovers > 0, 'no prune was killed on its way');
});

/** Number of blocks in the file, including pruned ones that were not cleared. */
async function countStored(folder: string): Promise<number> {
  const environment = open({ path: path.join(folder, 'ledger'), maxDbs: 8 });
  const count = environment.openDB({ name: 'blocks', encoding: 'binary' }).getKeysCount();
  await environment.close();
  return count;
}

test('a follower in another process sees what is appended here', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const blocks = chainOfLength(300);
  const writer = await openEmbeddedLedgerWriter(folder);
  await writer.append(blocks.slice(0, 100));
  const other = await startOther(t, 'follow', folder);
  assert.equal(await other.nextLine(), 'open');
  for (const block of blocks.slice(100)) await writer.append([block]);
  for (const expected of describeBlocks(blocks)) assert.equal(await other.nextLine(), expected);
  await writer.close();
});

test('of processes that open a writer at once, exactly one succeeds', async (t) => {
  for (let round = 0; round < 3; round++) {
    const folder = await makeTemporaryFolder(t);
    const start = Date.now() + 500;
    const others = await Promise.all(
      [1, 2, 3].map(() => startOther(t, 'write', folder, String(start))),
    );
    const outcomes = await Promise.all(others.map((other) => other.nextLine()));
    const winner = others[outcomes.indexOf('open')];
    assert.ok(winner !== undefined, `nobody got it: ${outcomes.join('; ')}`);
    const refusal = `busy: another writer, process ${winner.pid}, has this ledger open`;
    assert.deepEqual(outcomes.sort(), [refusal, refusal, 'open']);
    await Promise.all(others.map((other: OtherProcess) => other.kill('SIGKILL')));
  }
});

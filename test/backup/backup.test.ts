/** Backups and restores of small ledgers. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import { openKeyReader } from '../../src/access/embedded/key-reader.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import {
  appendAll,
  NO_SNAPSHOTS,
  restoreDirectory,
  verifyDirectory,
} from '../../tools/harness/data-directory.ts';
import { createPlaces, run, start } from '../../tools/harness/program.ts';
import { createKey } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';
import { backUp, restore } from './backups.ts';

const place = createPlaces();
const lines = simulateLines(300, 'backup');

async function makeLedger(count: number, policy = NO_SNAPSHOTS): Promise<string> {
  const data = place();
  await appendAll(data, lines.slice(0, count), policy);
  return data;
}

async function prune(data: string, height: number): Promise<void> {
  const writer = await openEmbeddedLedgerWriter(data);
  await writer.prune(height);
  await writer.close();
}

async function readKeys(data: string) {
  const reader = await openKeyReader(data);
  const keys = reader.all();
  await reader.close();
  return keys;
}

/** An error thrown on purpose, at a step and a height. */
function failAt(step: string, at: number) {
  return (now: string, height: number) => {
    if (now === step && height >= at) throw new Error('interrupted');
  };
}

test('a backup during writes has one height, and restores to the state of that height', async () => {
  const [data, file, target] = [place(), place('backup'), place()];
  const writer = start(['append', '--data', data, '--ahead-max', '0']);
  writer.child.stdin.write(`${lines.slice(0, 100).join('\n')}\n`);
  await writer.untilWritten('durable 100\n');
  let next = 100;
  const { height, digest } = await backUp(data, file, {
    progress: () => void writer.child.stdin.write(`${lines[next++]}\n`),
  });
  writer.child.stdin.end();
  assert.equal((await writer.ended).code, 0);
  assert.ok(next > 100 && height >= 100 && height < next, `height ${height}, written ${next}`);
  const { replica } = await restoreDirectory(data, height);
  assert.equal(digest, stateDigest(replica.state));
  assert.equal((await restore(file, target)).addedBlocks, height);
  assert.equal((await verifyDirectory(target)).digest, digest);
});

test('the commands print what verify prints, and leave nothing but the file', async () => {
  const data = await makeLedger(30);
  const [file, target] = [place('backup'), place()];
  const { secret } = await createKey(data);
  const verified = await run(['verify', '--data', data]);
  const backedUp = await run(['backup', '--data', data, '--to', file]);
  assert.deepEqual([backedUp.code, backedUp.stdout], [0, verified.stdout]);
  const restored = await run(['restore', '--from', file, '--data', target]);
  assert.deepEqual([restored.code, restored.stdout], [0, verified.stdout]);
  assert.equal(restored.stderr, 'perpinfo: restored 30 blocks, and 1 keys\n');
  assert.deepEqual(await readKeys(target), await readKeys(data));
  assert.ok(!readFileSync(file).includes(secret));
  assert.deepEqual([existsSync(`${file}.part`), existsSync(`${file}.lock`)], [false, false]);
});

test('a pruned ledger is backed up with a snapshot, and restored with its heights', async () => {
  const data = await makeLedger(200, { snapshotEvery: 70 });
  const original = await verifyDirectory(data);
  await prune(data, 120);
  const [file, target] = [place('backup'), place()];
  const { height, digest } = await backUp(data, file);
  assert.deepEqual({ height, digest }, { height: 200, digest: original.digest });
  assert.equal((await restore(file, target)).addedBlocks, 80);
  assert.deepEqual(await verifyDirectory(target), original);
  const ledger = await openEmbeddedLedger(target);
  assert.equal((await ledger.base()).height, 120);
  await ledger.close();
});

test('an interrupted backup continues where it ended', async () => {
  const data = await makeLedger(300);
  const file = place('backup');
  const interrupted = backUp(data, file, { progress: failAt('backing up', 256) });
  await assert.rejects(interrupted, /interrupted/);
  assert.deepEqual([existsSync(file), existsSync(`${file}.part`)], [false, true]);
  // The torn piece of a write that a kill has cut short.
  writeFileSync(`${file}.part`, Buffer.alloc(100, 7), { flag: 'a' });
  assert.equal((await backUp(data, file)).addedBlocks, 44);
  assert.equal((await restore(file, place())).height, 300);
});

test('an earlier backup is brought up to date, and keeps what the ledger has pruned', async () => {
  const data = await makeLedger(150, { snapshotEvery: 100 });
  const [file, target] = [place('backup'), place()];
  await backUp(data, file);
  await restore(file, target);
  await appendAll(data, lines.slice(150, 220), { snapshotEvery: 100 });
  const original = await verifyDirectory(data);
  await prune(data, 100);
  assert.equal((await backUp(data, file)).addedBlocks, 70);
  assert.equal((await restore(file, place())).addedBlocks, 220);
  assert.equal((await restore(file, target)).addedBlocks, 70);
  assert.deepEqual(await verifyDirectory(target), original);
});

test('a backup that ends before a pruned ledger starts is not replaced', async () => {
  const data = await makeLedger(50);
  const file = place('backup');
  await backUp(data, file);
  await appendAll(data, lines.slice(50, 200), { snapshotEvery: 50 });
  await prune(data, 150);
  await assert.rejects(
    backUp(data, file),
    /ends at block 50, and the ledger now starts at block 151/,
  );
  const other = place('backup');
  writeFileSync(`${other}.part`, readFileSync(file));
  const { warnings, addedBlocks } = await backUp(data, other);
  assert.match(warnings.join(), /the ledger now starts at block 151: starting again/);
  assert.equal(addedBlocks, 50);
});

test('a file or a folder that holds anything else is refused and left as it is', async () => {
  const data = await makeLedger(20);
  const another = place();
  await appendAll(another, simulateLines(30, 'another'), NO_SNAPSHOTS);
  const [file, text] = [place('backup'), place('text')];
  await backUp(data, file);
  writeFileSync(text, 'not a backup');
  const before = readFileSync(file);
  await assert.rejects(backUp(another, file), /holds another ledger: its block 20 is not in this/);
  await assert.rejects(backUp(data, text), /text is not a backup of perpinfo/);
  await assert.rejects(restore(file, another), /is at block 30, which is not the same in/);
  const longer = await makeLedger(40);
  await assert.rejects(
    restore(file, longer),
    /is at block 40, .* blocks 1 to 20: expected an empty/,
  );
  assert.deepEqual(readFileSync(file), before);
  assert.equal((await verifyDirectory(another)).height, 30);
  assert.equal((await verifyDirectory(longer)).height, 40);
});

test('a refused restore leaves the snapshot that a pruned ledger starts from', async () => {
  const data = await makeLedger(150, { snapshotEvery: 100 });
  const another = place();
  await appendAll(another, simulateLines(150, 'another'), { snapshotEvery: 100 });
  const original = await verifyDirectory(data);
  await prune(data, 99);
  await prune(another, 99);
  const file = place('backup');
  await backUp(another, file);
  await assert.rejects(restore(file, data), /is at block 150, which is not the same in/);
  assert.deepEqual(await verifyDirectory(data), original);
});

test('a ledger whose restore was interrupted is opened by nobody until it is whole', async () => {
  const [file, target] = [place('backup'), place()];
  await backUp(await makeLedger(300), file);
  await assert.rejects(restore(file, target, failAt('restoring', 256)), /interrupted/);
  const notWhole = /is not whole: its restore .* continue it with perpinfo restore/;
  await assert.rejects(openEmbeddedLedger(target), notWhole);
  await assert.rejects(openEmbeddedLedgerWriter(target), notWhole);
  const served = await run(['serve', '--data', target, '--port', '0', '--admin-port', '0']);
  assert.equal(served.code, 1);
  assert.match(served.stdout + served.stderr, notWhole);
  // All blocks are there, but they have not been read back.
  await assert.rejects(restore(file, target, failAt('reading the ledger back', 1)), /interrupted/);
  await assert.rejects(openEmbeddedLedger(target), notWhole);
  assert.equal((await restore(file, target)).addedBlocks, 0);
  assert.equal((await verifyDirectory(target)).height, 300);
});

test('of two backups to a file, or restores to a folder, at once, the second is refused', async () => {
  const data = await makeLedger(50);
  const [file, target] = [place('backup'), place()];
  const seconds: Promise<unknown>[] = [];
  await backUp(data, file, {
    progress: () => void seconds.push(assert.rejects(backUp(data, file), /process \d+ is writing/)),
  });
  assert.ok(seconds.length > 0);
  await Promise.all(seconds);
  assert.equal((await restore(file, target)).height, 50);
  const writer = await openEmbeddedLedgerWriter(target);
  const other = await run(['restore', '--from', file, '--data', target]);
  await writer.close();
  assert.equal(other.code, 1);
  assert.match(other.stderr, /another writer, process \d+, has this ledger open/);
});

test('keys of the folder stay as they are, and a backup can do without keys', async () => {
  const data = await makeLedger(5);
  const revoked = await createKey(data);
  const [file, bare, target] = [place('backup'), place('backup'), place()];
  await backUp(data, file, { keys: await readKeys(data) });
  await backUp(data, bare);
  assert.equal((await restore(bare, target)).addedKeys, 0);
  assert.deepEqual(await readKeys(target), []);
  assert.equal((await restore(file, target)).addedKeys, 1);
  const store = await openEmbeddedKeys(target);
  store.revoke(revoked.id);
  store.create({ label: 'new', budget: undefined, expiresMs: undefined });
  await store.close();
  assert.equal((await restore(file, target)).addedKeys, undefined);
  assert.deepEqual(
    (await readKeys(target)).map(({ label }) => label),
    ['new'],
  );
});

test('an empty ledger is backed up and restored', async () => {
  const [file, target] = [place('backup'), place()];
  await (await openEmbeddedLedgerWriter(target)).close();
  await backUp(target, file);
  assert.equal((await restore(file, place())).height, 0);
});

test('a backup into its own folder, or to no file, is refused', LONG_ONLY, async () => {
  const data = await makeLedger(3);
  const refusals: [file: string, message: RegExp][] = [
    [path.join(data, 'backup'), /expected a file outside of/],
    [path.dirname(data), /, expected a file, not a folder/],
    [path.join(data, '../no/backup'), /there is no folder/],
  ];
  for (const [file, message] of refusals) {
    const { code, stderr } = await run(['backup', '--data', data, '--to', file]);
    assert.equal(code, 2);
    assert.match(stderr, message);
  }
});

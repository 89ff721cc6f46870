/** What a newer version has written is refused, or passed over if it is a cache, and the message says so. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { headers as createHeaders } from '@nats-io/transport-node';
import { open } from 'lmdb';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import { openKeyReader } from '../../src/access/embedded/key-reader.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { nextBlock } from '../../src/ledger/hash-chain.ts';
import { decodeMessage } from '../../src/ledger/jetstream/block-message.ts';
import { restoreDirectory, snapshotPath } from '../../tools/harness/data-directory.ts';
import { createPlaces, run, succeed } from '../../tools/harness/program.ts';
import { restore } from '../backup/backups.ts';
import { openRawBlocks } from '../replica/damage.ts';
import { readRecorded, unpackBackup, unpackData } from './kept-files.ts';

const VERSION = '0.1.0';
const NEWER = /written by a newer perpinfo.*upgrade this one/;
const NEWER_SNAPSHOT = /it was written by a newer perpinfo: upgrade this one$/;
const place = createPlaces();

/** Sets the format in a database, as a newer version will. */
async function putMeta(folder: string, encoding: 'binary' | 'json', format: unknown) {
  const environment = open({ path: folder, maxDbs: 8 });
  const useVersions = encoding === 'binary';
  const meta = environment.openDB({ name: 'meta', encoding, useVersions });
  await meta.put('format', format);
  await environment.close();
}

test('a ledger of a newer format is not opened', async () => {
  const data = unpackData(VERSION, place());
  await putMeta(path.join(data, 'ledger'), 'binary', Buffer.from('2'));
  await assert.rejects(openEmbeddedLedger(data), NEWER);
  await assert.rejects(openEmbeddedLedgerWriter(data), NEWER);
  const { code, stderr } = await run(['verify', '--data', data]);
  assert.equal(code, 1);
  assert.match(stderr, /the ledger in .* has format "2", expected format 1: /);
});

test('keys of a newer format are not opened', async () => {
  const data = unpackData(VERSION, place());
  await putMeta(path.join(data, 'keys'), 'json', 2);
  await assert.rejects(openKeyReader(data), NEWER);
  await assert.rejects(openEmbeddedKeys(data), NEWER);
});

/** Gives a snapshot another format, and the checksum that belongs to it. */
function changeSnapshot(file: string): void {
  const bytes = readFileSync(file);
  const at = bytes.indexOf('"format":3');
  assert.ok(at > 0);
  bytes.write('"format":9', at);
  createHash('sha256').update(bytes.subarray(40)).digest().copy(bytes, 8);
  writeFileSync(file, bytes);
}

test('a snapshot of a newer format is passed over with a message', async () => {
  const data = unpackData(VERSION, place());
  changeSnapshot(snapshotPath(data, 160));
  const { startHeight, warnings } = await restoreDirectory(data);
  assert.equal(startHeight, 80);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /^the snapshot of height 160 is ignored: it has format 9, expected/);
  assert.match(warnings[0], NEWER_SNAPSHOT);
  const { stderr } = await succeed(['verify', '--data', data]);
  assert.match(stderr, /the snapshot of height 160 is not checked: it has format 9/);
});

test('a backup of a newer format is not restored', async () => {
  const file = unpackBackup(VERSION, place('backup'));
  const bytes = readFileSync(file);
  bytes.writeUInt32LE(2, 8);
  writeFileSync(file, bytes);
  await assert.rejects(restore(file, place()), NEWER);
  const { code, stderr } = await run(['restore', '--from', file, '--data', place()]);
  assert.equal(code, 1);
  assert.match(stderr, /backup has format 2, expected format 1: /);
});

test('a block on NATS with an encoding of a newer version is not read', () => {
  const header = createHeaders();
  header.set('Perpinfo-Hash', '00'.repeat(32));
  header.set('Perpinfo-Encoding', 'zstd');
  assert.throws(() => decodeMessage(7, header, new Uint8Array()), NEWER);
});

test('a stored block with an event of a newer version says so', async () => {
  const data = unpackData(VERSION, place());
  const { height, head } = readRecorded(VERSION).ledger;
  const line = JSON.stringify({ height, time: 2e12, events: [{ type: 'option' }] });
  const raw = openRawBlocks(data);
  const previous = { height: height - 1, hash: raw.get(height - 1).subarray(0, 32) };
  const block = nextBlock(previous, Buffer.from(line));
  assert.notEqual(block.hash.toString('hex'), head);
  raw.putBlock(block);
  await raw.close();
  await assert.rejects(
    restoreDirectory(data),
    /stored block 200 does not apply: .*"option".*; if a newer perpinfo wrote it, upgrade this one$/,
  );
});

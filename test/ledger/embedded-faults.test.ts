/** Embedded ledgers whose disk fails, or whose folder holds what does not belong there. */

import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { open } from 'lmdb';
import { EmbeddedLedger, openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import {
  EmbeddedLedgerWriter,
  openEmbeddedLedgerWriter,
  openRestoringWriter,
} from '../../src/ledger/embedded/embedded-writer.ts';
import type { LedgerStore } from '../../src/ledger/embedded/ledger-store.ts';
import { openLmdbLedgerStore } from '../../src/ledger/embedded/lmdb-ledger-store.ts';
import { makeLockFile } from '../../src/ledger/embedded/lmdb-lock.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { chainOfLength, collectBlocks, describeBlocks, heightsOf } from './chains.ts';

const blocks = chainOfLength(4);
const FULL = Object.assign(new Error('No space left on device.'), { code: 28 });

/** The store of a ledger with three blocks. */
async function openStore(context: TestContext) {
  const folder = await makeTemporaryFolder(context);
  const writer = await openEmbeddedLedgerWriter(folder);
  await writer.append(blocks.slice(0, 3));
  await writer.close();
  const store = await openLmdbLedgerStore(path.join(folder, 'ledger'), { readOnly: false });
  assert.ok(store !== undefined);
  context.after(() => store.close());
  return { folder, store };
}

/** The store, but for some of its calls. */
function withCalls(store: LedgerStore, calls: Partial<LedgerStore>): LedgerStore {
  return new Proxy(store, {
    get(target, name: keyof LedgerStore) {
      const call = calls[name] ?? target[name];
      return typeof call === 'function' ? call.bind(target) : call;
    },
  });
}

async function openWriterOn(store: LedgerStore): Promise<EmbeddedLedgerWriter> {
  const writer = new EmbeddedLedgerWriter(store);
  await writer.register();
  return writer;
}

test('an append whose commit fails names the block and the free space, and stores nothing', async (t) => {
  const { store } = await openStore(t);
  // As the driver reports it: the reason is in a promise.
  const reason = Promise.reject(FULL);
  reason.catch(() => undefined);
  const error = Object.assign(new Error('Commit failed'), { commitError: reason });
  const calls: Partial<LedgerStore> = {
    append: () => Promise.reject(error),
    // The driver would wait forever for a flush: the store stays open until the process ends.
    close: () => assert.fail('it was closed'),
  };
  const writer = await openWriterOn(withCalls(store, calls));
  await assert.rejects(writer.append(blocks.slice(3)), {
    fault: 'unwritable',
    message: /^cannot store block 4: No space left on device; \d+ bytes are free in \S+\/ledger$/,
  });
  let writes = 0;
  calls.transact = () => {
    writes++;
    return Promise.reject(FULL);
  };
  await writer.close();
  assert.equal(writes, 0);
  assert.deepEqual(heightsOf(await collectBlocks(new EmbeddedLedger(store).read(0))), [1, 2, 3]);
});

test('a writer whose ledger another one has written to fails with a conflict', async (t) => {
  const { store } = await openStore(t);
  const writer = await openWriterOn(store);
  await store.transact((changes) => changes.putGuard(5));
  await assert.rejects(writer.append(blocks.slice(3)), {
    fault: 'conflict',
    message: 'another writer has written block 4 of this ledger',
  });
  assert.equal(store.readBlock(4), undefined);
});

test('a prune and a restore that cannot be written say so', async (t) => {
  const { store } = await openStore(t);
  const calls: Partial<LedgerStore> = {};
  const writer = await openWriterOn(withCalls(store, calls));
  calls.transact = () => Promise.reject(FULL);
  await assert.rejects(writer.prune(2), {
    fault: 'unwritable',
    message: /^cannot prune: No space left on device; \d+ bytes are free in /,
  });
  await assert.rejects(writer.startRestore(), {
    fault: 'unwritable',
    message: /^cannot restore: No space left on device; \d+ bytes are free in /,
  });
  assert.equal((await new EmbeddedLedger(store).base()).height, 0);
});

test('a read that fails halfway names the last block before it', async (t) => {
  const { store } = await openStore(t);
  const reading = withCalls(store, {
    *readBlocks(start) {
      if (start === 1) yield { height: 1, value: Buffer.alloc(40) };
      throw new Error('Input/output error');
    },
  });
  const ledger = new EmbeddedLedger(reading);
  for (const after of [0, 2]) {
    await assert.rejects(collectBlocks(ledger.read(after)), {
      fault: 'corrupt',
      message: `the ledger cannot be read after block ${after === 0 ? 1 : 2}: Input/output error`,
    });
  }
});

test('a ledger of a newer version is refused, and so is one whose restore was interrupted', async (t) => {
  const { folder, store } = await openStore(t);
  await store.transact((changes) => changes.putMeta('format', Buffer.from('2')));
  const newer = {
    fault: 'newer',
    message:
      `the ledger in ${folder} has format "2", expected format 1: ` +
      'it was written by a newer perpinfo, upgrade this one',
  };
  await assert.rejects(openEmbeddedLedger(folder), newer);
  await assert.rejects(openEmbeddedLedgerWriter(folder), newer);
  await store.transact((changes) => changes.removeMeta('format'));
  const restoring = await openRestoringWriter(folder);
  await restoring.startRestore();
  await restoring.close();
  const partial = {
    fault: 'missing',
    message: /is not whole: its restore from a backup is under way/,
  };
  await assert.rejects(openEmbeddedLedger(folder), partial);
  await assert.rejects(openEmbeddedLedgerWriter(folder), partial);
  const again = await openRestoringWriter(folder);
  await again.endRestore();
  await again.close();
  const ledger = await openEmbeddedLedger(folder);
  assert.equal(await ledger.height(), 3);
  await ledger.close();
});

test('entries that no writer has written are reported, not taken for blocks', async (t) => {
  const { folder, store } = await openStore(t);
  await store.transact((changes) => changes.putMeta('writer', Buffer.from('{')));
  await assert.rejects(openEmbeddedLedgerWriter(folder), {
    fault: 'unwritable',
    message: /^cannot open the ledger for writing: .*JSON/,
  });
  await store.close();
  const environment = open({ path: path.join(folder, 'ledger'), maxDbs: 8 });
  await environment.openDB({ name: 'blocks', encoding: 'binary' }).put('x', Buffer.alloc(40));
  await environment.close();
  const ledger = await openEmbeddedLedger(folder);
  await assert.rejects(ledger.head(), {
    fault: 'corrupt',
    message: 'the ledger is damaged: got the key "x", expected a height',
  });
  await ledger.close();
});

test('a ledger whose first writer was killed before it registered is empty', async (t) => {
  const folder = await makeTemporaryFolder(t);
  mkdirSync(path.join(folder, 'ledger'));
  writeFileSync(path.join(folder, 'ledger', 'data.mdb'), '');
  await assert.rejects(openEmbeddedLedger(folder), { fault: 'missing' });
  const store = await openLmdbLedgerStore(path.join(folder, 'ledger'), { readOnly: false });
  await store?.close();
  const ledger = await openEmbeddedLedger(folder);
  assert.equal((await ledger.head()).height, 0);
  await ledger.close();
  const writer = await openEmbeddedLedgerWriter(folder);
  await writer.append(blocks);
  assert.deepEqual(describeBlocks(await collectBlocks(writer.read(0))), describeBlocks(blocks));
  await writer.close();
});

test('a writer whose file was moved away does not acknowledge, and a follower ends', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const writer = await openEmbeddedLedgerWriter(folder);
  await writer.append(blocks.slice(0, 1));
  const data = path.join(folder, 'ledger', 'data.mdb');
  renameSync(data, `${data}.old`);
  const replaced = {
    fault: 'conflict',
    message: `${data} was removed or replaced while it was open: restart this process`,
  };
  await assert.rejects(writer.append(blocks.slice(1)), replaced);
  await assert.rejects(collectBlocks(writer.follow(0, AbortSignal.timeout(60_000))), replaced);
  renameSync(`${data}.old`, data);
  await writer.close();
});

test('a file in the place of a folder is named', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const file = path.join(folder, 'file');
  writeFileSync(file, '');
  const message = `got ${file}, which is not a folder, expected a folder`;
  await assert.rejects(openEmbeddedLedger(path.join(file, 'below')), { message });
  await assert.rejects(openEmbeddedLedgerWriter(path.join(file, 'below', 'deeper')), { message });
  await assert.rejects(openEmbeddedLedgerWriter(file), { message });
});

test('a ledger whose gate cannot be made is not opened, and is once it can', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const gate = path.join(folder, 'ledger', 'gate');
  mkdirSync(path.dirname(gate));
  writeFileSync(gate, '');
  await assert.rejects(openEmbeddedLedgerWriter(folder), {
    fault: 'unwritable',
    message: new RegExp(`^cannot open the ledger for writing: got ${gate}, which is not a folder`),
  });
  rmSync(gate);
  const writer = await openEmbeddedLedgerWriter(folder);
  await writer.append(blocks);
  await writer.close();
});

test('a change that throws changes nothing, and the next one is made', async (t) => {
  const { store } = await openStore(t);
  const change = store.transact((changes) => {
    changes.putGuard(77);
    throw new Error('on purpose');
  });
  await assert.rejects(change, /on purpose/);
  assert.equal(store.readGuard(), 4);
  await store.transact((changes) => changes.putGuard(5));
  assert.equal(store.readGuard(), 5);
});

test('a ledger that is open in another process namespace is not opened', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const users = path.join(folder, 'ledger', 'users');
  mkdirSync(users, { recursive: true });
  const server = createServer((socket) => socket.destroy()).listen(path.join(users, '1-1'));
  t.after(() => void server.close());
  await assert.rejects(openEmbeddedLedgerWriter(folder), {
    fault: 'busy',
    message: /ledger is open in another process namespace, that is in another container: /,
  });
});

test('a lock file that another process makes meanwhile is kept, and no draft stays', async (t) => {
  const folder = await makeTemporaryFolder(t);
  // Not there when it is looked for, but in the way of a new one.
  symlinkSync(path.join(folder, 'nowhere'), path.join(folder, 'lock.mdb'));
  makeLockFile(folder);
  assert.deepEqual(readdirSync(folder), ['lock.mdb']);
  assert.ok(lstatSync(path.join(folder, 'lock.mdb')).isSymbolicLink());
  assert.equal(existsSync(path.join(folder, 'lock.mdb')), false);
});

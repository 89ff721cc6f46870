/** The files beside a database on disks that are full or read-only, in this process. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, renameSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { EnvironmentLock } from '../../src/ledger/embedded/environment-lock.ts';
import { makeLockFile } from '../../src/ledger/embedded/lmdb-lock.ts';
import { Presence } from '../../src/ledger/embedded/presence.ts';
import { makeDisk } from './small-disk.ts';

test('a lock file that does not fit on the disk is not made, and leaves nothing', (t) => {
  const disk = makeDisk(t, 64);
  disk.fill({ leave: 4096 });
  assert.throws(() => makeLockFile(disk.folder), { code: 'ENOSPC' });
  assert.deepEqual(disk.names(), []);
  disk.makeRoom();
  makeLockFile(disk.folder);
  assert.deepEqual(disk.names(), ['lock.mdb']);
});

const REFUSING: [about: string, code: string, isReadOnly: boolean][] = [
  ['full', 'ENOSPC', false],
  ['read-only', 'EROFS', true],
];
for (const [about, code, isReadOnly] of REFUSING) {
  test(`the lock of a ${about} disk says why there is none, and lets its own process work`, async (t) => {
    const disk = makeDisk(t, 64);
    mkdirSync(path.join(disk.folder, 'gate'));
    if (isReadOnly) disk.setReadOnly(true);
    else disk.fill();
    const lock = await EnvironmentLock.open(disk.folder);
    assert.match(`${lock.fault}`, isReadOnly ? /[Rr]ead-only file system/ : new RegExp(code));
    assert.equal(await lock.runExclusive(() => 'done'), 'done');
    assert.equal(
      lock.runExclusiveSync(() => 'done'),
      'done',
    );
    await assert.rejects(
      lock.runExclusive(() => Promise.reject(new Error('on purpose'))),
      /on purpose/,
    );
    await lock.close();
  });
}

test('the socket of an ended process stays on a read-only disk, and counts as ended', async (t) => {
  const disk = makeDisk(t, 64);
  const users = path.join(disk.folder, 'users');
  mkdirSync(users);
  const server = createServer().listen(path.join(users, 'draft'));
  await once(server, 'listening');
  renameSync(path.join(users, 'draft'), path.join(users, '1-1'));
  server.close();
  await once(server, 'close');
  disk.setReadOnly(true);
  const presence = await Presence.enter(disk.folder);
  assert.equal(presence.isAnnounced, false);
  assert.equal(await presence.hasEarlierElsewhere(), false);
  assert.deepEqual(disk.names('users'), ['1-1']);
  presence.leave();
});

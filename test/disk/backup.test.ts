/** Backups to, and restores on, a disk that is full. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { appendAll, NO_SNAPSHOTS, verifyDirectory } from '../../tools/harness/data-directory.ts';
import { createPlaces, type Outcome, run, succeed } from '../../tools/harness/program.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';
import { assertSentences, makeDisk } from './small-disk.ts';

const place = createPlaces();
const lines = simulateLines(600, 'disk');

function assertFull({ code, signal, stderr }: Outcome): void {
  assert.deepEqual([code, signal], [1, null], stderr);
  assertSentences(stderr);
  assert.match(stderr, /bytes are free in/);
}

test('a backup that does not fit says so, and continues with room', LONG_ONLY, async (t) => {
  const disk = makeDisk(t, 2048);
  const [data, target] = [place(), place()];
  await appendAll(data, lines, NO_SNAPSHOTS);
  const file = path.join(disk.folder, 'backup');
  const args = ['backup', '--data', data, '--to', file];
  for (const leave of [0, 64, 128]) {
    disk.fill({ leave: leave * 1024 });
    assertFull(await run(args));
    disk.makeRoom();
  }
  assert.deepEqual(disk.names(), ['backup.part']);
  const { stderr } = await succeed(args);
  const [, added] = /backed up (\d+) more blocks/.exec(stderr) ?? [];
  assert.ok(Number(added) < lines.length, `${added} blocks were read again`);
  assert.deepEqual(disk.names(), ['backup']);
  await run(['restore', '--from', file, '--data', target]);
  assert.deepEqual(await verifyDirectory(target), await verifyDirectory(data));
});

test('a restore that does not fit says so, and continues with room', LONG_ONLY, async (t) => {
  const disk = makeDisk(t, 8192);
  const [data, file] = [place(), place('backup')];
  await appendAll(data, lines, NO_SNAPSHOTS);
  await run(['backup', '--data', data, '--to', file]);
  const target = path.join(disk.folder, 'data');
  const args = ['restore', '--from', file, '--data', target];
  for (const leave of [0, 256, 1024]) {
    disk.fill({ leave: leave * 1024 });
    assertFull(await run(args));
    disk.makeRoom();
  }
  await succeed(args);
  assert.deepEqual(await verifyDirectory(target), await verifyDirectory(data));
});

/** Processes that share a folder of snapshots: one of them saves there. */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { describeProcess } from '../../src/ledger/process-identity.ts';
import { SnapshotFolder } from '../../src/ledger/snapshots.ts';
import { makeTemporaryFolder } from '../temporary-folder.ts';
import { startOther } from './other-process.ts';

const OTHERS = 4;
const ROUNDS = 3;
const START_MS = 1000;

function writeKeeper(folder: string, text: string): string {
  mkdirSync(path.join(folder, 'snapshots'), { recursive: true });
  const file = path.join(folder, 'snapshots', 'keeper');
  writeFileSync(file, text);
  return file;
}

test('of processes that take over from one that has ended at once, exactly one does', async (t) => {
  for (let round = 0; round < ROUNDS; round++) {
    const folder = await makeTemporaryFolder(t);
    writeKeeper(folder, JSON.stringify({ ...describeProcess(), startedAt: 'long ago' }));
    const time = String(Date.now() + START_MS);
    const others = await Promise.all(
      Array.from({ length: OTHERS }, () => startOther(t, 'claim', folder, time)),
    );
    const outcomes = await Promise.all(others.map((other) => other.nextLine()));
    assert.equal(outcomes.filter((outcome) => outcome === 'claimed').length, 1, `${outcomes}`);
    assert.deepEqual(readdirSync(path.join(folder, 'snapshots')), ['keeper']);
    assert.equal(new SnapshotFolder(folder).claim(), false);
    await Promise.all(others.map((other) => other.kill('SIGKILL')));
    assert.equal(new SnapshotFolder(folder).claim(), true);
  }
});

test("a claim is by more than the process number, and one that cannot be read is nobody's", async (t) => {
  const own = JSON.stringify(describeProcess());
  for (const text of [JSON.stringify({ ...describeProcess(), startedAt: 'before' }), '', 'x']) {
    const folder = await makeTemporaryFolder(t);
    const file = writeKeeper(folder, text);
    assert.equal(new SnapshotFolder(folder).claim(), true);
    assert.equal(readFileSync(file, 'utf8'), own);
    assert.equal(new SnapshotFolder(folder).claim(), true);
  }
});

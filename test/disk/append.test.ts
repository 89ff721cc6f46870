/** Blocks on a disk that is full before, during and after an append, or read-only. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { verifyDirectory } from '../../tools/harness/data-directory.ts';
import { joinLines, type Outcome, run, start, succeed } from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';
import { assertSentences, limitFiles, makeDisk } from './small-disk.ts';

const lines = simulateLines(300, 'disk');
const NO_SNAPSHOTS = ['--snapshot-every', '1000000'];

function assertFailed({ code, signal, stderr }: Outcome, message: RegExp): void {
  assert.deepEqual([code, signal], [1, null], stderr);
  assertSentences(stderr);
  assert.match(stderr, message);
}

test('a full disk ends an append at once, even if its input stays open', async (t) => {
  const disk = makeDisk(t, 1024);
  const data = path.join(disk.folder, 'data');
  const program = start(['append', '--data', data, ...NO_SNAPSHOTS]);
  program.child.stdin.write(joinLines(lines.slice(0, 3)));
  await program.untilWritten('durable 3\n');
  disk.fill();
  program.child.stdin.write(joinLines(lines.slice(3, 200)));
  const endedMs = performance.now();
  const outcome = await program.ended;
  assert.ok(performance.now() - endedMs < 20_000, 'it waited for more input');
  assertFailed(outcome, /cannot store blocks 4 to \d+: .*; 0 bytes are free in .*data\/ledger$/m);
  const [, height] = /durable blocks?; the ledger is at height (\d+)$/m.exec(outcome.stderr) ?? [];
  assert.equal(Number(height), program.acknowledged);
  assert.equal((await verifyDirectory(data)).height, program.acknowledged);
});

test('blocks that a full disk refused can be appended once there is room', LONG_ONLY, async (t) => {
  const disk = makeDisk(t, 1536);
  const data = path.join(disk.folder, 'data');
  let height = 0;
  for (const leave of [64, 128, 256]) {
    await run(['append', '--data', data, ...NO_SNAPSHOTS], { input: `${lines[height]}\n` });
    disk.fill({ leave: leave * 1024 });
    const program = start(['append', '--data', data, ...NO_SNAPSHOTS]);
    for (const line of lines.slice(height + 1)) {
      if (program.child.exitCode !== null) break;
      program.child.stdin.write(`${line}\n`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assertFailed(await program.ended, /cannot store blocks? \d+.*bytes are free in/);
    disk.makeRoom();
    const found = await verifyDirectory(data);
    assert.ok(found.height >= program.acknowledged, `${found.height}`);
    assert.ok(found.height > height, 'nothing fitted');
    height = found.height;
  }
  const rest = joinLines(lines.slice(height, height + 20));
  await succeed(['append', '--data', data, ...NO_SNAPSHOTS], { input: rest });
  assert.equal((await verifyDirectory(data)).height, height + 20);
});

test('a ledger is not created on a full disk, and the error says why', async (t) => {
  const disk = makeDisk(t, 256);
  const data = path.join(disk.folder, 'data');
  for (const leave of [0, 8, 16, 32]) {
    disk.fill({ leave: leave * 1024 });
    const outcome = await run(['append', '--data', data], { input: `${lines[0]}\n` });
    assertFailed(outcome, /bytes are free in/);
    disk.makeRoom();
  }
  await succeed(['append', '--data', data], { input: `${lines[0]}\n` });
});

test('a ledger on a full disk can be verified and queried', LONG_ONLY, async (t) => {
  const disk = makeDisk(t, 1024);
  const data = path.join(disk.folder, 'data');
  await run(['append', '--data', data], { input: joinLines(lines.slice(0, 5)) });
  const before = await verifyDirectory(data);
  disk.fill();
  assert.deepEqual(await verifyDirectory(data), before);
  const question = '{"type":"perpDeployAuctionStatus"}';
  await succeed(['query', '--data', data, question]);
  const outcome = await run(['append', '--data', data], { input: joinLines(lines.slice(5, 100)) });
  assertFailed(outcome, /bytes are free in/);
  assert.deepEqual(await verifyDirectory(data), before);
});

test('commands that write name the read-only folder', async (t) => {
  const disk = makeDisk(t, 1024);
  const data = path.join(disk.folder, 'data');
  await run(['append', '--data', data], { input: joinLines(lines.slice(0, 5)) });
  disk.setReadOnly(true);
  const input = joinLines(lines.slice(5, 10));
  const again = await run(['append', '--data', data], { input });
  assertFailed(again, /: \S+\/data\/ledger cannot be written to: Read-only file system$/m);
  const pruned = await run(['prune', '--data', data, '--keep-blocks', '1']);
  assertFailed(pruned, /: \S+\/data\/ledger cannot be written to: Read-only file system$/m);
  const fresh = await run(['append', '--data', path.join(disk.folder, 'new')], { input });
  assertFailed(fresh, /cannot create the folder .*new \(EROFS\)$/m);
});

test('an append out of file descriptors continues, and warns about the snapshot it skipped', async (t) => {
  const disk = makeDisk(t, 4096);
  const data = path.join(disk.folder, 'data');
  const program = start(['append', '--data', data, '--snapshot-every', '10']);
  program.child.stdin.write(joinLines(lines.slice(0, 15)));
  await program.untilWritten('durable 15\n');
  limitFiles(program.child.pid, 3);
  program.child.stdin.write(joinLines(lines.slice(15, 25)));
  await program.untilWritten('durable 25\n');
  await until('the warning', () => program.stderr.includes('EMFILE'));
  limitFiles(program.child.pid, 1024);
  program.child.stdin.end(joinLines(lines.slice(25, 35)));
  const { code, stderr } = await program.ended;
  assert.equal(code, 0, stderr);
  assertSentences(stderr);
  assert.match(stderr, /warning: the snapshot of height 20 was not saved: EMFILE/);
  assert.deepEqual(disk.names('data/snapshots').length, 2);
  assert.equal((await verifyDirectory(data)).height, 35);
});

test('a ledger on a full disk can be pruned, and then takes blocks again', LONG_ONLY, async (t) => {
  const disk = makeDisk(t, 3072);
  const data = path.join(disk.folder, 'data');
  const flags = ['--snapshot-every', '200', '--snapshot-keep', '1'];
  await run(['append', '--data', data, ...flags], { input: joinLines(lines.slice(0, 210)) });
  disk.fill();
  const input = joinLines(lines.slice(210, 230));
  assertFailed(await run(['append', '--data', data, ...flags], { input }), /bytes are free in/);
  const pruned = await run(['prune', '--data', data, '--keep-blocks', '10']);
  assert.equal(pruned.stdout, 'pruned 200 blocks; the ledger starts at block 201\n');
  await succeed(['append', '--data', data, ...flags], { input });
  assert.equal((await verifyDirectory(data)).height, 230);
});

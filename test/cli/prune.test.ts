import assert from 'node:assert/strict';
import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { verifyDirectory } from '../../tools/harness/data-directory.ts';
import {
  askedWrongly,
  createPlaces,
  done,
  failed,
  joinLines,
  readVerification,
  run,
  start,
  succeed,
} from '../../tools/harness/program.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';

const place = createPlaces();
const DAY_MS = 86_400_000;
const lines = simulateLines(60);
const EVERY_TENTH = ['--snapshot-every', '10'];
const QUESTION =
  '{"type":"clearinghouseState","user":"0x00000000000000000000000000000000000000aa"}';

async function append(data: string, input: string, flags: readonly string[] = EVERY_TENTH) {
  await succeed(['append', '--data', data, ...flags], { input });
}

async function appendAll(flags?: readonly string[]): Promise<string> {
  const data = place();
  await append(data, joinLines(lines), flags);
  return data;
}

function prune(data: string, ...flags: string[]) {
  return run(['prune', '--data', data, ...flags]);
}

function ask(data: string, ...flags: string[]) {
  return run(['query', '--data', data, ...flags, QUESTION]);
}

/** Empty blocks, one a day, with a snapshot of each. */
async function appendDays(count: number): Promise<string> {
  const data = place();
  const from = Date.now() - count * DAY_MS;
  const days = Array.from({ length: count }, (_, index) => {
    return `{"height":${index + 1},"time":${from + index * DAY_MS},"events":[]}`;
  });
  await append(data, joinLines(days), ['--snapshot-every', '1', '--snapshot-keep', '1']);
  return data;
}

test('a prune keeps the newest blocks and the state, and older heights are reported as pruned', async () => {
  const data = await appendAll();
  const before = await verifyDirectory(data);
  const answers = await Promise.all([ask(data), ask(data, '--at', '55')]);
  for (const height of [10, 20, 30, 40]) rmSync(snapshotFile(data, height));
  const pruned = 'pruned 40 blocks; the ledger starts at block 41\n';
  assert.deepEqual(await prune(data, '--keep-blocks', '20'), done(pruned));
  const gone = 'the blocks up to 40 were pruned, the ledger starts at block 41';
  const verified = await run(['verify', '--data', data]);
  assert.equal(verified.stderr, `perpinfo: ${gone}\n`);
  assert.deepEqual(readVerification(verified), before);
  assert.deepEqual(await Promise.all([ask(data), ask(data, '--at', '55')]), answers);
  assert.deepEqual(
    await ask(data, '--at', '39'),
    failed(`perpinfo: height 39 is not in the ledger: ${gone}\n`),
  );
  const between = 'the blocks up to 40 were pruned, and no snapshot from there to 45 is usable';
  assert.deepEqual(
    await ask(data, '--at', '45'),
    failed(`perpinfo: ${between}; the first height with a snapshot is 50\n`),
  );
  const again = 'pruned 0 blocks; the ledger starts at block 41\n';
  const why = 'perpinfo: nothing was pruned: the settings keep all blocks from 41\n';
  assert.deepEqual(await prune(data, '--keep-blocks', '20'), done(again, why));
});

function snapshotFile(data: string, height: number): string {
  return path.join(data, 'snapshots', `${String(height).padStart(16, '0')}.snapshot`);
}

test('blocks are never pruned past the oldest snapshot that is kept', LONG_ONLY, async () => {
  const data = await appendAll([...EVERY_TENTH, '--snapshot-keep', '3']);
  const pruned = 'pruned 40 blocks; the ledger starts at block 41\n';
  const reason = 'left more blocks than the settings keep: the oldest snapshot is of height 40';
  assert.deepEqual(await prune(data, '--keep-blocks', '1'), done(pruned, `perpinfo: ${reason}\n`));
  assert.equal((await ask(data, '--at', '40')).code, 0);
});

test('days are counted back from the newest block', LONG_ONLY, async () => {
  const data = await appendDays(30);
  const pruned = 'pruned 22 blocks; the ledger starts at block 23\n';
  assert.deepEqual(await prune(data, '--keep-days', '7'), done(pruned));
  assert.equal((await prune(data, '--keep-days', '365')).stdout.slice(0, 15), 'pruned 0 blocks');
  const both = await prune(data, '--keep-days', '3', '--keep-blocks', '5');
  assert.equal(both.stdout, 'pruned 3 blocks; the ledger starts at block 26\n');
});

test('a prune with nothing to drop succeeds, and says why', LONG_ONLY, async () => {
  const data = await appendAll([...EVERY_TENTH, '--snapshot-keep', '3']);
  await prune(data, '--keep-blocks', '1');
  const reason = 'perpinfo: nothing was pruned: the oldest snapshot is of height 40\n';
  const again = 'pruned 0 blocks; the ledger starts at block 41\n';
  assert.deepEqual(await prune(data, '--keep-blocks', '1'), done(again, reason));
  const young = await appendAll(['--snapshot-every', '1000']);
  const { code, stdout, stderr } = await prune(young, '--keep-blocks', '10');
  assert.deepEqual([code, stdout], [0, 'pruned 0 blocks; the ledger starts at block 1\n']);
  assert.match(stderr, /^perpinfo: nothing was pruned: no snapshot has been written yet, and /);
});

test('without a sound snapshot a prune fails, and drops nothing', LONG_ONLY, async () => {
  const data = await appendAll(['--snapshot-every', '60']);
  const { size } = statSync(snapshotFile(data, 60));
  truncateSync(snapshotFile(data, 60), size - 1);
  const { code, stdout, stderr } = await prune(data, '--keep-blocks', '10');
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^perpinfo: cannot prune: no snapshot from height 0 on is usable, and /);
  const ledger = await openEmbeddedLedger(data);
  assert.equal((await ledger.base()).height, 0);
  await ledger.close();
});

test('an append prunes as it goes, and its ledger stays the same', LONG_ONLY, async () => {
  const whole = await verifyDirectory(await appendAll());
  const flags = ['--snapshot-every', '5', '--snapshot-keep', '2', '--keep-blocks', '8'];
  const data = await appendAll(flags);
  const ledger = await openEmbeddedLedger(data);
  assert.equal((await ledger.base()).height, 52);
  await ledger.close();
  assert.equal(readdirSync(path.join(data, 'snapshots')).length, 2);
  assert.deepEqual(await verifyDirectory(data), whole);
});

test('a prune needs to know what to keep', async () => {
  const data = place();
  assert.deepEqual(await prune(data), askedWrongly('--keep-blocks N or --keep-days N is required'));
  const nats = ['--ledger', 'nats://127.0.0.1:4222/x', '--keep-days', '5'];
  const { code, stderr } = await run(['append', ...nats]);
  assert.equal(code, 2);
  assert.match(stderr, /^perpinfo: --keep-blocks and --keep-days are for a ledger in a folder: /);
});

test('a prune is refused while a writer has the ledger open', async () => {
  const data = place();
  const writer = start(['append', '--data', data]);
  writer.child.stdin.write(joinLines(lines.slice(0, 5)));
  await writer.untilWritten('durable 5\n');
  const { code, stderr } = await prune(data, '--keep-blocks', '1');
  assert.equal(code, 1);
  assert.match(stderr, /^perpinfo: another writer, process \d+, has this ledger open/);
  writer.child.stdin.end();
  await writer.ended;
});

import assert from 'node:assert/strict';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { CHAIN_START, nextBlock } from '../../src/ledger/hash-chain.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState } from '../../src/state/state.ts';
import { createPlaces, done, joinLines, run } from '../../tools/harness/program.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';

const place = createPlaces();
const lines = simulateLines(30);

/** The expected output for the first lines, computed without a ledger. */
function expectedReport(count: number): string {
  const state = createState();
  let point = CHAIN_START;
  for (const line of lines.slice(0, count)) {
    applyBlock(state, parseBlock(line));
    point = nextBlock(point, Buffer.from(line));
  }
  const head = point.hash.toString('hex');
  return `height ${count}\nhead   ${head}\ndigest ${stateDigest(state)}\n`;
}

async function appendLines(count: number): Promise<string> {
  const data = place();
  const input = joinLines(lines.slice(0, count));
  await run(['append', '--data', data, '--snapshot-every', '10'], { input });
  return data;
}

for (const count of [0, 1, 30]) {
  test(`height, head and digest of ${count} blocks are printed`, async () => {
    const data = await appendLines(count);
    assert.deepEqual(await run(['verify', '--data', data]), done(expectedReport(count)));
  });
}

test('a damaged snapshot is named, and the blocks are still reported', async () => {
  const data = await appendLines(30);
  const snapshot = path.join(data, 'snapshots', `${'20'.padStart(16, '0')}.snapshot`);
  const file = openSync(snapshot, 'r+');
  writeSync(file, 'damage', 8);
  closeSync(file);
  const { code, stdout, stderr } = await run(['verify', '--data', data]);
  assert.deepEqual([code, stdout], [1, expectedReport(30)]);
  assert.deepEqual(stderr.split('\n'), [
    'perpinfo: the snapshot of height 20 is damaged: its bytes do not match its checksum',
    'perpinfo: the blocks are valid, but the snapshots of height 20 are not: delete them',
    '',
  ]);
});

test('a pruned ledger without a snapshot to replay it from is not verified, and the reason is given', async () => {
  const data = await appendLines(30);
  await run(['prune', '--data', data, '--keep-blocks', '5']);
  rmSync(path.join(data, 'snapshots'), { recursive: true });
  const { code, stdout, stderr } = await run(['verify', '--data', data]);
  assert.equal(code, 1);
  assert.equal(stdout, expectedReport(30).replace(/digest .*/, 'digest unknown: pruned'));
  assert.deepEqual(stderr.split('\n'), [
    'perpinfo: the blocks up to 10 were pruned, the ledger starts at block 11',
    'perpinfo: the hashes are valid, but no block could be replayed: no snapshot from height 10 on is ' +
      'usable; save one of a service that still runs (perpinfo snapshot), or restore a backup',
    '',
  ]);
});

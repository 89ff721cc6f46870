import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createPlaces,
  joinLines,
  readVerification,
  run,
  runShell,
} from '../../tools/harness/program.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';

const place = createPlaces();
const SMALL = ['simulate', '--blocks', '40', '--accounts', '20'];

test('the same seed gives the same bytes, those of the simulator', async () => {
  const outcome = await run([...SMALL, '--seed', 'cli']);
  assert.equal(outcome.stdout, joinLines(simulateLines(40)));
  assert.deepEqual(await run([...SMALL, '--seed', 'cli']), outcome);
  const other = await run([...SMALL, '--seed', 'other']);
  assert.notEqual(other.stdout, outcome.stdout);
});

test('--blocks sets the number of lines', async () => {
  for (const blocks of [1, 2, 500]) {
    const args = ['simulate', '--accounts', '10', '--blocks', String(blocks)];
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(stdout.split('\n').length - 1, blocks);
  }
});

test('two blocks are 10 s apart after the set-up', LONG_ONLY, async () => {
  const { stdout } = await run(SMALL);
  const times = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).time as number);
  assert.deepEqual(
    times.slice(-3).map((time) => time - times[times.length - 1]),
    [-20_000, -10_000, 0],
  );
});

test('a closed pipe ends it without an error', async () => {
  const command = 'perpinfo simulate --blocks 1000000000 --accounts 10 | head -1 | wc -l';
  const outcome = await runShell(`set -o pipefail; ${command}`);
  assert.deepEqual(outcome, { code: 0, signal: null, stdout: '1\n', stderr: '' });
});

test('a closed pipe ends the demo, and everything that it has started', async () => {
  const outcome = await runShell('set -o pipefail; perpinfo demo --port 0 | true');
  assert.deepEqual([outcome.code, outcome.stdout, outcome.stderr], [0, '', '']);
});

test('simulate, append and verify work together', LONG_ONLY, async () => {
  const data = place();
  const { code, stdout, stderr } = await runShell(
    `set -eo pipefail; perpinfo ${SMALL.join(' ')} | perpinfo append --data ${data} >&2; ` +
      `perpinfo verify --data ${data}`,
  );
  assert.equal(code, 0, stderr);
  assert.equal(readVerification({ code, signal: null, stdout, stderr }).height, 40);
});

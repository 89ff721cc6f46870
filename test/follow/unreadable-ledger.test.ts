/** A follower whose ledger cannot be read any more: it says so, and can be stopped. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { appendAll } from '../../tools/harness/data-directory.ts';
import { createPlaces, run, start } from '../../tools/harness/program.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';

test('serve --follow on a pruned ledger without its snapshots reports it, and ends when it is told to', async () => {
  const data = createPlaces()();
  await appendAll(data, simulateLines(30), { snapshotEvery: 10 });
  const pruned = await run(['prune', '--data', data, '--keep-blocks', '5']);
  assert.equal(pruned.code, 0, pruned.stderr);
  rmSync(path.join(data, 'snapshots'), { recursive: true });
  // Nobody answers there; the feed fails before it asks.
  const upstream = ['--follow', 'http://127.0.0.1:9'];
  const program = start(['serve', ...upstream, '--data', data, '--port', '0', '--admin-port', '0']);
  await program.untilWritten('the feed has failed');
  await program.untilWritten('"listening"');
  program.child.kill('SIGTERM');
  const { code, stderr } = await program.ended;
  assert.equal(code, 1);
  assert.match(
    stderr,
    /the blocks up to \d+ were pruned, and no snapshot from there to 30 is usable/,
  );
});

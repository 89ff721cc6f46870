/** That this version of LMDB's driver prints a failed commit, and that only this is suppressed. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';

const COMMITTER = fileURLToPath(new URL('./failing-commit.js', import.meta.url));
/** Enough for the driver to create its files, and less than the commit needs. */
const LIMIT = 'ulimit -f 128 && exec "$0" "$@"';

function failToCommit(folder: string, ...words: readonly string[]) {
  const args = ['-c', LIMIT, process.execPath, COMMITTER, folder, ...words];
  const { status, stdout, stderr } = spawnSync('sh', args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return { reason: stdout, printed: stderr.match(/^\w*Error: .*$/gm) };
}

test('the driver prints a failed commit: this is why it is muted', async (t) => {
  const { reason, printed } = failToCommit(await makeTemporaryFolder(t));
  assert.equal(reason, 'Input/output error');
  assert.deepEqual(printed, ['Error: Input/output error', 'Error: of this program']);
});

test('a muted driver prints nothing, and others print as before', async (t) => {
  const { reason, printed } = failToCommit(await makeTemporaryFolder(t), 'muted');
  assert.equal(reason, 'Input/output error');
  assert.deepEqual(printed, ['Error: of this program']);
});

/** A folder of its own for a test, gone when the test is over. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** What `test` and `before` hand to a test, as far as it is needed here. */
interface Cleanup {
  after(clean: () => Promise<void>): void;
}

export async function makeTemporaryFolder(context: Cleanup): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'perpinfo-test-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

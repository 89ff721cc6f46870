/** Temporary folders for tests, which are removed after the tests. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Cleanup } from './running.ts';

function makeFolder(): Promise<string> {
  return mkdtemp(path.join(tmpdir(), 'perpinfo-test-'));
}

/** Removes a folder. The removal is retried if a process that still uses the folder adds a file. */
function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 10 });
}

export async function makeTemporaryFolder(context: Cleanup): Promise<string> {
  const folder = await makeFolder();
  context.after(() => removeFolder(folder));
  return folder;
}

/** Does work in a temporary folder, for work that is repeated within one test. */
export async function inTemporaryFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await makeFolder();
  try {
    await work(folder);
  } finally {
    await removeFolder(folder);
  }
}

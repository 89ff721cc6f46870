/** A folder of its own for a test, gone when the test is over. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** What a test is handed, as far as it is needed here. */
interface Cleanup {
  after(clean: () => Promise<void>): void;
}

function makeFolder(): Promise<string> {
  return mkdtemp(path.join(tmpdir(), 'perpinfo-test-'));
}

function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true });
}

export async function makeTemporaryFolder(context: Cleanup): Promise<string> {
  const folder = await makeFolder();
  context.after(() => removeFolder(folder));
  return folder;
}

/** For work that is done many times in one test. */
export async function inTemporaryFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await makeFolder();
  try {
    await work(folder);
  } finally {
    await removeFolder(folder);
  }
}

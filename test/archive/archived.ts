/** Archives in temporary folders. */

import { type Archive, openArchive } from '../../src/archive/reading/archive.ts';
import { ArchivedHistory } from '../../src/archive/reading/archived-history.ts';
import { type UpdateOptions, updateArchive } from '../../src/archive/writing/update-archive.ts';
import { openStorage, type Storage } from '../../src/replica/storage.ts';
import {
  appendAll,
  FOLDER_ONLY,
  NO_SNAPSHOTS,
  type SnapshotPolicy,
} from '../../tools/harness/data-directory.ts';
import { createPlaces } from '../../tools/harness/program.ts';

const place = createPlaces();

/** The data folder of a ledger with these lines, and its archive. */
export async function makeArchive(
  lines: readonly string[],
  policy: SnapshotPolicy = NO_SNAPSHOTS,
): Promise<string> {
  const data = place();
  await appendAll(data, lines, policy);
  await archiveOnce(data);
  return data;
}

/** As `perpinfo archive --once` does. */
export async function archiveOnce(
  data: string,
  options: Partial<Pick<UpdateOptions, 'days' | 'warn' | 'progress' | 'signal'>> = {},
  prepare: (storage: Storage) => void = () => undefined,
): Promise<void> {
  const storage = await openStorage({ ...FOLDER_ONLY, data });
  prepare(storage);
  try {
    await updateArchive({
      data,
      storage,
      days: undefined,
      signal: new AbortController().signal,
      isOnce: true,
      warn: () => undefined,
      progress: () => undefined,
      ...options,
    });
  } finally {
    await storage.close();
  }
}

/** Opens the archive for reading while `use` runs. */
export async function withArchive<T>(
  data: string,
  use: (history: ArchivedHistory, archive: Archive) => T | Promise<T>,
): Promise<T> {
  const archive = await openArchive(data);
  if (archive === undefined) throw new Error(`there is no archive in ${data}`);
  try {
    return await use(new ArchivedHistory(archive), archive);
  } finally {
    await archive.close();
  }
}

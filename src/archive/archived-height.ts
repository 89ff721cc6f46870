/** How far an archive has come, for those who delete what it is made from. */

import { readRange } from './archive-range.ts';
import { openArchiveFolder } from './archive-tables.ts';

/** Undefined if there is no archive, 0 if it is empty so far. */
export async function readArchivedHeight(data: string): Promise<number | undefined> {
  const folder = await openArchiveFolder(data, { readOnly: true });
  if (folder === undefined) return undefined;
  try {
    return readRange(folder.tables)?.head.height ?? 0;
  } finally {
    await folder.close();
  }
}

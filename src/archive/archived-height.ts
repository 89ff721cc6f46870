/** How far an archive has come, for those who delete what it is made from. */

import { readRange } from './archive-range.ts';
import { openArchiveFolder } from './archive-tables.ts';

/** Undefined without an archive, 0 while the archive is empty. */
export async function readArchivedHeight(data: string): Promise<number | undefined> {
  const folder = await openArchiveFolder(data, { readOnly: true });
  if (folder === undefined) return undefined;
  try {
    return readRange(folder.tables)?.head.height ?? 0;
  } finally {
    await folder.close();
  }
}

/** How far an archive has come, for those who delete what it is made from. */

import type { Ledger } from '../../ledger/ledger.ts';
import { readRange } from './archive-range.ts';
import { openArchiveFolder } from './archive-tables.ts';
import { findEndFault } from './ledger-match.ts';

/** Undefined without an archive; 0 while it is empty, and if it is not of this ledger. */
export async function readArchivedHeight(
  data: string,
  ledger: Ledger,
): Promise<number | undefined> {
  const folder = await openArchiveFolder(data, { readOnly: true });
  if (folder === undefined) return undefined;
  try {
    const range = readRange(folder.tables);
    if (range === undefined) return 0;
    return (await findEndFault(range, ledger)) === undefined ? range.head.height : 0;
  } finally {
    await folder.close();
  }
}

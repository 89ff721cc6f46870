/**
 * The last height of an archive. Pruning needs it: blocks that are not archived yet must not be
 * pruned.
 */

import type { Ledger } from '../../ledger/ledger.ts';
import { readRange } from './archive-range.ts';
import { openArchiveFolder } from './archive-tables.ts';
import { findEndFault } from './ledger-match.ts';

/**
 * Returns the last height of the archive. Returns undefined if there is no archive, and 0 if the
 * archive is empty or belongs to another ledger.
 */
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

/**
 * Advice for an archive with a damaged record: delete the archive, and build it again from the
 * ledger.
 */

import { LedgerError } from '../../ledger/ledger.ts';
import { archiveFolder } from './archive-tables.ts';
import { DamagedRecord } from './record-encoding.ts';

/**
 * Runs work on an archive. If the work finds a damaged record, throws an error that says what to
 * do.
 */
export async function adviseOnDamage<T>(dataDirectory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isDamage(error)) throw error;
    const folder = archiveFolder(dataDirectory);
    const advice = `delete ${folder} to build it again from the blocks that are left`;
    throw new LedgerError('corrupt', `the archive is damaged: ${error.message}; ${advice}`);
  }
}

/** The starts of the messages with which LMDB reports damaged pages. */
const DRIVER_ERROR = /^MDB_(?:BAD_TXN|CORRUPTED|INCOMPATIBLE|INVALID|PAGE_NOTFOUND|PANIC)/;

function isDamage(error: unknown): error is Error {
  if (error instanceof DamagedRecord) return true;
  // The driver decodes keys to numbers; the keys of a damaged page may be out of range.
  if (error instanceof RangeError) return true;
  return error instanceof Error && DRIVER_ERROR.test(error.message);
}

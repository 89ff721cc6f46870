/** Decides which process writes an archive: the process that took it over last. */

import { randomUUID } from 'node:crypto';
import { LedgerError } from '../../ledger/ledger.ts';
import { type EntryPlace, OwnerEntry, readEntryOwner } from '../../ledger/ownership/owner-entry.ts';
import { describeProcess, processStatus } from '../../ledger/ownership/process-identity.ts';
import { type ArchiveTables, openArchiveFolder } from '../records/archive-tables.ts';

const OWNER = 'writer';

/** The error for an archive that another process writes now. */
export class TakeoverError extends LedgerError {
  constructor() {
    super('conflict', 'another process has taken over the archive: one at a time writes to it');
  }
}

/** The token distinguishes two archivers in the same process. */
export function createArchiveOwner(): OwnerEntry {
  return new OwnerEntry({ ...describeProcess(), token: randomUUID() });
}

/** Makes `owner` the process that writes the archive. Call this in a transaction. */
export function takeOverArchive(tables: ArchiveTables, owner: OwnerEntry): void {
  owner.takeOver(placeIn(tables));
}

/** Throws if another process has taken over the archive since. Call this in a transaction. */
export function requireArchiveOwner(tables: ArchiveTables, owner: OwnerEntry): void {
  if (!owner.isOwnedAt(placeIn(tables))) throw new TakeoverError();
}

/**
 * True if the process that took the archive over last is still running. A process of another
 * container cannot be checked, but it has the archive open, and opening the archive then fails.
 */
export async function hasRunningArchiver(data: string): Promise<boolean> {
  const folder = await openArchiveFolder(data, { readOnly: true });
  if (folder === undefined) return false;
  try {
    const owner = readEntryOwner(placeIn(folder.tables));
    return owner !== undefined && processStatus(owner) === 'running';
  } finally {
    await folder.close();
  }
}

function placeIn({ meta }: ArchiveTables): EntryPlace {
  return {
    read: () => meta.get(OWNER),
    write: (owner) => void meta.put(OWNER, owner),
    remove: () => void meta.remove(OWNER),
  };
}

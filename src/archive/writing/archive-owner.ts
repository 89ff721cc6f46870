/** Who writes an archive: the process that took it over last. */

import { randomUUID } from 'node:crypto';
import { LedgerError } from '../../ledger/ledger.ts';
import {
  describeProcess,
  type ProcessIdentity,
  processStatus,
} from '../../ledger/process-identity.ts';
import { type ArchiveTables, openArchiveFolder } from '../records/archive-tables.ts';

const WRITER = 'writer';

/** Another process writes the archive now. */
export class TakeoverError extends LedgerError {
  constructor() {
    super('conflict', 'another process has taken over the archive: one at a time writes to it');
  }
}

/** A name for a writer in this process, which no other writer has. */
export function nameWriter(): string {
  return JSON.stringify({ ...describeProcess(), token: randomUUID() });
}

/** Makes a writer the only one that may write; to be called in a transaction. */
export function putWriter({ meta }: ArchiveTables, writer: string): void {
  void meta.put(WRITER, Buffer.from(writer));
}

/** To be called in a transaction: throws if another process has taken over since. */
export function requireWriter({ meta }: ArchiveTables, writer: string): void {
  if (meta.get(WRITER)?.toString() !== writer) throw new TakeoverError();
}

/**
 * Whether the process that took the archive over last is still running. One that cannot be checked is
 * in another container: it holds the archive open, and opening it says so.
 */
export async function hasRunningWriter(data: string): Promise<boolean> {
  const folder = await openArchiveFolder(data, { readOnly: true });
  if (folder === undefined) return false;
  try {
    const identity = readWriter(folder.tables);
    return identity !== undefined && processStatus(identity) === 'running';
  } finally {
    await folder.close();
  }
}

/** Undefined if nobody has written yet, or one whose name does not say which process it is. */
function readWriter({ meta }: ArchiveTables): ProcessIdentity | undefined {
  const writer = meta.get(WRITER)?.toString();
  return writer?.startsWith('{') ? (JSON.parse(writer) as ProcessIdentity) : undefined;
}

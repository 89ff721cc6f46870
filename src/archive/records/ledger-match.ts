/**
 * Checks that an archive belongs to a ledger: the last block of the archive must be a block of the
 * ledger. Two ledgers may share their first blocks, and therefore their id.
 */

import { type Ledger, LedgerError } from '../../ledger/ledger.ts';
import type { Storage } from '../../replica/storage.ts';
import type { ArchiveRange } from './archive-range.ts';
import { archiveFolder } from './archive-tables.ts';

export interface EndFault {
  readonly reason: string;
  /**
   * True if the ledger has not reached that block yet, so that the archive may still belong to it.
   */
  readonly isBeyond: boolean;
}

/**
 * Returns why the archive does not belong to the ledger. Returns undefined if the ledger has the
 * archive's last block, or has pruned it.
 */
export async function findEndFault(
  { head }: Pick<ArchiveRange, 'head'>,
  ledger: Ledger,
): Promise<EndFault | undefined> {
  const { height, hash } = head;
  const point = await ledger.point(height);
  if (point !== undefined) {
    const reason = `its block ${height} is another one`;
    return point.hash.equals(hash) ? undefined : { reason, isBeyond: false };
  }
  if (await isPruned(height, ledger)) return undefined;
  return { reason: `it ends at ${height}, which the ledger has not reached`, isBeyond: true };
}

/** Call this after the search for the block, because the block may be pruned during the search. */
async function isPruned(height: number, ledger: Ledger): Promise<boolean> {
  return height < (await ledger.base()).height;
}

/** Throws if the archive of a folder does not belong to this ledger. */
export async function requireOwnArchive(
  range: ArchiveRange,
  storage: Pick<Storage, 'ledger' | 'snapshots'>,
  data: string,
): Promise<void> {
  const fault = await findEndFault(range, storage.ledger);
  if (fault !== undefined) throw refuse(fault, data);
  if (!(await isPruned(range.head.height, storage.ledger))) return;
  const name = await readLedgerName(storage);
  if (name === undefined || name === range.ledgerId) return;
  const reason = `it is of ledger ${range.ledgerId}, this one is ${name}`;
  throw refuse({ reason, isBeyond: false }, data);
}

/**
 * Reads the id from a snapshot, because the first block was pruned; returns undefined if there is
 * no usable snapshot.
 */
async function readLedgerName({
  ledger,
  snapshots,
}: Pick<Storage, 'ledger' | 'snapshots'>): Promise<string | undefined> {
  const base = await ledger.base();
  for (const height of snapshots.heights().filter((each) => each >= base.height)) {
    const loaded = await snapshots.load(height).catch(() => undefined);
    const point = await ledger.point(height);
    if (loaded !== undefined && point?.hash.equals(loaded.point.hash)) return loaded.state.ledgerId;
  }
  return undefined;
}

function refuse(fault: EndFault, data: string): LedgerError {
  const advice = `delete ${archiveFolder(data)} to build it again from the blocks that are left`;
  return new LedgerError(
    'conflict',
    `the archive cannot be used: ${describeEndFault(fault)}; ${advice}`,
  );
}

/** The message does not contain the path of the folder, because clients must not see the path. */
export function describeEndFault({ reason }: EndFault): string {
  return `it is not of this ledger: ${reason}`;
}

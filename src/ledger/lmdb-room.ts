/**
 * Whether a write fits, asked before LMDB is given it. LMDB notices a full disk in the middle of a
 * write, prints that from its C code, and in some places ends the process with a signal.
 */

import { statSync } from 'node:fs';
import path from 'node:path';
import type { Database } from 'lmdb';
import { readFreeBytes } from './disk-failure.ts';

/** What a new database takes before anything is in it. */
const NEW_DATABASE_BYTES = 65_536;
/** Pages that the last transactions have freed may not be used again yet. */
const UNRIPE_PAGES = 16;

interface DatabaseStats {
  readonly pageSize: number;
  readonly lastPageNumber: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
  readonly root: PageCounts;
  readonly free: PageCounts;
}
type PageCounts = Pick<
  DatabaseStats,
  'treeBranchPageCount' | 'treeLeafPageCount' | 'overflowPages'
>;

function countPages(counts: PageCounts): number {
  return counts.treeBranchPageCount + counts.treeLeafPageCount + counts.overflowPages;
}

/** What can be written without the file growing: pages that hold nothing, and its end. */
function readRoomInFile(folder: string, databases: readonly Database[]): number {
  const stats = databases.map((database) => database.getStats() as DatabaseStats);
  const { root, free, lastPageNumber, pageSize } = stats[0];
  const used = [root, free, ...stats].reduce((sum, counts) => sum + countPages(counts), 2);
  const empty = Math.max(0, lastPageNumber + 1 - used - UNRIPE_PAGES) * pageSize;
  const { size } = statSync(path.join(folder, 'data.mdb'));
  return empty + Math.max(0, size - (lastPageNumber + 1) * pageSize);
}

/** Throws where so many bytes fit neither on the disk nor into the file's empty pages. */
export function checkRoom(folder: string, databases: readonly Database[], bytes: number): void {
  const free = readFreeBytes(folder);
  if (free === undefined || free >= bytes) return;
  if (free + readRoomInFile(folder, databases) >= bytes) return;
  throw new Error(`no space left on device: it takes up to ${bytes} bytes`);
}

/** Throws where there is no room to begin a database in a folder. */
export function checkRoomForNew(folder: string): void {
  const file = statSync(path.join(folder, 'data.mdb'), { throwIfNoEntry: false });
  if (file !== undefined && file.size > 0) return;
  if ((readFreeBytes(folder) ?? NEW_DATABASE_BYTES) >= NEW_DATABASE_BYTES) return;
  throw new Error(`no space left on device: a new ledger takes ${NEW_DATABASE_BYTES} bytes`);
}

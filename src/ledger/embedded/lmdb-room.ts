/**
 * Checks that a write fits before LMDB makes it. LMDB notices a full disk in the middle of a write,
 * prints that from its C code, and in some places ends the process with a signal.
 */

import { appendFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Database } from 'lmdb';
import { readFreeBytes } from './disk-failure.ts';

/** Bytes of a new database with its lock file and its first change. */
const NEW_DATABASE_BYTES = 131_072;
/** Pages freed by recent transactions cannot be reused yet. */
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

interface RoomInFile {
  /** Free pages, in bytes. */
  readonly emptyBytes: number;
  /** Bytes of the file beyond its last page. */
  readonly tailBytes: number;
}

/** Bytes that can be written without growing the file. */
function readRoomInFile(folder: string, databases: readonly Database[]): RoomInFile {
  const stats = databases.map((database) => database.getStats() as DatabaseStats);
  const { root, free, lastPageNumber, pageSize } = stats[0];
  const used = [root, free, ...stats].reduce((sum, counts) => sum + countPages(counts), 2);
  const { size } = statSync(path.join(folder, 'data.mdb'));
  return {
    emptyBytes: Math.max(0, lastPageNumber + 1 - used - UNRIPE_PAGES) * pageSize,
    tailBytes: Math.max(0, size - (lastPageNumber + 1) * pageSize),
  };
}

/** Throws where the bytes fit neither on the disk nor into the file's free pages. */
export function checkRoom(folder: string, databases: readonly Database[], bytes: number): void {
  const free = readFreeBytes(folder);
  if (free === undefined || free >= bytes) return;
  const { emptyBytes, tailBytes } = readRoomInFile(folder, databases);
  if (free + emptyBytes + tailBytes >= bytes) return;
  throw new Error(`no space left on device: it takes up to ${bytes} bytes`);
}

/**
 * Reserves bytes beyond the file's last page, where the disk has them, so that a later change fits on a
 * full disk. Appended, and so never over a page of another process.
 */
export function reserveRoom(folder: string, databases: readonly Database[], bytes: number): void {
  const missing = bytes - readRoomInFile(folder, databases).tailBytes;
  if (missing <= 0 || (readFreeBytes(folder) ?? 0) < missing) return;
  appendFileSync(path.join(folder, 'data.mdb'), Buffer.alloc(missing));
}

/** Throws where there is no room to create a database in a folder. */
export function checkRoomForNew(folder: string): void {
  const file = statSync(path.join(folder, 'data.mdb'), { throwIfNoEntry: false });
  if (file !== undefined && file.size > 0) return;
  if ((readFreeBytes(folder) ?? NEW_DATABASE_BYTES) >= NEW_DATABASE_BYTES) return;
  throw new Error(`no space left on device: a new database takes ${NEW_DATABASE_BYTES} bytes`);
}

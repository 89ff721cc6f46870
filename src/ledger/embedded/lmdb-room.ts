/**
 * Whether a write fits, asked before LMDB is given it. LMDB notices a full disk in the middle of a
 * write, prints that from its C code, and in some places ends the process with a signal.
 */

import { appendFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Database } from 'lmdb';
import { readFreeBytes } from './disk-failure.ts';

/** What a new database takes with its lock file and its first change. */
const NEW_DATABASE_BYTES = 131_072;
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

interface RoomInFile {
  /** Pages that hold nothing any more, in bytes. */
  readonly emptyBytes: number;
  /** What the file has beyond its last page. */
  readonly tailBytes: number;
}

/** What can be written without the file growing. */
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

/** Throws where so many bytes fit neither on the disk nor into the file's empty pages. */
export function checkRoom(folder: string, databases: readonly Database[], bytes: number): void {
  const free = readFreeBytes(folder);
  if (free === undefined || free >= bytes) return;
  const { emptyBytes, tailBytes } = readRoomInFile(folder, databases);
  if (free + emptyBytes + tailBytes >= bytes) return;
  throw new Error(`no space left on device: it takes up to ${bytes} bytes`);
}

/**
 * Gives the file so many bytes beyond its last page, where the disk has them: what is changed later
 * then fits also on a disk that is full. Appended, and so never over a page of another process.
 */
export function reserveRoom(folder: string, databases: readonly Database[], bytes: number): void {
  const missing = bytes - readRoomInFile(folder, databases).tailBytes;
  if (missing <= 0 || (readFreeBytes(folder) ?? 0) < missing) return;
  appendFileSync(path.join(folder, 'data.mdb'), Buffer.alloc(missing));
}

/** Throws where there is no room to begin a database in a folder. */
export function checkRoomForNew(folder: string): void {
  const file = statSync(path.join(folder, 'data.mdb'), { throwIfNoEntry: false });
  if (file !== undefined && file.size > 0) return;
  if ((readFreeBytes(folder) ?? NEW_DATABASE_BYTES) >= NEW_DATABASE_BYTES) return;
  throw new Error(`no space left on device: a new database takes ${NEW_DATABASE_BYTES} bytes`);
}

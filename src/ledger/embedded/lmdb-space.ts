/**
 * Checks that a write fits on the disk before LMDB writes. LMDB would notice a full disk in the
 * middle of the write, print from its C code, and in some places kill the process with a signal.
 */

import { appendFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Database } from 'lmdb';
import { readFreeBytes } from './disk-failure.ts';

/** The size of a new database, with its lock file and its first change. */
const NEW_DATABASE_BYTES = 131_072;
/**
 * The number of free pages that are not counted: LMDB cannot reuse pages that recent transactions
 * freed.
 */
const RECENTLY_FREED_PAGES = 16;

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

interface SpaceInFile {
  /** The size of the free pages in the file, in bytes. */
  readonly emptyBytes: number;
  /** Bytes of the file after its last page. */
  readonly tailBytes: number;
}

/** Returns the bytes that can be written without growing the file. */
function readSpaceInFile(folder: string, databases: readonly Database[]): SpaceInFile {
  const stats = databases.map((database) => database.getStats() as DatabaseStats);
  const { root, free, lastPageNumber, pageSize } = stats[0];
  const used = [root, free, ...stats].reduce((sum, counts) => sum + countPages(counts), 2);
  const { size } = statSync(path.join(folder, 'data.mdb'));
  return {
    emptyBytes: Math.max(0, lastPageNumber + 1 - used - RECENTLY_FREED_PAGES) * pageSize,
    tailBytes: Math.max(0, size - (lastPageNumber + 1) * pageSize),
  };
}

/** Throws if the bytes exceed the free space of the disk and the file's free pages together. */
export function checkSpace(folder: string, databases: readonly Database[], bytes: number): void {
  const free = readFreeBytes(folder);
  if (free === undefined || free >= bytes) return;
  const { emptyBytes, tailBytes } = readSpaceInFile(folder, databases);
  if (free + emptyBytes + tailBytes >= bytes) return;
  throw new Error(`no space left on device: the write takes up to ${bytes} bytes`);
}

/**
 * Reserves bytes after the file's last page, if the disk has room for them, so that a later change
 * fits even on a full disk. Appending never overwrites a page of another process.
 */
export function reserveSpace(folder: string, databases: readonly Database[], bytes: number): void {
  const missing = bytes - readSpaceInFile(folder, databases).tailBytes;
  if (missing <= 0 || (readFreeBytes(folder) ?? 0) < missing) return;
  appendFileSync(path.join(folder, 'data.mdb'), Buffer.alloc(missing));
}

/** Throws if the disk has no space for a new database in the folder. */
export function checkSpaceForNew(folder: string): void {
  const file = statSync(path.join(folder, 'data.mdb'), { throwIfNoEntry: false });
  if (file !== undefined && file.size > 0) return;
  if ((readFreeBytes(folder) ?? NEW_DATABASE_BYTES) >= NEW_DATABASE_BYTES) return;
  throw new Error(`no space left on device: a new database takes ${NEW_DATABASE_BYTES} bytes`);
}

/**
 * Creates LMDB's lock file before LMDB maps it. LMDB would create a sparse file and write to its
 * mapping: on a full disk that kills the process with SIGBUS.
 */

import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** The size of the lock file: whole pages, and more than LMDB's table of 126 readers takes. */
const LOCK_BYTES = 16_384;

/** Allocates all bytes of the lock file on the disk; throws if the disk is full. */
export function makeLockFile(folder: string): void {
  const file = path.join(folder, 'lock.mdb');
  if (existsSync(file)) return;
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, Buffer.alloc(LOCK_BYTES), { flag: 'wx' });
    // A link does not replace an existing file: another process may have created and mapped it
    // meanwhile.
    linkSync(draft, file);
  } catch (error) {
    // LMDB handles all other errors: for example, it reads a read-only folder without a lock file.
    if (isFull(error)) throw error;
  } finally {
    if (existsSync(draft)) rmSync(draft);
  }
}

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/**
 * LMDB's lock file, made before LMDB maps it. LMDB itself makes a file of holes and writes to it
 * through memory: where the disk is full, the system can only end the process with SIGBUS.
 */

import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Whole pages, and more than the table of 126 readers takes. */
const LOCK_BYTES = 16_384;

/** Makes the lock file in a folder with all its bytes on the disk; fails where they do not fit. */
export function makeLockFile(folder: string): void {
  const file = path.join(folder, 'lock.mdb');
  if (existsSync(file)) return;
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, Buffer.alloc(LOCK_BYTES), { flag: 'wx' });
    // Never written under its own name: another process may have made and mapped it by now.
    linkSync(draft, file);
  } catch (error) {
    // Anything else is for LMDB to judge: it reads from a read-only folder without a lock file.
    if (isFull(error)) throw error;
  } finally {
    if (existsSync(draft)) rmSync(draft);
  }
}

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

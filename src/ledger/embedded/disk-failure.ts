/** Describes errors of full and read-only disks, as reported by Node and LMDB's driver. */

import { statfsSync } from 'node:fs';
import { constants } from 'node:os';

/** An error of the driver, recognizable by its numeric code: Node's codes are text. */
interface DriverError extends Error {
  readonly code?: number;
  /** A promise that rejects with the reason of a failed commit. */
  readonly commitError?: Promise<never>;
}

/**
 * Returns the reason of a failed commit, if the driver's error has one; otherwise returns the
 * error.
 */
export async function findReason(error: unknown): Promise<Error> {
  const { commitError } = error as DriverError;
  return commitError === undefined ? (error as Error) : commitError.catch((reason) => reason);
}

/** The codes that Node and the driver report for a read-only disk or for missing permissions. */
const REFUSALS: readonly unknown[] = [
  ...['EROFS', 'EACCES', 'EPERM'],
  ...[constants.errno.EROFS, constants.errno.EACCES, constants.errno.EPERM],
];

const { ENOSPC, EDQUOT, EINVAL } = constants.errno;
const NO_SPACE: readonly unknown[] = ['ENOSPC', 'EDQUOT', ENOSPC, EDQUOT];

/**
 * True if the error says that the process cannot write: the permission is missing, or the disk is
 * read-only or full.
 */
export function isUnwritable(error: unknown): boolean {
  const { code } = error as DriverError;
  return REFUSALS.includes(code) || NO_SPACE.includes(code);
}

/** True if the error says that a lock shared between processes was destroyed. */
export function isInvalidLock(error: unknown): boolean {
  return (error as DriverError).code === EINVAL;
}

/**
 * Describes why the disk refused an operation, such as "No space left on device; 0 bytes are free
 * in ./data". The free space is left out if it is unknown, or if it is not the reason.
 */
export function describeDiskFailure(
  reason: Error,
  folder: string,
  { readOnly = false } = {},
): string {
  if (REFUSALS.includes((reason as DriverError).code)) {
    // The reason is a read-only disk or a missing permission, so the free space is left out.
    const what = reason.message.replace(/: Attempting to setup locks$/, '');
    return `${folder} cannot be ${readOnly ? 'read' : 'written to'}: ${what}`;
  }
  // LMDB reports a partial write as an input/output error. The free space shows the actual cause.
  const what = reason.message.replace(/\.$/, '');
  const free = readFreeBytes(folder);
  return free === undefined ? what : `${what}; ${free} bytes are free in ${folder}`;
}

/**
 * Returns the free bytes on the folder's disk; returns undefined if the system does not report
 * them.
 */
export function readFreeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

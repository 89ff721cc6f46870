/** Describes errors of full and read-only disks, as reported by Node and LMDB's driver. */

import { statfsSync } from 'node:fs';
import { constants } from 'node:os';

/** An error of the driver, recognizable by its numeric code: Node's codes are text. */
interface DriverError extends Error {
  readonly code?: number;
  /** A promise that rejects with the reason of a failed commit. */
  readonly commitError?: Promise<never>;
}

/** Unwraps the reason of a driver's error from its promise. */
export async function findReason(error: unknown): Promise<Error> {
  const { commitError } = error as DriverError;
  return commitError === undefined ? (error as Error) : commitError.catch((reason) => reason);
}

/** Codes for a read-only disk or missing permissions, of Node and of the driver. */
const REFUSALS: readonly unknown[] = [
  ...['EROFS', 'EACCES', 'EPERM'],
  ...[constants.errno.EROFS, constants.errno.EACCES, constants.errno.EPERM],
];

const { ENOSPC, EDQUOT, EINVAL } = constants.errno;
const NO_SPACE: readonly unknown[] = ['ENOSPC', 'EDQUOT', ENOSPC, EDQUOT];

/** True if the process cannot write there, because it lacks the permission or the disk is full. */
export function isUnwritable(error: unknown): boolean {
  const { code } = error as DriverError;
  return REFUSALS.includes(code) || NO_SPACE.includes(code);
}

/** True if a lock that processes share was invalidated. */
export function isInvalidLock(error: unknown): boolean {
  return (error as DriverError).code === EINVAL;
}

/**
 * "No space left on device; 0 bytes are free in ./data". The second part is left out if it is not
 * known.
 */
export function describeDiskFailure(
  reason: Error,
  folder: string,
  { readOnly = false } = {},
): string {
  if (REFUSALS.includes((reason as DriverError).code)) {
    // The failure has another reason than free space.
    const what = reason.message.replace(/: Attempting to setup locks$/, '');
    return `${folder} cannot be ${readOnly ? 'read' : 'written to'}: ${what}`;
  }
  // LMDB reports a partial write as an input/output error: the free space shows the actual cause.
  const what = reason.message.replace(/\.$/, '');
  const free = readFreeBytes(folder);
  return free === undefined ? what : `${what}; ${free} bytes are free in ${folder}`;
}

/** Free bytes on the folder's disk; undefined if the system does not report them. */
export function readFreeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** Errors of full and read-only disks in plain words, from what Node and LMDB's driver report. */

import { statfsSync } from 'node:fs';
import { constants } from 'node:os';

/** An error of the driver: its code is a number of LMDB or the system; Node's codes are text. */
interface DriverError extends Error {
  readonly code?: number;
  /** The reason of a commit that failed: a promise that is only ever rejected. */
  readonly commitError?: Promise<never>;
}

let isDriverMuted = false;

/**
 * The driver prints a failed commit, with its stack, before it rejects. The rejection is reported by
 * us, so that one print is suppressed; everything else is printed.
 */
export function muteDriver(): void {
  if (isDriverMuted) return;
  isDriverMuted = true;
  // biome-ignore lint/suspicious/noConsole: it is the driver that prints there, nobody here does.
  const print = console.error;
  console.error = (...values: unknown[]) => {
    const [first] = values;
    const isOfDriver = first instanceof Error && typeof (first as DriverError).code === 'number';
    if (!isOfDriver) print(...values);
  };
}

/** The reason of a driver's error, which hides it in a promise. */
export async function findReason(error: unknown): Promise<Error> {
  const { commitError } = error as DriverError;
  return commitError === undefined ? (error as Error) : commitError.catch((reason) => reason);
}

/** Codes for a read-only disk or missing permissions, of Node and of the driver. */
const REFUSALS: readonly unknown[] = [
  ...['EROFS', 'EACCES', 'EPERM'],
  ...[constants.errno.EROFS, constants.errno.EACCES, constants.errno.EPERM],
];

/** "No space left on device; 0 bytes are free in ./data": the second half where it is known. */
export function describeDiskFailure(
  reason: Error,
  folder: string,
  { readOnly = false } = {},
): string {
  if (REFUSALS.includes((reason as DriverError).code)) {
    // Free space is not the problem here.
    const what = reason.message.replace(/: Attempting to setup locks$/, '');
    return `${folder} cannot be ${readOnly ? 'read' : 'written to'}: ${what}`;
  }
  // LMDB reports a partial write as an input/output error: the free space shows what it was.
  const what = reason.message.replace(/\.$/, '');
  const free = readFreeBytes(folder);
  return free === undefined ? what : `${what}; ${free} bytes are free in ${folder}`;
}

/** Free bytes on the folder's disk; undefined where the system does not report them. */
export function readFreeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

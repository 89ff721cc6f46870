/** What is said of a disk that takes no more, and what LMDB's driver hides or shouts when it fails. */

import { statfsSync } from 'node:fs';
import { constants } from 'node:os';

/** An error of the driver: its number is LMDB's or the system's. Those of Node have a text. */
interface DriverError extends Error {
  readonly code?: number;
  /** The reason of a commit that failed: a promise that is only ever rejected. */
  readonly commitError?: Promise<never>;
}

let isDriverMuted = false;

/**
 * The driver prints a commit that failed, with its stack, before it rejects with it. Whoever is
 * rejected says what happened, so the print is left out; anything else that is printed is not.
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

/** The reason behind an error of the driver, which rejects with a note that there is one. */
export async function findReason(error: unknown): Promise<Error> {
  const { commitError } = error as DriverError;
  return commitError === undefined ? (error as Error) : commitError.catch((reason) => reason);
}

/** A read-only disk, or rights that are missing, as Node and as the driver number them. */
const REFUSALS: readonly unknown[] = [
  ...['EROFS', 'EACCES', 'EPERM'],
  ...[constants.errno.EROFS, constants.errno.EACCES, constants.errno.EPERM],
];

/** "No space left on device; 0 bytes are free in ./data": the second half where it can be told. */
export function describeDiskFailure(
  reason: Error,
  folder: string,
  { readOnly = false } = {},
): string {
  if (REFUSALS.includes((reason as DriverError).code)) {
    // How much is free would mislead here.
    const what = reason.message.replace(/: Attempting to setup locks$/, '');
    return `${folder} cannot be ${readOnly ? 'read' : 'written to'}: ${what}`;
  }
  // LMDB calls a write that the disk took only a part of an input/output error: the free space tells.
  const what = reason.message.replace(/\.$/, '');
  const free = readFreeBytes(folder);
  return free === undefined ? what : `${what}; ${free} bytes are free in ${folder}`;
}

/** What its disk has free for a folder; undefined where the system does not tell. */
export function readFreeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

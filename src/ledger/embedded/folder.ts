/** Creates folders durably, and reports a file where a folder is expected. */

import { existsSync, mkdirSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { syncFolder } from './durable-file.ts';

/**
 * The permissions of a new folder: only the user of this process has access, whatever the umask is.
 */
const PRIVATE_FOLDER = 0o700;
/** The permission bits of all other users. */
const OTHERS = 0o077;

/**
 * Returns how to close a folder that other users can open; returns undefined if they cannot open
 * it.
 */
export function findOpenFolder(folder: string): string | undefined {
  const stat = tryStat(folder);
  return stat?.isDirectory() === true ? describeOpen(folder, stat) : undefined;
}

/** Does the same as `findOpenFolder` for a file, such as a backup. */
export function findOpenFile(file: string): string | undefined {
  const stat = tryStat(file);
  return stat?.isFile() === true ? describeOpen(file, stat) : undefined;
}

function describeOpen(place: string, { mode }: Stats): string | undefined {
  if ((mode & OTHERS) === 0) return undefined;
  const permissions = (mode & 0o777).toString(8);
  return (
    `${place} has the permissions ${permissions}: other users of this machine may read the ledger and ` +
    `the hashes of its keys; to close it: chmod -R go= ${place}`
  );
}

/**
 * Creates a folder and its parents, one by one: Node's recursive mkdir never returns if a parent
 * cannot be created, for example below /proc.
 */
export async function makeFolder(folder: string): Promise<void> {
  const parent = path.dirname(folder);
  if (parent !== folder && !existsSync(parent)) await makeFolder(parent);
  try {
    mkdirSync(folder, { mode: PRIVATE_FOLDER });
    // Until the parent is synced, a power cut can lose the new folder and its contents.
    await syncFolder(parent);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    checkNoFile(folder, error);
    if (code === 'EEXIST') return;
    throw new Error(`cannot create the folder ${folder} (${code})`, { cause: error });
  }
}

/** Returns undefined if the path does not exist; throws if one of its parents is a file. */
export function readStat(file: string): Stats | undefined {
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    // Newer versions of Node report a path below a file as missing, not as ENOTDIR.
    if (stat === undefined) checkNoFile(path.dirname(file), undefined);
    return stat;
  } catch (error) {
    checkNoFile(path.dirname(file), error);
    throw error;
  }
}

/** Throws if the deepest existing part of a path is not a folder. */
function checkNoFile(folder: string, cause: unknown): void {
  const stat = tryStat(folder);
  if (stat?.isDirectory()) return;
  if (stat === undefined) {
    const parent = path.dirname(folder);
    if (parent !== folder) checkNoFile(parent, cause);
    return;
  }
  throw new Error(`got ${folder}, which is not a folder, expected a folder`, { cause });
}

function tryStat(place: string): Stats | undefined {
  try {
    return statSync(place);
  } catch {
    return undefined;
  }
}

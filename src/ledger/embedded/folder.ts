/** Creates folders durably, and reports files in their place. */

import { existsSync, mkdirSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { syncFolder } from './durable-file.ts';

/** Only the user of this process has access, whatever the umask is. */
const PRIVATE_FOLDER = 0o700;
/** The permissions of other users. */
const OTHERS = 0o077;

/** Says how to close a folder that other users can open; undefined if there is nothing to do. */
export function findOpenFolder(folder: string): string | undefined {
  const stat = tryStat(folder);
  return stat?.isDirectory() === true ? describeOpen(folder, stat) : undefined;
}

/** Does the same for a file, such as a backup. */
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
 * cannot be created, as below /proc.
 */
export async function makeFolder(folder: string): Promise<void> {
  const parent = path.dirname(folder);
  if (parent !== folder && !existsSync(parent)) await makeFolder(parent);
  try {
    mkdirSync(folder, { mode: PRIVATE_FOLDER });
    // Until its name is synced, a power cut can lose the folder and all in it.
    await syncFolder(parent);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    checkNoFile(folder, error);
    if (code === 'EEXIST') return;
    throw new Error(`cannot create the folder ${folder} (${code})`, { cause: error });
  }
}

/** Undefined if the path does not exist; throws if one of its parents is a file. */
export function readStat(file: string): Stats | undefined {
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    // Newer Node reports a path below a file as missing, not as ENOTDIR.
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

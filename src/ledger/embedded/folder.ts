/** Creates folders durably, and reports files in their place. */

import { existsSync, mkdirSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { syncFolder } from './durable-file.ts';

/**
 * Creates a folder and its parents, one by one: Node's recursive mkdir never returns if a parent
 * cannot be created, as below /proc.
 */
export async function makeFolder(folder: string): Promise<void> {
  const parent = path.dirname(folder);
  if (parent !== folder && !existsSync(parent)) await makeFolder(parent);
  try {
    mkdirSync(folder);
    // A power cut takes a folder whose name was not synced, and all that was synced in it.
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
    // To later versions of Node, what lies below a file is missing like any other.
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
  const message = `got ${folder}, which is not a folder, expected the folder that holds the ledger`;
  throw new Error(message, { cause });
}

function tryStat(place: string): Stats | undefined {
  try {
    return statSync(place);
  } catch {
    return undefined;
  }
}

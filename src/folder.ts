/** Making folders. */

import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a folder and those above it, one by one: Node's own recursive way never returns where a
 * folder cannot be made for want of the one above, as below /proc.
 */
export function makeFolder(folder: string): void {
  const parent = path.dirname(folder);
  if (parent !== folder && !existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    throw new Error(`cannot make the folder ${folder} (${code})`, { cause: error });
  }
}

/** Warns if a command writes to a place that other users of the machine can read. */

import { findOpenFile, findOpenFolder } from '../ledger/embedded/folder.ts';
import type { Terminal } from './terminal.ts';

/**
 * Warns about a folder that others can read. A folder that does not exist yet causes no warning,
 * because perpinfo creates the folder for its user only.
 */
export function warnIfOthersCanReadFolder(folder: string, terminal: Terminal): void {
  warn(findOpenFolder(folder), terminal);
}

export function warnIfOthersCanReadFile(file: string, terminal: Terminal): void {
  warn(findOpenFile(file), terminal);
}

function warn(open: string | undefined, terminal: Terminal): void {
  if (open !== undefined) terminal.say(`warning: ${open}`);
}

/** The warning of a command that writes where other users of the machine can read. */

import { findOpenFile, findOpenFolder } from '../ledger/embedded/folder.ts';
import type { Terminal } from './terminal.ts';

/** A folder that does not exist yet is made for its user alone. */
export function warnIfOthersCanReadFolder(folder: string, terminal: Terminal): void {
  warn(findOpenFolder(folder), terminal);
}

export function warnIfOthersCanReadFile(file: string, terminal: Terminal): void {
  warn(findOpenFile(file), terminal);
}

function warn(open: string | undefined, terminal: Terminal): void {
  if (open !== undefined) terminal.say(`warning: ${open}`);
}

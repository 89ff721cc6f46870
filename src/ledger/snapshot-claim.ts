/**
 * Which of the processes that share a folder of snapshots saves there: the one whose identity is in the
 * file "keeper". It is put there under its name at once and whole, by a link, so that of several
 * that try exactly one succeeds.
 */

import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describeProcess, type ProcessIdentity, processStatus } from './process-identity.ts';

/** True where this process is the one that saves; one that has ended is taken over from. */
export function claimFolder(folder: string): boolean {
  const file = path.join(folder, 'keeper');
  const own = JSON.stringify(describeProcess());
  const keeper = readText(file);
  if (keeper === own) return true;
  if (keeper !== undefined && isRunning(keeper)) return false;
  return (keeper === undefined || moveAway(file, keeper)) && place(file, own);
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** What cannot be understood was written by nobody who runs. */
function isRunning(keeper: string): boolean {
  try {
    return processStatus(JSON.parse(keeper) as ProcessIdentity) === 'running';
  } catch {
    return false;
  }
}

/** A name that is cleaned up with drafts of snapshots, should the process end here. */
function draftOf(file: string): string {
  return `${file}.${randomUUID()}.draft`;
}

/** False where somebody else has been quicker; what they have placed is put back. */
function moveAway(file: string, keeper: string): boolean {
  const aside = draftOf(file);
  if (!succeeds(() => renameSync(file, aside), 'ENOENT')) return false;
  const isTheSame = readText(aside) === keeper;
  if (!isTheSame) succeeds(() => linkSync(aside, file), 'EEXIST');
  rmSync(aside);
  return isTheSame;
}

function place(file: string, own: string): boolean {
  const draft = draftOf(file);
  try {
    writeFileSync(draft, own);
    return succeeds(() => linkSync(draft, file), 'EEXIST');
  } finally {
    rmSync(draft, { force: true });
  }
}

/** False where it fails with this code; any other failure is thrown. */
function succeeds(work: () => void, code: string): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return false;
    throw error;
  }
}

/** Checks for the programs that a benchmark starts and that are not part of this project. */

import { spawnSync } from 'node:child_process';
import path from 'node:path';

const EXIT_USAGE = 2;

function isInstalled(program: string): boolean {
  return spawnSync(program, ['-v'], { stdio: 'ignore' }).error === undefined;
}

/**
 * Ends the process if a program is missing. Debian installs nginx in a folder that is only in the
 * PATH of an administrator.
 */
export function requireTools(...programs: string[]): void {
  process.env['PATH'] += `${path.delimiter}/usr/sbin`;
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length === 0) return;
  const command = `apt-get install ${programs.join(' ')}`;
  console.error(`${missing.join(' and ')} not found; on Debian: ${command}`);
  process.exit(EXIT_USAGE);
}

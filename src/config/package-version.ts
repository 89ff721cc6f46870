/** Reads the version of the program from package.json. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_FOLDER } from './package-folder.ts';

export function readPackageVersion(): string {
  const text = readFileSync(path.join(PACKAGE_FOLDER, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Finds the folder in which the program is installed. */

import { existsSync } from 'node:fs';
import path from 'node:path';

/**
 * The nearest folder with a package.json, at or above the folder of this file. This also works in
 * the bundled build.
 */
export const PACKAGE_FOLDER = findAbove(import.meta.dirname);

function findAbove(folder: string): string {
  return existsSync(path.join(folder, 'package.json')) ? folder : findAbove(path.dirname(folder));
}

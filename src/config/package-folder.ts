/** Where the program is installed. */

import { existsSync } from 'node:fs';
import path from 'node:path';

/** The folder with package.json, above the file that runs, wherever the build has put it. */
export const PACKAGE_FOLDER = findAbove(import.meta.dirname);

function findAbove(folder: string): string {
  return existsSync(path.join(folder, 'package.json')) ? folder : findAbove(path.dirname(folder));
}

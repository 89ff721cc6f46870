/** Paths of the project, relative to the compiled tools in build/tools. */

import path from 'node:path';

export const PROJECT = path.resolve(import.meta.dirname, '../../..');
/** The built program, as a user runs it. */
export const MAIN = path.join(PROJECT, 'dist/main.js');
export const VECTORS = path.join(PROJECT, 'test/vectors');

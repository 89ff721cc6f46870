/**
 * Runs files of tests one after the other in this process. Tests of what only computes need no process
 * of their own: to start it and to compile the same code again takes a third of their time.
 *
 *   node --test-reporter=spec build/test/together.js FILE ...
 */

import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) await import(pathToFileURL(file).href);

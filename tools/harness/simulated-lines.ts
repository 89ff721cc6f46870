/**
 * The lines of small simulated exchanges. Many test files use the same lines. The test runner gives
 * them a folder, in which the first file stores its lines for the other files.
 */

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createSimulator } from '../../src/simulator/simulator.ts';

/** The variable that names the folder. */
export const LINES_FOLDER = 'PERPTEST_LINES';
const ACCOUNTS = 20;

/** Returns the first lines of a small simulated exchange. */
export function simulateLines(count: number, seed = 'cli'): string[] {
  const folder = process.env[LINES_FOLDER];
  if (folder === undefined) return simulate(count, seed);
  const file = path.join(folder, `${encodeURIComponent(seed)}.ndjson`);
  const known = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  if (known.length >= count) return known.slice(0, count);
  const lines = simulate(count, seed);
  // The file is renamed when it is complete, because other processes read it at the same time.
  writeFileSync(`${file}.${process.pid}`, lines.join('\n'));
  renameSync(`${file}.${process.pid}`, file);
  return lines;
}

function simulate(count: number, seed: string): string[] {
  const simulator = createSimulator({ seed, accounts: ACCOUNTS });
  return Array.from({ length: count }, () => simulator.next());
}

/** The seed of the random tests: new in each run, or the one that PERPTEST_SEED asks for. */

import type { Parameters } from 'fast-check';

const fixedSeed = process.env['PERPTEST_SEED'];

export const SEED = fixedSeed === undefined ? Date.now() % 2 ** 31 : Number(fixedSeed);

/** For the titles of random tests, so that a run can be repeated. */
export const SEED_NOTE = `(PERPTEST_SEED=${SEED})`;

/** How often fast-check tries a property. */
export function runs<T>(numRuns: number): Parameters<T> {
  return { seed: SEED, numRuns };
}

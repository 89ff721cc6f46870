/** The seed of the random tests: a new seed in each run, or the seed in PERPTEST_SEED. */

import type { Parameters } from 'fast-check';

const fixedSeed = process.env['PERPTEST_SEED'];

export const SEED = fixedSeed === undefined ? Date.now() % 2 ** 31 : Number(fixedSeed);

/** A text for the titles of random tests, so that a run can be repeated. */
export const SEED_NOTE = `(PERPTEST_SEED=${SEED})`;

/** Returns the parameters of fast-check: the seed, and how often a property is tried. */
export function runs<T>(numRuns: number): Parameters<T> {
  return { seed: SEED, numRuns };
}

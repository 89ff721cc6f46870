/** The seed of the random tests: a new one each run, or the one that PERPINFO_TEST_SEED asks for. */

import type { Parameters } from 'fast-check';

const fixedSeed = process.env['PERPINFO_TEST_SEED'];

/** Printed in the names of the tests, so that any run can be run again. */
export const SEED = fixedSeed === undefined ? Date.now() % 2 ** 31 : Number(fixedSeed);

export const SEED_NOTE = `(PERPINFO_TEST_SEED=${SEED})`;

/** How often a property is tried. */
export function runs<T>(numRuns: number): Parameters<T> {
  return { seed: SEED, numRuns };
}

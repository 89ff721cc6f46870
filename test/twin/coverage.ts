/** Random cases until every branch was taken, so that a short run is neither too long nor too thin. */

import fc from 'fast-check';
import { SEED } from '../seed.ts';
import type { Tally } from './tally.ts';

interface Coverage {
  tally: Tally;
  branches: readonly string[];
  /** Tried at least; more follow, in steps of as many, while a branch is missing. */
  cases: number;
  casesMax: number;
}

export function assertCovered<T>(property: fc.IProperty<T>, coverage: Coverage): void {
  const { tally, branches, cases, casesMax } = coverage;
  let tried = 0;
  do {
    fc.assert(property, { seed: SEED + tried, numRuns: cases });
    tried += cases;
  } while (tried < casesMax && !tally.hasAll(branches));
  tally.assertAll(branches);
}

/** Tries random cases until every branch was taken, so that a short run still covers all of them. */

import fc from 'fast-check';
import { SEED } from '../../tools/harness/seed.ts';
import type { Tally } from './tally.ts';

interface Coverage {
  tally: Tally;
  branches: readonly string[];
  /** Minimum number of cases, and the step in which more are added while a branch is missing. */
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

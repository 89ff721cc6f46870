/**
 * The size of a test: what fits into `npm test`, or the full size of `npm run test:long`. The long run
 * takes exactly the test files that import this module, so a file without a long size never runs twice.
 */

/** Set by `npm run test:long`. */
export const isLongRun = process.env['PERPINFO_LONG_TESTS'] === 'true';

/** For counts, durations and lists that are larger in the long run. */
export function scale<T>(short: T, long: T): T {
  return isLongRun ? long : short;
}

export const ONLY_LONG = 'runs in npm run test:long';

/** Options of a test that is too long for `npm test`. */
export const LONG_ONLY = { skip: isLongRun ? false : ONLY_LONG } as const;

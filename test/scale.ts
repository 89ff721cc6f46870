/**
 * The size of a test: what fits into `npm test`, or the full size of `npm run test:long`. The long run
 * takes exactly the tests with one of the options below, so a test without a long size never runs twice.
 */

/** Set by `npm run test:long`. */
export const isLongRun = process.env['PERPINFO_LONG_TESTS'] === 'true';
/** Set with it by `npm run test:full`: sizes for which there is no time on every change. */
const isFullRun = isLongRun && process.env['PERPINFO_FULL_TESTS'] === 'true';

/** For counts, durations and lists that are larger in the long run, and possibly in the full one. */
export function scale<T>(short: T, long: T, full: T = long): T {
  if (!isLongRun) return short;
  return isFullRun ? full : long;
}

export const ONLY_LONG = 'runs in npm run test:long';

/** Options of a test that is larger in the long run. */
export const ALSO_LONG: { readonly only?: true } = isLongRun ? { only: true } : {};
/** Options of a test that is larger in the full run only: the long run leaves it out. */
export const ALSO_FULL: { readonly only?: true } = isFullRun ? { only: true } : {};
/** Options of a test that is too long for `npm test`. */
export const LONG_ONLY = { ...ALSO_LONG, skip: isLongRun ? false : ONLY_LONG } as const;
/** Options of a test that is too long for `npm run test:long` as well. */
export const FULL_ONLY = {
  ...ALSO_LONG,
  skip: isFullRun ? false : 'runs in npm run test:full',
} as const;

/**
 * Which run a test belongs to, and its size there. `npm run test:long` takes what is too long for
 * `npm test`, and almost nothing that has run there; `npm run test:full` the larger sizes as well.
 */

/** Set by `npm run test:long`. */
export const isLongRun = process.env['PERPTEST_LONG'] === 'true';
/** Set with it by `npm run test:full`: sizes for which there is no time on every change. */
const isFullRun = isLongRun && process.env['PERPTEST_FULL'] === 'true';

/** For counts and durations that are larger in the long run or the full one. */
export function scale<T>(short: T, long: T, full: T = long): T {
  if (!isLongRun) return short;
  return isFullRun ? full : long;
}

/** Of a list of cases: the first ones in `npm test`, the others in the long run, all in the full one. */
export function shareOut<T>(cases: readonly T[], shortCount: number): readonly T[] {
  return scale(cases.slice(0, shortCount), cases.slice(shortCount), cases);
}

export const ONLY_LONG = 'runs in npm run test:long';

/** Options of a test that has other cases or a larger size in the long run. */
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

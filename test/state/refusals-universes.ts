/** Refused lists of another server, and modes of accounts. */

import type { Refused } from './refusals-prepared.ts';

/** This many arrays within one another. */
function nested(levels: number): unknown {
  return levels === 0 ? 7 : [nested(levels - 1)];
}

const LEVELS = 'at most 8 levels of arrays and objects';
const LENGTH = 'at most 900000 characters of JSON';
const META = 'an object with an array named universe';
const LONG = 'x'.repeat(900_000);

export const DEXES_REFUSED: readonly Refused[] = [
  [{ list: {} }, 'list: got an object, expected an array'],
  [{ list: 'xyz' }, 'list: got "xyz", expected an array'],
  [{ list: [LONG] }, `list: got an array of 1, expected ${LENGTH}`],
  [{ list: nested(9) }, `list: got an array of 1, expected ${LEVELS}`],
  [{ list: [null, nested(8)] }, `list: got an array of 1, expected ${LEVELS}`],
  [{ dex: 'xyz' }, 'dex: got "xyz", expected only the fields type, list'],
];

export const UNIVERSE_REFUSED: readonly Refused[] = [
  [{ dex: 'abc' }, 'dex: got "abc", expected a known dex'],
  [{ dex: 'toString' }, 'dex: got "toString", expected a known dex'],
  [{ meta: [] }, `meta: got an array of 0, expected ${META}`],
  [{ meta: { universe: {} } }, `meta: got an object, expected ${META}`],
  [{ meta: { marginTables: [] } }, `meta: got an object, expected ${META}`],
  [{ meta: { universe: [], more: LONG } }, `meta: got an object, expected ${LENGTH}`],
  [{ meta: { universe: [], more: nested(8) } }, `meta: got an array of 1, expected ${LEVELS}`],
  [{ universe: [] }, 'universe: got an array of 0, expected only the fields type, dex, meta'],
];

const MODE = '1 to 40 of A-Z, a-z and 0-9';

export const ACCOUNT_MODE_REFUSED: readonly Refused[] = [
  [{ mode: '' }, `mode: got "", expected ${MODE}`],
  [{ mode: 'unified account' }, `mode: got "unified account", expected ${MODE}`],
  [{ mode: 'a'.repeat(41) }, `mode: got "${'a'.repeat(41)}", expected ${MODE}`],
  [{ mode: 'default\n' }, `mode: got "default\\n", expected ${MODE}`],
  [{ mode: 'é' }, `mode: got "é", expected ${MODE}`],
  [{ dex: '' }, 'dex: got "", expected only the fields type, user, mode'],
];

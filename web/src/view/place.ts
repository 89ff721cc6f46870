/**
 * What is shown, in the fragment of the page's address: so a link can be shared, and Back and Forward
 * work. The key is never part of it.
 */

import { COLUMN_NAMES, type ColumnName, type Sort } from '../figures/position-figures.ts';
import { readAddress } from '../figures/text.ts';
import { RANGES, type RangeName } from '../history/value-history.ts';

export interface Place {
  /** Empty if no account is shown. */
  readonly user: string;
  /** The only dex that is shown; undefined for all. */
  readonly dex: string | undefined;
  readonly range: RangeName;
  /** Undefined for the endpoint's order. */
  readonly sort: Sort | undefined;
}

const DESCENDING = '-';
/** In place of the first dex's name, which is empty; other names have no capitals. */
const FIRST = 'FIRST';

/** What is missing or makes no sense is as it is at first. */
export function readPlace(fragment: string): Place {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  return {
    user: readAddress(given.get('user') ?? '') ?? '',
    dex: readDex(given.get('dex')),
    range: RANGES.find(({ name }) => shorten(name) === given.get('range'))?.name ?? RANGES[0].name,
    sort: readSort(given.get('sort') ?? ''),
  };
}

function readDex(name: string | null): string | undefined {
  if (name === null) return undefined;
  return name === FIRST ? '' : name;
}

function readSort(text: string): Sort | undefined {
  const isDescending = text.startsWith(DESCENDING);
  const column = text.slice(isDescending ? DESCENDING.length : 0) as ColumnName;
  return COLUMN_NAMES.includes(column) ? { column, isDescending } : undefined;
}

/** Without what is as it is at first. */
export function formatPlace({ user, dex, range, sort }: Place): string {
  const given = new URLSearchParams();
  if (user !== '') given.set('user', user);
  if (dex !== undefined) given.set('dex', dex === '' ? FIRST : dex);
  if (range !== RANGES[0].name) given.set('range', shorten(range));
  if (sort !== undefined) given.set('sort', `${sort.isDescending ? DESCENDING : ''}${sort.column}`);
  const text = given.toString();
  return text === '' ? '' : `#${text}`;
}

function shorten(range: RangeName): string {
  return range.replace(' ', '');
}

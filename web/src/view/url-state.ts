/**
 * Stores the state of the page in the fragment of its address, so that a person can share a link,
 * and Back and Forward work. The key is never part of the fragment.
 */

import {
  BOARD_COLUMN_NAMES,
  type BoardColumnName,
  type BoardSort,
  WORST_FIRST,
} from '../figures/board-sort.ts';
import { COLUMN_NAMES, type ColumnName, type Sort } from '../figures/position-figures.ts';
import { readAddress } from '../figures/text.ts';
import { FIRST_SPAN, SPANS, type SpanName } from '../history/archive-series.ts';
import { RANGES, type RangeName } from '../history/value-history.ts';

export interface UrlState {
  /** True if the board is shown instead of an account. */
  readonly isBoard: boolean;
  readonly boardSort: BoardSort;
  /** The address of the account that is shown; empty if no account is shown. */
  readonly user: string;
  /** The only dex that is shown; undefined means all dexes. */
  readonly dex: string | undefined;
  readonly range: RangeName;
  /** The time span of the chart if there is an archive. */
  readonly span: SpanName;
  /** The height that is shown; undefined for the present. */
  readonly at: number | undefined;
  /** The order of the positions; undefined means the endpoint's order. */
  readonly sort: Sort | undefined;
}

const BOARD = 'board';
const DESCENDING = '-';
/**
 * The name of the first dex in links, because its real name is empty. Other names have no capitals.
 */
const FIRST = 'FIRST';

/** Reads the state from a fragment. Missing or invalid values get their defaults. */
export function readUrlState(fragment: string): UrlState {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  const isBoard = given.has(BOARD);
  const sort = given.get('sort') ?? '';
  return {
    isBoard,
    boardSort: (isBoard && readSort(sort, BOARD_COLUMN_NAMES)) || WORST_FIRST,
    user: readAddress(given.get('user') ?? '') ?? '',
    dex: readDex(given.get('dex')),
    range: RANGES.find(({ name }) => shorten(name) === given.get('range'))?.name ?? RANGES[0].name,
    span: SPANS.find(({ name }) => name === given.get('span'))?.name ?? FIRST_SPAN,
    // The board shows only the present.
    at: isBoard ? undefined : readHeight(given.get('at') ?? ''),
    sort: isBoard ? undefined : readSort(sort, COLUMN_NAMES),
  };
}

/**
 * Returns the invalid text that a link has where an address is expected; returns undefined if the
 * link is valid.
 */
export function findBadUser(fragment: string): string | undefined {
  const user = new URLSearchParams(fragment.replace(/^#/, '')).get('user') ?? '';
  return user === '' || readAddress(user) !== undefined ? undefined : user;
}

function readDex(name: string | null): string | undefined {
  if (name === null) return undefined;
  return name === FIRST ? '' : name;
}

/**
 * Returns the height; returns undefined if the text is not a height, or has more digits than a
 * number can store exactly.
 */
function readHeight(text: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

interface ColumnSort<Name> {
  readonly column: Name;
  readonly isDescending: boolean;
}

function readSort<Name extends ColumnName | BoardColumnName>(
  text: string,
  names: readonly Name[],
): ColumnSort<Name> | undefined {
  const isDescending = text.startsWith(DESCENDING);
  const column = text.slice(isDescending ? DESCENDING.length : 0) as Name;
  return names.includes(column) ? { column, isDescending } : undefined;
}

function formatSort({ column, isDescending }: Sort | BoardSort): string {
  return `${isDescending ? DESCENDING : ''}${column}`;
}

/** Returns the state as a fragment, without default values. */
export function formatUrlState(state: UrlState): string {
  return state.isBoard ? formatBoardState(state) : formatAccountState(state);
}

function formatBoardState({ boardSort }: UrlState): string {
  const sort = formatSort(boardSort);
  return sort === formatSort(WORST_FIRST) ? `#${BOARD}` : `#${BOARD}&sort=${sort}`;
}

function formatAccountState({ user, dex, at, range, span, sort }: UrlState): string {
  const given = new URLSearchParams();
  if (user !== '') given.set('user', user);
  if (dex !== undefined) given.set('dex', dex === '' ? FIRST : dex);
  if (at !== undefined) given.set('at', String(at));
  if (range !== RANGES[0].name) given.set('range', shorten(range));
  if (span !== FIRST_SPAN) given.set('span', span);
  if (sort !== undefined) given.set('sort', formatSort(sort));
  const text = given.toString();
  return text === '' ? '' : `#${text}`;
}

function shorten(range: RangeName): string {
  return range.replace(' ', '');
}

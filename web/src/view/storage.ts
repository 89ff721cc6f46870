/**
 * The data that the browser stores between visits: the key, addresses and their labels, unfolded
 * panels, and the pace.
 */

import { THRESHOLD_NAMES, type ThresholdName } from '../figures/alarms.ts';
import { type AddressBook, formatBook, readBook } from './address-book.ts';
import { readPace } from './pace.ts';

const KEY = 'perpinfo.key';
const RECENT = 'perpinfo.recent';
const EXAMPLES = 'perpinfo.examples';
const UNFOLDED = 'perpinfo.unfolded';
const BOOK = 'perpinfo.addressBook';
const RAISED = 'perpinfo.raised';
const PACE = 'perpinfo.pace';
const RECENT_MAX = 8;

/** Storage may be switched off. The page then works, but stores nothing after this visit. */
function read(name: string): string {
  try {
    return localStorage.getItem(name) ?? '';
  } catch {
    return '';
  }
}

function write(name: string, text: string): void {
  try {
    if (text === '') localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    // Storage is not available, so the value is lost after this visit.
  }
}

/** Calls `forgotten` when another tab forgets the key. */
export function onKeyForgotten(forgotten: () => void): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === KEY && newValue === null) forgotten();
  });
}

/** Calls `changed` when another tab changes the address book. */
export function onBookChanged(changed: () => void): void {
  addEventListener('storage', ({ key }) => {
    if (key === BOOK) changed();
  });
}

function readList(name: string): string[] {
  return read(name).split(',').filter(Boolean);
}

export const loadKey = (): string => read(KEY);
export const saveKey = (key: string): void => write(KEY, key);
export const loadPace = (): number => readPace(read(PACE));
export const savePace = (ms: number): void => write(PACE, String(ms));
export const loadRecent = (): string[] => readList(RECENT);
export const loadExamples = (): string[] => readList(EXAMPLES);
export const loadBook = (): AddressBook => readBook(read(BOOK)).book;
export const saveBook = (book: AddressBook): void =>
  write(BOOK, book.size === 0 ? '' : formatBook(book));

/** The raised alarms by address. The browser stores them, so that a reload does not raise alarms again. */
export type RaisedAlarms = ReadonlyMap<string, readonly ThresholdName[]>;

export function loadRaised(): RaisedAlarms {
  const raised = new Map<string, ThresholdName[]>();
  for (const pair of readList(RAISED)) {
    const [user, ...names] = pair.split(' ');
    raised.set(
      user,
      THRESHOLD_NAMES.filter((name) => names.includes(name)),
    );
  }
  return raised;
}

export function saveRaised(raised: RaisedAlarms): void {
  write(RAISED, Array.from(raised, ([user, names]) => [user, ...names].join(' ')).join(','));
}

export function forgetAddresses(): void {
  write(RECENT, '');
  write(EXAMPLES, '');
}

/** Returns true if the person has unfolded a panel; panels are folded by default. */
export function isUnfolded(panel: string): boolean {
  return readList(UNFOLDED).includes(panel);
}

export function saveUnfolded(panel: string, isOpen: boolean): void {
  const others = readList(UNFOLDED).filter((other) => other !== panel);
  write(UNFOLDED, [...others, ...(isOpen ? [panel] : [])].join(','));
}

/**
 * Saves an address as the newest of the recent addresses. Returns the recent addresses, newest
 * first, without duplicates.
 */
export function saveRecent(user: string): string[] {
  const others = loadRecent().filter((other) => other !== user);
  const recent = [user, ...others].slice(0, RECENT_MAX);
  write(RECENT, recent.join(','));
  return recent;
}

export interface KeyLink {
  readonly key: string;
  readonly examples: readonly string[];
}

/**
 * Takes the key and the example users out of the fragment, which no request carries, and removes
 * the fragment from the address bar and the history. Returns undefined if the fragment has no key.
 */
export function takeKey(): KeyLink | undefined {
  const given = new URLSearchParams(location.hash.slice(1));
  const key = given.get('key');
  if (!key) return undefined;
  history.replaceState(null, '', location.pathname + location.search);
  const examples = (given.get('users') ?? '').split(',').filter(Boolean);
  write(KEY, key);
  write(EXAMPLES, examples.join(','));
  return { key, examples };
}

/**
 * The data that the browser stores about addresses: their labels, whether they are on the board,
 * and their limits. The data never appears in the address bar.
 */

import { readThreshold, THRESHOLD_NAMES, type Thresholds } from '../figures/alarms.ts';
import { readAddress, shortenAddress } from '../figures/text.ts';

export interface Entry {
  /** The label; empty if the address has no label. */
  readonly label: string;
  readonly isOnBoard: boolean;
  readonly thresholds: Thresholds;
}

/** The entries by address, in the order in which they were added. */
export type AddressBook = ReadonlyMap<string, Entry>;

const EMPTY_BOOK: AddressBook = new Map();
const BLANK: Entry = { label: '', isOnBoard: false, thresholds: {} };
export const LABEL_LENGTH_MAX = 40;

export function entryOf(book: AddressBook, address: string): Entry {
  return book.get(address) ?? BLANK;
}

/** Returns the label, or the shortened address if there is no label. */
export function nameOf(book: AddressBook, address: string): string {
  return entryOf(book, address).label || shortenAddress(address);
}

/**
 * Returns the address that was typed, or the address whose label was typed; returns undefined if
 * there is none.
 */
export function findAddress(book: AddressBook, typed: string): string | undefined {
  const address = readAddress(typed);
  if (address !== undefined) return address;
  const wanted = cleanLabel(typed).toLowerCase();
  if (wanted === '') return undefined;
  return [...book].find(([, { label }]) => label.toLowerCase() === wanted)?.[0];
}

/** Returns the text on one line. */
export function toSingleLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
}

/** Returns the label on one line, short enough for a tab. */
export function cleanLabel(text: string): string {
  return toSingleLine(text).slice(0, LABEL_LENGTH_MAX).trim();
}

/** Returns a remark about a label that is too long; returns an empty text for a short label. */
export function describeCut(text: string): string {
  if (toSingleLine(text).length <= LABEL_LENGTH_MAX) return '';
  return `the label is cut to ${LABEL_LENGTH_MAX} characters, “${cleanLabel(text)}”`;
}

export function usersOnBoard(book: AddressBook): string[] {
  return [...book].filter(([, { isOnBoard }]) => isOnBoard).map(([address]) => address);
}

/** Returns the book with a changed entry. An entry without any content is removed. */
export function changeEntry(
  book: AddressBook,
  address: string,
  change: Partial<Entry>,
): AddressBook {
  const entry = { ...entryOf(book, address), ...change };
  const changed = new Map(book);
  const isBlank =
    entry.label === '' && !entry.isOnBoard && Object.keys(entry.thresholds).length === 0;
  if (isBlank) changed.delete(address);
  else changed.set(address, entry);
  return changed;
}

/** Merges two books. A label or a limit in `other` replaces the label or the limit in `book`. */
export function mergeBooks(book: AddressBook, other: AddressBook): AddressBook {
  const merged = new Map(book);
  for (const [address, entry] of other) {
    const known = entryOf(book, address);
    merged.set(address, {
      label: entry.label || known.label,
      isOnBoard: known.isOnBoard || entry.isOnBoard,
      thresholds: { ...known.thresholds, ...entry.thresholds },
    });
  }
  return merged;
}

/** The name of the format in a file. */
const FORMAT = 'address book';
const VERSION = 1;

/** Writes the book for a file and for the browser's storage. */
export function formatBook(book: AddressBook): string {
  const accounts = [...book].map(([address, entry]) => ({ address, ...entry }));
  return `${JSON.stringify({ perpinfo: FORMAT, version: VERSION, accounts }, null, 2)}\n`;
}

export interface ReadBook {
  readonly book: AddressBook;
  /** Says which lines or accounts could not be read, and why. */
  readonly problems: readonly string[];
  /** Says which labels were too long. */
  readonly cut: readonly string[];
}

export function readBook(text: string): ReadBook {
  const content = parseJson(text);
  if (content['perpinfo'] !== FORMAT || !Array.isArray(content['accounts'])) {
    return { book: EMPTY_BOOK, problems: ['this is not an address book of perpinfo'], cut: [] };
  }
  if (content['version'] !== VERSION) {
    const problem = `version ${String(content['version'])} of the file is not known, expected ${VERSION}`;
    return { book: EMPTY_BOOK, problems: [problem], cut: [] };
  }
  const problems: string[] = [];
  const cut: string[] = [];
  const book = new Map<string, Entry>();
  for (const [index, account] of content['accounts'].entries()) {
    const where = `account ${index + 1}`;
    const read = readEntry(account);
    if (typeof read === 'string') {
      problems.push(`${where}: ${read}`);
      continue;
    }
    book.set(...read);
    const remark = describeCut(String(asFields(account)['label'] ?? ''));
    if (remark !== '') cut.push(`${where}: ${remark}`);
  }
  return { book, problems, cut };
}

type Fields = Readonly<Record<string, unknown>>;

function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function parseJson(text: string): Fields {
  try {
    return asFields(JSON.parse(text));
  } catch {
    return {};
  }
}

/**
 * Returns the address and its entry; returns a text that says what is wrong if the account is
 * invalid.
 */
function readEntry(account: unknown): [string, Entry] | string {
  const { address, label = '', isOnBoard = true, thresholds = {} } = asFields(account);
  const user = readAddress(String(address));
  if (user === undefined) return `“${String(address)}” is not an address`;
  const limits: Partial<Record<(typeof THRESHOLD_NAMES)[number], string>> = {};
  for (const name of THRESHOLD_NAMES) {
    const given = asFields(thresholds)[name];
    if (given === undefined) continue;
    const limit = readThreshold(String(given));
    if (limit === undefined) return `“${String(given)}” is not a limit, expected a number over 0`;
    if (limit !== '') limits[name] = limit;
  }
  return [
    user,
    { label: cleanLabel(String(label)), isOnBoard: isOnBoard === true, thresholds: limits },
  ];
}

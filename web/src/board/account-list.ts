/** Reads a pasted list of accounts: lines, commas, a CSV file, or a saved address book. */

import { readAddress } from '../figures/text.ts';
import {
  cleanLabel,
  describeCut,
  type Entry,
  type ReadBook,
  readBook,
  toSingleLine,
} from '../view/address-book.ts';

/** The accounts that were read. Each message about a line starts with the line's number. */
export interface AccountList extends ReadBook {
  /** The number of addresses that repeat an earlier address. */
  readonly repeated: number;
}

/**
 * The maximum number of accounts on the board. More subscriptions would spend too much of a key's
 * budget.
 */
export const ACCOUNTS_MAX = 1_000;

export function readAccountList(text: string): AccountList {
  if (text.trimStart().startsWith('{')) return { ...readBook(text), repeated: 0 };
  const book = new Map<string, Entry>();
  const problems: string[] = [];
  const cut: string[] = [];
  let repeated = 0;
  for (const [index, line] of text.split(/\r\n|\r|\n/).entries()) {
    const read = readLine(line);
    if (read.problem !== undefined && !isHeading(line, book)) {
      problems.push(`line ${index + 1}: ${read.problem}`);
    }
    for (const [address, words] of read.accounts) {
      const label = cleanLabel(words);
      const remark = describeCut(words);
      if (remark !== '') cut.push(`line ${index + 1}: ${remark}`);
      const known = book.get(address);
      if (known !== undefined) repeated++;
      book.set(address, { label: label || known?.label || '', isOnBoard: true, thresholds: {} });
    }
  }
  return { book, problems, cut, repeated };
}

/** Returns true if the line has column names, and comes before the first address. */
function isHeading(line: string, book: ReadonlyMap<string, Entry>): boolean {
  return book.size === 0 && /\b(address|user|wallet|account)\b/i.test(line);
}

interface ReadLine {
  /** Each label is on one line, but is not yet cut to the maximum length. */
  readonly accounts: readonly (readonly [address: string, label: string])[];
  readonly problem?: string;
}

const SHOWN_MAX = 60;

function describeBadLine(line: string): string {
  const shown = line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}…` : line;
  return `“${shown}” has no address: expected 0x and 40 hexadecimal digits`;
}

/**
 * Reads a line: `0x... label`, `0x...,label`, `label 0x...`, or several addresses. Lines that start
 * with # are comments.
 */
function readLine(line: string): ReadLine {
  const trimmed = line.trim();
  if (trimmed === '' || trimmed.startsWith('#')) return { accounts: [] };
  const accounts: [address: string, label: string][] = [];
  let before = '';
  for (const cell of splitCells(trimmed)) {
    const found = readCell(cell, before);
    if (found.length > 0) {
      accounts.push(...found);
      before = '';
    } else if (/^0x/i.test(cell)) {
      return { accounts, problem: describeBadLine(cell) };
    } else if (accounts.length === 0) before = cell;
    else if (accounts[accounts.length - 1][1] === '')
      accounts[accounts.length - 1][1] = toSingleLine(cell);
  }
  return accounts.length === 0 ? { accounts, problem: describeBadLine(trimmed) } : { accounts };
}

/**
 * Returns the addresses of a cell, each with the words after it. If no words follow the first
 * address, it gets the words before it, or else `before`.
 */
function readCell(cell: string, before: string): [address: string, label: string][] {
  const found: { readonly address: string; readonly words: string[] }[] = [];
  const leading: string[] = [];
  for (const word of cell.split(/\s+/)) {
    const address = readAddress(word);
    if (address !== undefined) found.push({ address, words: [] });
    else (found.at(-1)?.words ?? leading).push(word);
  }
  return found.map(({ address, words }, index) => {
    const label = words.join(' ') || (index === 0 ? leading.join(' ') || before : '');
    return [address, toSingleLine(label)];
  });
}

/** Returns the cells of a CSV line. A quoted cell may have commas. */
function splitCells(line: string): string[] {
  const cells = line.match(/"(?:[^"]|"")*"|[^,;\t"]+/g) ?? [];
  return cells
    .map((cell) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell).trim())
    .filter((cell) => cell !== '');
}

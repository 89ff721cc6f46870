/**
 * Measures the longest time that one added row takes while a table, and the index of addresses,
 * grow to millions of rows. The reference is growth in one go. The times are processor times,
 * because other programs may be busy on the same machine. They include the threads of the garbage
 * collector.
 */

import type { Address } from '../../src/exact/address.ts';
import { AddressBook } from '../../src/state/addresses.ts';
import { ROW_BYTES, Table } from '../../src/state/tables/table.ts';
import { type Spread, spreadOf } from '../frame/measure.ts';

const ROWS = 4_000_000;
const ROUNDS = 3;
const WORD_MAX = 2 ** 40;
const ROW_CELLS = ROW_BYTES / Float64Array.BYTES_PER_ELEMENT;

export interface GrowthResult {
  readonly what: string;
  /** The processor time of the slowest added row of each round, in milliseconds. */
  readonly inSteps: Spread;
  readonly inOneGo: Spread;
  /** The time in steps divided by the time in one go, for each round. */
  readonly ratios: readonly number[];
}

type AddRow = (index: number) => void;

function addressOf(index: number): Address {
  const scattered = (index * 2_654_435_761) % WORD_MAX;
  return { word0: scattered, word1: index, word2: 0, word3: WORD_MAX - scattered - 1 };
}

function tableInSteps(): AddRow {
  const table = new Table();
  return (index) => table.set(table.addRow(), 0, index);
}

/** Adds rows to a table that copies all of its rows whenever it is full. */
function tableInOneGo(): AddRow {
  let cells = new Float64Array(64 * ROW_CELLS);
  return (index) => {
    if (index * ROW_CELLS === cells.length) {
      const larger = new Float64Array(Math.ceil(index * 1.5) * ROW_CELLS);
      larger.set(cells);
      cells = larger;
    }
    cells[index * ROW_CELLS] = index;
  };
}

function indexInSteps(): AddRow {
  const book = new AddressBook();
  return (index) => book.findOrAdd(addressOf(index));
}

/**
 * Adds addresses to an index that is rebuilt whenever it is half full. It is rebuilt in the same
 * way as after loading a snapshot.
 */
function indexInOneGo(): AddRow {
  let book = new AddressBook();
  let rowCountMax = 128;
  return (index) => {
    book.findOrAdd(addressOf(index));
    if (book.table.rowCount <= rowCountMax) return;
    book = new AddressBook(book.table);
    rowCountMax *= 2;
  };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function longestMs(addRow: AddRow): number {
  let longest = 0;
  let before = cpuMs();
  for (let index = 0; index < ROWS; index++) {
    addRow(index);
    const now = cpuMs();
    longest = Math.max(longest, now - before);
    before = now;
  }
  return longest;
}

function compareGrowth(what: string, inSteps: () => AddRow, inOneGo: () => AddRow): GrowthResult {
  const rounds = Array.from({ length: ROUNDS }, () => ({
    inOneGo: longestMs(inOneGo()),
    inSteps: longestMs(inSteps()),
  }));
  return {
    what,
    inSteps: spreadOf(rounds.map((round) => round.inSteps)),
    inOneGo: spreadOf(rounds.map((round) => round.inOneGo)),
    ratios: rounds.map((round) => round.inSteps / round.inOneGo),
  };
}

export function measureGrowth(): GrowthResult[] {
  return [
    compareGrowth('add a row', tableInSteps, tableInOneGo),
    compareGrowth('add an address', indexInSteps, indexInOneGo),
  ];
}

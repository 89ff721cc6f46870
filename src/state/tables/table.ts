/**
 * A table of numbers that grows: rows of eight cells in one Float64Array.
 *
 * An answer reads all columns of an account, so the columns of a row are next to each other in
 * memory. A row is 64 bytes, one cache line. So a random account out of a million costs a few cache
 * misses, instead of one miss for each column. The garbage collector does not scan the array, and
 * the bytes of the array are the snapshot of the table.
 *
 * Row 0 contains no record, so a link of 0 means "none". account-modes.ts, markets.ts and
 * staking.ts each store one value in row 0.
 *
 * The old values of cells that a block overwrites are journaled until `commit`; `rollback` restores
 * them, newest first. While a block is hidden, reads return the committed values.
 *
 * A table that is nearly full grows in steps: copying hundreds of megabytes at once would delay
 * every answer. Each time a row is added, a few rows are copied to a larger array. Until all rows
 * are copied, reads use only the old array, and writes go to both arrays.
 */

import { OldCellValues } from './old-cell-values.ts';
import { TableSnapshot } from './table-snapshot.ts';

const ROW_CELLS = 8;
export const ROW_BYTES = ROW_CELLS * Float64Array.BYTES_PER_ELEMENT;

const ROWS_MIN = 64;

/**
 * The number of rows that are copied to a larger array, or put into a larger index, each time a row
 * is added. This happens only while there is a larger array or index.
 */
export const GROWTH_STEP_ROWS = 16;

/**
 * Returns a capacity with room for 50 % more rows. Unused room takes no memory, because the system
 * allocates memory when it is first written.
 */
function capacityFor(rowCount: number): number {
  return Math.max(ROWS_MIN, Math.ceil(rowCount * 1.5));
}

/**
 * The row count at which the table starts to grow: the rows that still fit are enough steps to copy
 * the whole table.
 */
function growthStart(capacity: number): number {
  return capacity - Math.ceil(capacity / GROWTH_STEP_ROWS);
}

export class Table {
  #cells: Float64Array;
  /**
   * The array that replaces `#cells` when all rows are copied; undefined if the table is not
   * growing.
   */
  #largerCells: Float64Array | undefined;
  #copiedRows = 0;
  #rowCount: number;
  #rowCountCommitted: number;
  readonly #journalCells: number[] = [];
  readonly #journalValues: number[] = [];
  #isHidden = false;
  /** The committed values of cells in the journal, indexed for reads while the block is hidden. */
  #replaced: OldCellValues | undefined;
  /** The number of entries of the journal that `#replaced` covers. */
  #replacedEntries = 0;
  /** The open snapshot, if any. */
  #snapshot: TableSnapshot | undefined;

  /** A table of `rowCount` rows of zeros, row 0 included, with room for more. */
  constructor(rowCount = 1) {
    this.#cells = new Float64Array(capacityFor(rowCount) * ROW_CELLS);
    this.#rowCount = rowCount;
    this.#rowCountCommitted = rowCount;
  }

  /** The number of rows in use, row 0 included. */
  get rowCount(): number {
    return this.#isHidden ? this.#rowCountCommitted : this.#rowCount;
  }

  /** The first row that the current block added, if it added any. */
  get rowCountCommitted(): number {
    return this.#rowCountCommitted;
  }

  /** The cells in use. A snapshot is loaded into these cells before the first row is added. */
  get cells(): Float64Array {
    return this.#cells.subarray(0, this.#rowCount * ROW_CELLS);
  }

  get(row: number, column: number): number {
    const cell = row * ROW_CELLS + column;
    return this.#isHidden ? this.#getCommitted(cell) : this.#cells[cell];
  }

  #getCommitted(cell: number): number {
    return this.#replaced?.get(cell) ?? this.#cells[cell];
  }

  set(row: number, column: number, value: number): void {
    const cell = row * ROW_CELLS + column;
    if (row < this.#rowCountCommitted) {
      this.#journalCells.push(cell);
      this.#journalValues.push(this.#cells[cell]);
      this.#snapshot?.keepValue(cell, this.#cells[cell]);
    }
    this.#write(cell, value + 0); // -0 is stored as 0, so that equal states have equal bytes.
  }

  #write(cell: number, value: number): void {
    this.#cells[cell] = value;
    if (this.#largerCells !== undefined) this.#largerCells[cell] = value;
  }

  /**
   * Sets a column of all rows, row 0 included. The table was just loaded, so nothing is journaled.
   */
  fillColumn(column: number, value: number): void {
    for (let row = 0; row < this.#rowCount; row++) this.#cells[row * ROW_CELLS + column] = value;
  }

  /** Appends a row of zeros and returns its number. */
  addRow(): number {
    const row = this.#rowCount;
    if (row >= growthStart(this.#capacity)) this.#grow();
    this.#rowCount = row + 1;
    return row;
  }

  /** The number of rows that fit into the array, row 0 included. */
  get #capacity(): number {
    return this.#cells.length / ROW_CELLS;
  }

  /** Copies the next few rows, and switches to the larger array when all are copied. */
  #grow(): void {
    this.#largerCells ??= new Float64Array(capacityFor(this.#capacity) * ROW_CELLS);
    const start = this.#copiedRows;
    const end = Math.min(start + GROWTH_STEP_ROWS, this.#rowCount);
    const rows = this.#cells.subarray(start * ROW_CELLS, end * ROW_CELLS);
    this.#largerCells.set(rows, start * ROW_CELLS);
    this.#copiedRows = end;
    if (end === this.#rowCount) this.#useLargerCells(this.#largerCells);
  }

  #useLargerCells(cells: Float64Array): void {
    this.#cells = cells;
    this.#largerCells = undefined;
    this.#copiedRows = 0;
  }

  /** Until `reveal`, reads return committed values, and nothing may be written. */
  hide(): void {
    this.#isHidden = true;
    if (this.#replacedEntries === this.#journalCells.length) return;
    this.#replaced ??= new OldCellValues();
    for (; this.#replacedEntries < this.#journalCells.length; this.#replacedEntries++) {
      const cell = this.#journalCells[this.#replacedEntries];
      this.#replaced.setIfAbsent(cell, this.#journalValues[this.#replacedEntries]);
    }
  }

  reveal(): void {
    this.#isHidden = false;
  }

  /**
   * Opens a snapshot of the present table, between two blocks. Until `closeSnapshot`, writes take
   * longer.
   */
  openSnapshot(): TableSnapshot {
    const isMidBlock = this.#journalCells.length > 0 || this.#rowCount > this.#rowCountCommitted;
    if (isMidBlock) throw new Error('cannot open a snapshot in the middle of a block');
    if (this.#snapshot !== undefined) throw new Error('a snapshot is open already');
    this.#snapshot = new TableSnapshot(() => this.#cells, this.#rowCount * ROW_CELLS);
    return this.#snapshot;
  }

  closeSnapshot(): void {
    this.#snapshot = undefined;
  }

  commit(): void {
    this.#rowCountCommitted = this.#rowCount;
    this.#clearJournal();
  }

  rollback(): void {
    for (let entry = this.#journalCells.length - 1; entry >= 0; entry--) {
      this.#write(this.#journalCells[entry], this.#journalValues[entry]);
    }
    const start = this.#rowCountCommitted * ROW_CELLS;
    const end = this.#rowCount * ROW_CELLS;
    this.#cells.fill(0, start, end);
    this.#largerCells?.fill(0, start, end);
    this.#rowCount = this.#rowCountCommitted;
    this.#clearJournal();
  }

  #clearJournal(): void {
    this.#journalCells.length = 0;
    this.#journalValues.length = 0;
    this.#replaced = undefined;
    this.#replacedEntries = 0;
  }
}

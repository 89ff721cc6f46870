/**
 * A table of numbers that grows: rows of eight cells in one Float64Array.
 *
 * An answer reads all of an account, so the columns of a row lie side by side: a row is 64 bytes, one
 * cache line, and a random account out of a million costs a few cache misses instead of one for each
 * column. The garbage collector does not scan it, and its bytes are its snapshot.
 *
 * Row 0 is never used for data, so 0 as a link means "none".
 *
 * The old values of cells that a block overwrites are journaled until `commit`; `rollback` restores
 * them, newest first. While a block is hidden, reads return the committed values.
 */

import { CellValues } from './cell-values.ts';
import { TableSnapshot } from './table-snapshot.ts';

const ROW_CELLS = 8;
export const ROW_BYTES = ROW_CELLS * Float64Array.BYTES_PER_ELEMENT;

const ROWS_MIN = 64;

/** Room for 50 % more rows: the system allocates no memory that is never touched. */
function capacityFor(rowCount: number): number {
  return Math.max(ROWS_MIN, Math.ceil(rowCount * 1.5));
}

export class Table {
  #cells: Float64Array;
  #rowCount: number;
  #rowCountCommitted: number;
  readonly #journalCells: number[] = [];
  readonly #journalValues: number[] = [];
  #isHidden = false;
  /** The committed values of cells in the journal, indexed for reads while the block is hidden. */
  #replaced: CellValues | undefined;
  /** How many entries of the journal `#replaced` covers. */
  #replacedEntries = 0;
  /** The open snapshot, if any. */
  #snapshot: TableSnapshot | undefined;

  /** A table of `rowCount` rows of zeros, the unused row 0 included, with room for more. */
  constructor(rowCount = 1) {
    this.#cells = new Float64Array(capacityFor(rowCount) * ROW_CELLS);
    this.#rowCount = rowCount;
    this.#rowCountCommitted = rowCount;
  }

  /** Rows in use, the unused row 0 included. */
  get rowCount(): number {
    return this.#isHidden ? this.#rowCountCommitted : this.#rowCount;
  }

  /** The first row that the current block added, if it added any. */
  get rowCountCommitted(): number {
    return this.#rowCountCommitted;
  }

  /** The cells in use, to load a snapshot into: valid until the next row is added. */
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
    this.#cells[cell] = value + 0; // -0 is stored as 0: equal states have equal bytes
  }

  /** Appends a row of zeros and returns its number. */
  addRow(): number {
    const row = this.#rowCount;
    if ((row + 1) * ROW_CELLS > this.#cells.length) this.#grow();
    this.#rowCount = row + 1;
    return row;
  }

  #grow(): void {
    const cells = new Float64Array(capacityFor(this.#rowCount) * ROW_CELLS);
    cells.set(this.#cells);
    this.#cells = cells;
  }

  /** Until `reveal`, reads return committed values; nothing may be written meanwhile. */
  hide(): void {
    this.#isHidden = true;
    if (this.#replacedEntries === this.#journalCells.length) return;
    this.#replaced ??= new CellValues();
    for (; this.#replacedEntries < this.#journalCells.length; this.#replacedEntries++) {
      const cell = this.#journalCells[this.#replacedEntries];
      this.#replaced.setIfAbsent(cell, this.#journalValues[this.#replacedEntries]);
    }
  }

  reveal(): void {
    this.#isHidden = false;
  }

  /** The table as it is now, between two blocks; writes cost more until `closeSnapshot`. */
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
      this.#cells[this.#journalCells[entry]] = this.#journalValues[entry];
    }
    const start = this.#rowCountCommitted * ROW_CELLS;
    this.#cells.fill(0, start, this.#rowCount * ROW_CELLS);
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

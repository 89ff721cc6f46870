/** A table that grows beside a naive one that copies itself, and what each of its steps may copy. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GROWTH_STEP_ROWS, ROW_BYTES, Table } from '../../src/state/tables/table.ts';
import type { TableSnapshot } from '../../src/state/tables/table-snapshot.ts';
import { runs, SEED_NOTE } from '../../tools/harness/seed.ts';
import { ALSO_LONG, scale } from '../scale.ts';

const ROW_CELLS = ROW_BYTES / Float64Array.BYTES_PER_ELEMENT;
const RUNS = scale(20, 60);
const STEPS_MAX = 60;
/** Enough for snapshots of several pieces. */
const LOADED_ROWS_MAX = 3000;

/** A row is picked by its place among the rows, from 0 to 1. */
interface Write {
  place: number;
  column: number;
  value: number;
}

type Step =
  | { type: 'add'; count: number }
  | { type: 'set'; writes: Write[] }
  | { type: 'readPieces'; count: number }
  | { type: 'hide' | 'commit' | 'rollback' | 'openSnapshot' };

const randomWrite = fc.record({
  place: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  column: fc.nat(ROW_CELLS - 1),
  value: fc.oneof(fc.integer(), fc.constant(-0)),
});

const randomStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: addOf(20) },
  { weight: 4, arbitrary: addOf(400) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('set' as const),
      writes: fc.array(randomWrite, { maxLength: 30 }),
    }),
  },
  { weight: 2, arbitrary: justType('hide') },
  { weight: 5, arbitrary: justType('commit') },
  { weight: 3, arbitrary: justType('rollback') },
  { weight: 2, arbitrary: justType('openSnapshot') },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('readPieces' as const),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
);

function addOf(max: number): fc.Arbitrary<Step> {
  return fc.record({ type: fc.constant('add' as const), count: fc.integer({ min: 1, max }) });
}

function justType(type: 'hide' | 'commit' | 'rollback' | 'openSnapshot'): fc.Arbitrary<Step> {
  return fc.constant({ type });
}

function assertSameCells(actual: ArrayLike<number>, expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  // Object.is tells -0 from 0, which have different bytes.
  const different = expected.findIndex((value, cell) => !Object.is(actual[cell], value));
  const [row, column] = [Math.floor(different / ROW_CELLS), different % ROW_CELLS];
  assert.equal(different, -1, `row ${row}, column ${column} of ${actual.length / ROW_CELLS} rows`);
}

function readAll(table: Table): number[] {
  return Array.from({ length: table.rowCount * ROW_CELLS }, (_, cell) =>
    table.get(Math.floor(cell / ROW_CELLS), cell % ROW_CELLS),
  );
}

/** A snapshot that is read little by little, and the cells that it was opened on. */
class OpenSnapshot {
  readonly #pieces: Generator<Float64Array, void, void>;
  readonly #expected: readonly number[];
  readonly #read: number[] = [];

  constructor(snapshot: TableSnapshot, expected: readonly number[]) {
    this.#pieces = snapshot.pieces();
    this.#expected = expected;
  }

  read(count: number): void {
    for (let piece = 0; piece < count; piece++) {
      for (const value of this.#pieces.next().value ?? []) this.#read.push(value);
    }
  }

  /** Reads what is left, and compares all of it. */
  check(): void {
    for (const piece of this.#pieces) this.#read.push(...piece);
    assertSameCells(this.#read, this.#expected);
  }
}

/** A table and its naive twin: an array of cells, copied whole whenever a block is committed. */
class TwinTables {
  readonly #table: Table;
  #cells: number[];
  #committed: readonly number[];
  #snapshot: OpenSnapshot | undefined;
  #buffer: ArrayBufferLike;
  #rowsAdded = 0;
  /** How often the table has switched to a larger array. */
  growths = 0;

  constructor(loadedRows: number) {
    this.#table = new Table(loadedRows);
    this.#cells = Array.from({ length: loadedRows * ROW_CELLS }, (_, cell) => cell);
    this.#table.cells.set(this.#cells);
    this.#committed = [...this.#cells];
    this.#buffer = this.#table.cells.buffer;
  }

  run(step: Step): void {
    if (step.type === 'add') for (let row = 0; row < step.count; row++) this.#add();
    else if (step.type === 'set') for (const write of step.writes) this.#set(write);
    else if (step.type === 'readPieces') this.#snapshot?.read(step.count);
    else this[step.type]();
  }

  #add(): void {
    const row = this.#table.addRow();
    assert.equal(row, this.#cells.length / ROW_CELLS);
    for (let column = 0; column < ROW_CELLS; column++) this.#cells.push(0);
    // Not in the columns of a row before it that was rolled back, whose values must not show again.
    this.#write(row, this.#rowsAdded++ % ROW_CELLS, row);
    if (this.#table.cells.buffer === this.#buffer) return;
    this.#buffer = this.#table.cells.buffer;
    this.growths++;
  }

  #set({ place, column, value }: Write): void {
    this.#write(Math.floor((place * this.#cells.length) / ROW_CELLS), column, value);
  }

  #write(row: number, column: number, value: number): void {
    this.#table.set(row, column, value);
    this.#cells[row * ROW_CELLS + column] = value === 0 ? 0 : value;
  }

  hide(): void {
    this.#table.hide();
    assertSameCells(readAll(this.#table), this.#committed);
    this.#table.reveal();
  }

  commit(): void {
    this.#table.commit();
    this.#committed = [...this.#cells];
  }

  rollback(): void {
    this.#table.rollback();
    this.#cells = [...this.#committed];
  }

  openSnapshot(): void {
    this.closeSnapshot();
    this.commit();
    this.#snapshot = new OpenSnapshot(this.#table.openSnapshot(), this.#committed);
  }

  closeSnapshot(): void {
    this.#snapshot?.check();
    this.#snapshot = undefined;
    this.#table.closeSnapshot();
  }

  check(): void {
    assertSameCells(readAll(this.#table), this.#cells);
    assert.equal(this.#table.rowCountCommitted, this.#committed.length / ROW_CELLS);
  }
}

test(`a table that grows keeps what a naive one keeps ${SEED_NOTE}`, ALSO_LONG, () => {
  let growths = 0;
  const loadedRows = fc.integer({ min: 1, max: LOADED_ROWS_MAX });
  const steps = fc.array(randomStep, { maxLength: STEPS_MAX, size: 'max' });
  fc.assert(
    fc.property(loadedRows, steps, (rowCount, all) => {
      const twins = new TwinTables(rowCount);
      for (const step of all) {
        twins.run(step);
        twins.check();
      }
      twins.closeSnapshot();
      growths += twins.growths;
    }),
    runs(RUNS),
  );
  assert.ok(growths >= RUNS / 4, `${growths} growths in ${RUNS} runs`);
});

test('a table of any small size grows again and again without losing a cell', () => {
  for (let loadedRows = 1; loadedRows <= 200; loadedRows++) {
    const twins = new TwinTables(loadedRows);
    twins.run({ type: 'add', count: 1000 });
    twins.check();
    assert.ok(twins.growths >= 3, `${twins.growths} growths from ${loadedRows} rows`);
  }
});

test('a block that is rolled back at any moment of growth leaves nothing in either array', () => {
  for (let count = 1; count <= 100; count++) {
    const twins = new TwinTables(1);
    twins.run({ type: 'add', count });
    twins.rollback();
    twins.run({ type: 'add', count: 100 });
    twins.check();
  }
});

test('a column is filled in every row that is loaded, and in no row that is added', () => {
  const table = new Table(3);
  table.fillColumn(2, 7);
  table.addRow();
  const filled = [0, 0, 7, 0, 0, 0, 0, 0];
  const added = new Array(ROW_CELLS).fill(0);
  assert.deepEqual(readAll(table), [...filled, ...filled, ...filled, ...added]);
});

/**
 * How many rows each added row copies until the table switches to its larger array. Every row of the
 * old array is stamped anew before each row that is added, so a copied row has the stamp of its step.
 */
function countCopiedRows(table: Table): Map<number, number> {
  const { buffer } = table.cells;
  const oldCells = new Float64Array(buffer);
  let stamp = 0;
  while (table.cells.buffer === buffer) {
    assert.ok(
      table.rowCount < oldCells.length / ROW_CELLS,
      'a larger array before this one is full',
    );
    stamp++;
    for (let cell = 0; cell < oldCells.length; cell += ROW_CELLS) oldCells[cell] = stamp;
    table.addRow();
  }
  const counts = new Map<number, number>();
  for (let row = 0; row < table.rowCount - 1; row++) {
    const copiedAt = table.get(row, 0);
    counts.set(copiedAt, (counts.get(copiedAt) ?? 0) + 1);
  }
  return counts;
}

test('an added row copies a bounded number of rows, and the last ones before the table is full', () => {
  const loadedRows = 2000;
  const table = new Table(loadedRows);
  const counts = countCopiedRows(table);
  const copied = [...counts.values()];
  assert.equal(Math.max(...copied), GROWTH_STEP_ROWS);
  assert.ok(copied.length >= loadedRows / GROWTH_STEP_ROWS, `${copied.length} steps`);
  assert.ok(table.rowCount <= loadedRows * 1.5, `${table.rowCount} rows at the switch`);
});

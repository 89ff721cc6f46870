/**
 * A snapshot of a table. It is copied piece by piece while blocks continue to change the table. If
 * a cell is overwritten before its piece is copied, the old value of the cell is stored for the
 * piece.
 */

/**
 * The number of cells in a piece: 128 KiB, small enough that copying and hashing a piece does not
 * delay answers.
 */
const PIECE_CELLS = 16_384;

export class TableSnapshot {
  readonly #readCells: () => Float64Array;
  readonly #endCell: number;
  #nextCell = 0;
  /** The old values of cells that were overwritten before they were copied, by piece. */
  readonly #oldValues = new Map<number, Map<number, number>>();

  constructor(readCells: () => Float64Array, cellCount: number) {
    this.#readCells = readCells;
    this.#endCell = cellCount;
  }

  /** Called before a cell changes. */
  keepValue(cell: number, value: number): void {
    if (cell < this.#nextCell || cell >= this.#endCell) return;
    const piece = Math.floor(cell / PIECE_CELLS);
    let oldValues = this.#oldValues.get(piece);
    if (oldValues === undefined) {
      oldValues = new Map();
      this.#oldValues.set(piece, oldValues);
    }
    if (!oldValues.has(cell)) oldValues.set(cell, value);
  }

  /** Yields the cells in order, in pieces. Each piece is valid until the next piece is taken. */
  *pieces(): Generator<Float64Array, void, void> {
    const copy = new Float64Array(Math.min(PIECE_CELLS, this.#endCell));
    while (this.#nextCell < this.#endCell) yield this.#copyNext(copy);
  }

  #copyNext(copy: Float64Array): Float64Array {
    const start = this.#nextCell;
    const piece = copy.subarray(0, Math.min(PIECE_CELLS, this.#endCell - start));
    piece.set(this.#readCells().subarray(start, start + piece.length));
    const index = start / PIECE_CELLS;
    for (const [cell, value] of this.#oldValues.get(index) ?? []) piece[cell - start] = value;
    this.#oldValues.delete(index);
    this.#nextCell = start + piece.length;
    return piece;
  }
}

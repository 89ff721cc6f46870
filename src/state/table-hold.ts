/**
 * A table as it was at one moment, copied out piece by piece while blocks go on changing it. What a block
 * overwrites ahead of the copy is remembered, and put back into the piece that it belongs to.
 */

/** 128 KiB: no piece takes long to copy and to hash. */
const PIECE_CELLS = 16_384;

export class TableHold {
  readonly #readCells: () => Float64Array;
  readonly #endCell: number;
  #nextCell = 0;
  /** By piece: what cells held at that moment, of those that have changed since. */
  readonly #before = new Map<number, Map<number, number>>();

  constructor(readCells: () => Float64Array, cellCount: number) {
    this.#readCells = readCells;
    this.#endCell = cellCount;
  }

  /** Called before a cell changes. */
  remember(cell: number, value: number): void {
    if (cell < this.#nextCell || cell >= this.#endCell) return;
    const piece = Math.floor(cell / PIECE_CELLS);
    let before = this.#before.get(piece);
    if (before === undefined) {
      before = new Map();
      this.#before.set(piece, before);
    }
    if (!before.has(cell)) before.set(cell, value);
  }

  /** The cells in order; each piece is valid until the next one is asked for. */
  *pieces(): Generator<Float64Array, void, void> {
    const copy = new Float64Array(Math.min(PIECE_CELLS, this.#endCell));
    while (this.#nextCell < this.#endCell) yield this.#copyNext(copy);
  }

  #copyNext(copy: Float64Array): Float64Array {
    const start = this.#nextCell;
    const piece = copy.subarray(0, Math.min(PIECE_CELLS, this.#endCell - start));
    piece.set(this.#readCells().subarray(start, start + piece.length));
    const index = start / PIECE_CELLS;
    for (const [cell, value] of this.#before.get(index) ?? []) piece[cell - start] = value;
    this.#before.delete(index);
    this.#nextCell = start + piece.length;
    return piece;
  }
}

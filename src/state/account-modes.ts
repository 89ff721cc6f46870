/**
 * The modes of accounts, as another server names them. Few ledgers have any modes, so the modes are
 * in a table that is separate from the addresses. A mode is found by the row of its address.
 */

import { Table } from './tables/table.ts';

/**
 * The columns of a mode's row: the row of the address, the text of the mode in pieces, and the
 * height of its last change. In row 0, the last column is the height of the last change of any
 * mode.
 */
export const MODE_ADDRESS_ROW = 0;
const FIRST_PIECE = 1;
const CHANGED_AT = 6;

const PIECE_COUNT = 5;
/**
 * A character takes six bits, so eight characters take 48 bits: a whole number that a cell stores
 * exactly.
 */
const PIECE_CHARACTERS = 8;
const CODES = 64;
/** The code of a character is its place here; 0 ends the text. */
const CHARACTERS = ' ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

export class AccountModes {
  readonly table: Table;
  readonly #rows = new Map<number, number>();

  constructor(table: Table = new Table()) {
    this.table = table;
    for (let row = 1; row < table.rowCount; row++)
      this.#rows.set(table.get(row, MODE_ADDRESS_ROW), row);
  }

  /** Returns the mode; returns undefined if no event has named the mode of this address. */
  find(addressRow: number): string | undefined {
    const row = this.#rowOf(addressRow);
    if (row === 0) return undefined;
    let text = '';
    for (let piece = 0; piece < PIECE_COUNT; piece++) {
      text += unpackPiece(this.table.get(row, FIRST_PIECE + piece));
    }
    return text;
  }

  /** The height of the last change of the mode; 0 if no event has named the mode. */
  changedAt(addressRow: number): number {
    return this.table.get(this.#rowOf(addressRow), CHANGED_AT);
  }

  /**
   * The rows of the addresses whose mode the block at this height, the newest block, has changed.
   */
  listChangedAt(height: number): number[] {
    if (this.table.get(0, CHANGED_AT) !== height) return [];
    return this.listAddresses().filter((addressRow) => this.changedAt(addressRow) === height);
  }

  /** The rows of addresses whose mode is known. */
  listAddresses(): number[] {
    return [...this.#rows.keys()].filter((addressRow) => this.#rowOf(addressRow) !== 0);
  }

  set(addressRow: number, mode: string, height: number): void {
    if (this.find(addressRow) === mode) return;
    const row = this.#rowOf(addressRow) || this.#add(addressRow);
    for (let piece = 0; piece < PIECE_COUNT; piece++) {
      const start = piece * PIECE_CHARACTERS;
      const packed = packPiece(mode.slice(start, start + PIECE_CHARACTERS));
      this.table.set(row, FIRST_PIECE + piece, packed);
    }
    this.table.set(row, CHANGED_AT, height);
    this.table.set(0, CHANGED_AT, height);
  }

  #add(addressRow: number): number {
    const row = this.table.addRow();
    this.table.set(row, MODE_ADDRESS_ROW, addressRow);
    this.#rows.set(addressRow, row);
    return row;
  }

  #rowOf(addressRow: number): number {
    const row = this.#rows.get(addressRow) ?? 0;
    return row < this.table.rowCount ? row : 0; // the rows of a hidden block are hidden too
  }

  hide(): void {
    this.table.hide();
  }

  reveal(): void {
    this.table.reveal();
  }

  commit(): void {
    this.table.commit();
  }

  rollback(): void {
    for (let row = this.table.rowCountCommitted; row < this.table.rowCount; row++) {
      this.#rows.delete(this.table.get(row, MODE_ADDRESS_ROW));
    }
    this.table.rollback();
  }
}

function packPiece(text: string): number {
  let packed = 0;
  for (let index = PIECE_CHARACTERS - 1; index >= 0; index--) {
    packed = packed * CODES + (index < text.length ? CHARACTERS.indexOf(text[index]) : 0);
  }
  return packed;
}

function unpackPiece(packed: number): string {
  let text = '';
  for (let rest = packed; rest > 0; rest = Math.floor(rest / CODES)) {
    text += CHARACTERS[rest % CODES];
  }
  return text;
}

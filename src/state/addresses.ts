/**
 * Every user and validator address in the ledger, in order of first appearance, with a hash index
 * from address to row. The index is rebuilt from the rows and never stored.
 *
 * An index that is half full is replaced by a larger index, which is built in steps: each address
 * that is added puts a few rows into the larger index. Until that index has all rows, look-ups use
 * the old index.
 */

import { type Address, hashAddress } from '../exact/address.ts';
import { GROWTH_STEP_ROWS, Table } from './tables/table.ts';

/** The columns of an address row. */
const WORD0 = 0;
const WORD1 = 1;
const WORD2 = 2;
const WORD3 = 3;
/** The address's first account, in the order of the dexes, and its first delegation. */
export const FIRST_ACCOUNT = 4;
export const FIRST_DELEGATION = 5;
/** The height of the last change of the address's delegations. */
export const DELEGATIONS_CHANGED_AT = 6;
/**
 * 0 if no event has named the address's delegations, else 1 more than `delegationsTime`
 * (partial-ledger.ts).
 */
export const DELEGATIONS_SEEN = 7;

const SLOTS_INITIAL = 256;
const INDEX_BATCH = 1024;

export class AddressBook {
  readonly table: Table;
  /**
   * A hash index with open addressing and linear probing. A slot contains a row, or 0 if the slot
   * is empty. The index is at most half full. While the larger index is built, a fifteenth more
   * rows are added to this index.
   */
  #slots: Int32Array;
  /**
   * The larger index, which replaces `#slots` when it has all rows; undefined while no larger index
   * is built.
   */
  #largerSlots: Int32Array | undefined;
  /** The first row that the larger index does not have yet. */
  #rowToIndex = 1;
  readonly #homeSlots = new Int32Array(INDEX_BATCH);

  constructor(table: Table = new Table()) {
    this.table = table;
    this.#slots = this.#buildIndex();
  }

  /** Returns the row of the address; returns 0 if the ledger does not contain the address. */
  find(address: Address): number {
    const row = this.#slots[this.#slotOf(address, this.#slots)];
    return row < this.table.rowCount ? row : 0; // The addresses of a hidden block are hidden too.
  }

  findOrAdd(address: Address): number {
    const slot = this.#slotOf(address, this.#slots);
    const known = this.#slots[slot];
    return known === 0 ? this.#add(address, slot) : known;
  }

  addressOf(row: number): Address {
    return {
      word0: this.table.get(row, WORD0),
      word1: this.table.get(row, WORD1),
      word2: this.table.get(row, WORD2),
      word3: this.table.get(row, WORD3),
    };
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

  /**
   * Empties slots in the reverse order of insertion, so that no probe sequence is broken. Both
   * indexes got their rows in ascending order. If the larger index does not have a row yet, the
   * search for the row ends at an empty slot, which stays empty.
   */
  rollback(): void {
    const { rowCountCommitted } = this.table;
    for (let row = this.table.rowCount - 1; row >= rowCountCommitted; row--) {
      this.#emptySlot(this.#slots, row);
      if (this.#largerSlots !== undefined) this.#emptySlot(this.#largerSlots, row);
    }
    this.#rowToIndex = Math.min(this.#rowToIndex, rowCountCommitted);
    this.table.rollback();
  }

  #emptySlot(slots: Int32Array, row: number): void {
    slots[this.#slotOf(this.addressOf(row), slots)] = 0;
  }

  #add(address: Address, slot: number): number {
    const row = this.table.addRow();
    this.table.set(row, WORD0, address.word0);
    this.table.set(row, WORD1, address.word1);
    this.table.set(row, WORD2, address.word2);
    this.table.set(row, WORD3, address.word3);
    this.#slots[slot] = row;
    if (this.table.rowCount * 2 > this.#slots.length) this.#growIndex();
    return row;
  }

  /**
   * Puts the next few rows into the larger index, and switches to that index when it has all rows.
   */
  #growIndex(): void {
    const { rowCount } = this.table;
    this.#largerSlots ??= new Int32Array(slotCountFor(rowCount));
    const end = Math.min(this.#rowToIndex + GROWTH_STEP_ROWS, rowCount);
    this.#putRows(this.#largerSlots, this.#rowToIndex, end);
    this.#rowToIndex = end;
    if (end === rowCount) this.#useLargerSlots(this.#largerSlots);
  }

  #useLargerSlots(slots: Int32Array): void {
    this.#slots = slots;
    this.#largerSlots = undefined;
    this.#rowToIndex = 1;
  }

  /** Returns the slot of the address, or the empty slot where the address is to be inserted. */
  #slotOf(address: Address, slots: Int32Array): number {
    const mask = slots.length - 1;
    let slot = hashAddress(address) & mask;
    for (;;) {
      const row = slots[slot];
      if (row === 0 || this.#isAt(row, address)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #isAt(row: number, address: Address): boolean {
    return (
      this.table.get(row, WORD3) === address.word3 &&
      this.table.get(row, WORD2) === address.word2 &&
      this.table.get(row, WORD1) === address.word1 &&
      this.table.get(row, WORD0) === address.word0
    );
  }

  /**
   * Builds the whole index of a table that was loaded from a snapshot. It need not be built in
   * steps, because no client waits for an answer yet.
   */
  #buildIndex(): Int32Array {
    const { rowCount } = this.table;
    const slots = new Int32Array(slotCountFor(rowCount));
    for (let start = 1; start < rowCount; start += INDEX_BATCH) {
      this.#putRows(slots, start, Math.min(start + INDEX_BATCH, rowCount));
    }
    return slots;
  }

  /**
   * Hashes at most INDEX_BATCH addresses, then fills their slots. The slots are far apart in
   * memory; if one loop fills all of them, the processor waits for several cache misses at the same
   * time.
   */
  #putRows(slots: Int32Array, start: number, end: number): void {
    const mask = slots.length - 1;
    for (let row = start; row < end; row++) {
      this.#homeSlots[row - start] = hashAddress(this.addressOf(row)) & mask;
    }
    for (let row = start; row < end; row++) {
      let slot = this.#homeSlots[row - start];
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = row;
    }
  }
}

/**
 * Returns the smallest power of two, at least SLOTS_INITIAL, of which the rows fill at most half.
 */
function slotCountFor(rowCount: number): number {
  const needed = rowCount * 2;
  let count = SLOTS_INITIAL;
  while (count < needed) count *= 2;
  return count;
}

/**
 * Every address that the ledger has named, user or validator, in order of first appearance, with an
 * index that finds its row. The index is derived: it is rebuilt from the rows, never stored.
 */

import { type Address, hashAddress } from '../exact/address.ts';
import { Table } from './table.ts';

/** The columns of an address row. */
const WORD0 = 0;
const WORD1 = 1;
const WORD2 = 2;
const WORD3 = 3;
/** The address's first account (dexes ascending) and its first and last delegation. */
export const FIRST_ACCOUNT = 4;
export const FIRST_DELEGATION = 5;
export const LAST_DELEGATION = 6;

const SLOTS_INITIAL = 256;
const INDEX_BATCH = 1024;

export class AddressBook {
  readonly table: Table;
  /** Open addressing with linear probing, at most half full; a slot holds a row, 0 if empty. */
  #slots: Int32Array;

  constructor(table: Table = new Table()) {
    this.table = table;
    this.#slots = this.#buildIndex();
  }

  /** The address's row, or 0 where the ledger has never named it. */
  find(address: Address): number {
    const row = this.#slots[this.#slotOf(address)];
    return row < this.table.rowCount ? row : 0; // a hidden block's addresses are hidden too
  }

  /** The address's row, added where it is new. */
  findOrAdd(address: Address): number {
    const slot = this.#slotOf(address);
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

  /** Emptying slots in the opposite order of their filling leaves every probe sequence whole. */
  rollback(): void {
    for (let row = this.table.rowCount - 1; row >= this.table.rowCountCommitted; row--) {
      this.#slots[this.#slotOf(this.addressOf(row))] = 0;
    }
    this.table.rollback();
  }

  #add(address: Address, slot: number): number {
    const row = this.table.addRow();
    this.table.set(row, WORD0, address.word0);
    this.table.set(row, WORD1, address.word1);
    this.table.set(row, WORD2, address.word2);
    this.table.set(row, WORD3, address.word3);
    this.#slots[slot] = row;
    if (this.table.rowCount * 2 > this.#slots.length) this.#slots = this.#buildIndex();
    return row;
  }

  /** The slot that holds the address's row, or the empty one where it belongs. */
  #slotOf(address: Address): number {
    const mask = this.#slots.length - 1;
    let slot = hashAddress(address) & mask;
    for (;;) {
      const row = this.#slots[slot];
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
   * In batches: first hash all addresses of a batch, then fill their slots. The slots are scattered over
   * memory, and back-to-back accesses let the processor overlap the cache misses.
   */
  #buildIndex(): Int32Array {
    const slots = new Int32Array(slotCountFor(this.table.rowCount));
    const wanted = new Int32Array(INDEX_BATCH);
    for (let start = 1; start < this.table.rowCount; start += INDEX_BATCH) {
      const count = Math.min(INDEX_BATCH, this.table.rowCount - start);
      this.#wantSlots(wanted, start, count, slots.length - 1);
      fillSlots(slots, wanted, start, count);
    }
    return slots;
  }

  /** The preferred slot of each of `count` rows from `start` on. */
  #wantSlots(wanted: Int32Array, start: number, count: number, mask: number): void {
    for (let index = 0; index < count; index++) {
      wanted[index] = hashAddress(this.addressOf(start + index)) & mask;
    }
  }
}

/** Puts the rows from `start` on into their slots, or the next empty ones. */
function fillSlots(slots: Int32Array, wanted: Int32Array, start: number, count: number): void {
  const mask = slots.length - 1;
  for (let index = 0; index < count; index++) {
    let slot = wanted[index];
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    slots[slot] = start + index;
  }
}

/** The power of two that the rows fill at most half: the same whether they were added or loaded. */
function slotCountFor(rowCount: number): number {
  let count = SLOTS_INITIAL;
  while (count < rowCount * 2) count *= 2;
  return count;
}

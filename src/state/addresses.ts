/**
 * Every user and validator address in the ledger, in order of first appearance, with a hash index from
 * address to row. The index is rebuilt from the rows and never stored.
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

  /** The address's row, or 0 if the ledger does not contain it. */
  find(address: Address): number {
    const row = this.#slots[this.#slotOf(address)];
    return row < this.table.rowCount ? row : 0; // a hidden block's addresses are hidden too
  }

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

  /** Slots are emptied in reverse order of insertion, which keeps all probe sequences intact. */
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

  /** The slot of the address, or the empty slot to insert it at. */
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
   * Hashes a batch of addresses, then fills their slots: back-to-back accesses to scattered slots let
   * the processor overlap the cache misses.
   */
  #buildIndex(): Int32Array {
    const slots = new Int32Array(slotCountFor(this.table.rowCount));
    const homeSlots = new Int32Array(INDEX_BATCH);
    for (let start = 1; start < this.table.rowCount; start += INDEX_BATCH) {
      const count = Math.min(INDEX_BATCH, this.table.rowCount - start);
      this.#findHomeSlots(homeSlots, start, count, slots.length - 1);
      fillSlots(slots, homeSlots, start, count);
    }
    return slots;
  }

  /** The home slot of each of `count` rows from `start` on. */
  #findHomeSlots(homeSlots: Int32Array, start: number, count: number, mask: number): void {
    for (let index = 0; index < count; index++) {
      homeSlots[index] = hashAddress(this.addressOf(start + index)) & mask;
    }
  }
}

/** Puts each row into its home slot, or the next empty one. */
function fillSlots(slots: Int32Array, homeSlots: Int32Array, start: number, count: number): void {
  const mask = slots.length - 1;
  for (let index = 0; index < count; index++) {
    let slot = homeSlots[index];
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    slots[slot] = start + index;
  }
}

/** The smallest power of two, from SLOTS_INITIAL on, that the rows fill at most half. */
function slotCountFor(rowCount: number): number {
  let count = SLOTS_INITIAL;
  while (count < rowCount * 2) count *= 2;
  return count;
}

/** The index of addresses beside a Map while it grows, and what each of its steps may index. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Address, hashAddress } from '../../src/exact/address.ts';
import { AddressBook } from '../../src/state/addresses.ts';
import { GROWTH_STEP_ROWS, Table } from '../../src/state/tables/table.ts';
import { runs, SEED_NOTE } from '../../tools/harness/seed.ts';

const RUNS = 40;
const STEPS_MAX = 50;
const ADDRESS_COUNT = 3000;
const WORD_MAX = 2 ** 40;
/** Indexes of these sizes are full, or nearly. */
const LOADED_COUNTS = [0, 100, 126, 127, 128, 250, 255, 256, 1000, 1020, 1023];

function addressOf(index: number): Address {
  return {
    word0: index % 7,
    word1: (index * 2_654_435_761) % WORD_MAX,
    word2: 0,
    word3: (index * 40_503) % WORD_MAX,
  };
}

const ADDRESSES = Array.from({ length: ADDRESS_COUNT }, (_, index) => addressOf(index));

type Step =
  | { type: 'findOrAdd'; start: number; count: number }
  | { type: 'hide' | 'commit' | 'rollback' };

const randomStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: findOrAddOf(15) },
  { weight: 3, arbitrary: findOrAddOf(300) },
  { weight: 1, arbitrary: fc.constant({ type: 'hide' } as const) },
  { weight: 2, arbitrary: fc.constant({ type: 'commit' } as const) },
  { weight: 2, arbitrary: fc.constant({ type: 'rollback' } as const) },
);

function findOrAddOf(max: number): fc.Arbitrary<Step> {
  return fc.record({
    type: fc.constant('findOrAdd' as const),
    start: fc.nat(ADDRESS_COUNT - 1),
    count: fc.integer({ min: 1, max }),
  });
}

/** A book with the first addresses, as it is after loading a snapshot. */
function loadBook(count: number): AddressBook {
  const source = new AddressBook();
  for (const address of ADDRESSES.slice(0, count)) source.findOrAdd(address);
  const table = new Table(count + 1);
  table.cells.set(source.table.cells);
  return new AddressBook(table);
}

/** A book and its naive twin: a Map from addresses to rows, copied whole at every commit. */
class TwinBooks {
  readonly #book: AddressBook;
  #rows: Map<Address, number>;
  #committed: ReadonlyMap<Address, number>;

  constructor(loadedCount: number) {
    this.#book = loadBook(loadedCount);
    const loaded = ADDRESSES.slice(0, loadedCount);
    this.#rows = new Map(loaded.map((address, index) => [address, index + 1]));
    this.#committed = new Map(this.#rows);
  }

  run(step: Step): void {
    if (step.type === 'findOrAdd') this.#findOrAdd(step.start, step.count);
    else this[step.type]();
  }

  #findOrAdd(start: number, count: number): void {
    for (let index = start; index < start + count; index++) {
      const address = ADDRESSES[index % ADDRESS_COUNT];
      const row = this.#rows.get(address) ?? this.#rows.size + 1;
      assert.equal(this.#book.findOrAdd(address), row);
      this.#rows.set(address, row);
    }
  }

  hide(): void {
    this.#book.hide();
    this.#checkFinds(this.#committed);
    this.#book.reveal();
  }

  commit(): void {
    this.#book.commit();
    this.#committed = new Map(this.#rows);
  }

  rollback(): void {
    this.#book.rollback();
    this.#rows = new Map(this.#committed);
  }

  check(): void {
    this.#checkFinds(this.#rows);
    for (const [address, row] of this.#rows) assert.deepEqual(this.#book.addressOf(row), address);
  }

  #checkFinds(rows: ReadonlyMap<Address, number>): void {
    for (const address of ADDRESSES) assert.equal(this.#book.find(address), rows.get(address) ?? 0);
  }
}

test(`an index that grows finds what a Map finds ${SEED_NOTE}`, () => {
  const loadedCount = fc.constantFrom(...LOADED_COUNTS);
  const steps = fc.array(randomStep, { maxLength: STEPS_MAX, size: 'max' });
  fc.assert(
    fc.property(loadedCount, steps, (count, all) => {
      const twins = new TwinBooks(count);
      for (const step of all) {
        twins.run(step);
        twins.check();
      }
    }),
    runs(RUNS),
  );
});

test('a block that is rolled back at any moment of growth leaves nothing in either index', () => {
  const [committedCount, blockMax] = [20, 130];
  for (let blockCount = 1; blockCount <= blockMax; blockCount++) {
    const twins = new TwinBooks(committedCount);
    twins.run({ type: 'findOrAdd', start: committedCount, count: blockCount });
    twins.rollback();
    twins.check();
    // Enough for the switch, but not for a second growth, which would mend what the first one lost.
    twins.run({ type: 'findOrAdd', start: 1000, count: 150 });
    twins.check();
  }
});

test('an address of zeros is not taken for a row that was rolled back', () => {
  const zeros = addressOf(0);
  const [, ...others] = ADDRESSES;
  const book = new AddressBook();
  const isBesideZeros = (address: Address) => hashAddress(address) % 512 < 8;
  const beside = others.filter(isBesideZeros);
  assert.ok(beside.length >= 8, 'enough addresses for the slots that zeros would take');
  // The first block ends while the larger index has these rows, the second one after the switch to it.
  const elsewhere = others.filter((address) => !isBesideZeros(address));
  const first = [...beside, ...elsewhere].slice(0, 133);
  for (const block of [first, elsewhere.slice(1000, 1200)]) {
    for (const address of block) book.findOrAdd(address);
    book.rollback();
  }
  assert.equal(book.find(zeros), 0);
  assert.equal(book.findOrAdd(zeros), 1);
});

test('an address of zeros is not taken for the only row of a block that was rolled back', () => {
  const zeros = addressOf(0);
  const book = new AddressBook();
  const isInSlotOfZeros = (address: Address) => hashAddress(address) % 256 === hashAddress(zeros);
  const [, inSlot = assert.fail()] = ADDRESSES.filter(isInSlotOfZeros);
  book.findOrAdd(inSlot);
  book.rollback();
  book.findOrAdd(zeros);
  assert.equal(book.find(zeros), 1);
});

for (const word of ['word0', 'word1', 'word2', 'word3'] as const) {
  test(`addresses in one slot that differ in ${word} alone are told apart`, () => {
    const first: Address = { word0: 1, word1: 2, word2: 3, word3: 4 };
    const slot = hashAddress(first) % 256;
    let second: Address;
    for (let value = 5; ; value++) {
      second = { ...first, [word]: value };
      if (hashAddress(second) % 256 === slot) break;
    }
    const book = new AddressBook();
    assert.deepEqual(
      [first, second].map((address) => book.findOrAdd(address)),
      [1, 2],
    );
    assert.deepEqual(
      [first, second].map((address) => book.find(address)),
      [1, 2],
    );
  });
}

/** Counts the addresses that are read whole: looking one up reads the first word of no other. */
class CountingTable extends Table {
  addressesRead = 0;

  override get(row: number, column: number): number {
    if (column === 0) this.addressesRead++;
    return super.get(row, column);
  }
}

test('an added address puts a bounded number of rows into the larger index', () => {
  const table = new CountingTable();
  const book = new AddressBook(table);
  const counts = ADDRESSES.map((address) => {
    table.addressesRead = 0;
    book.findOrAdd(address);
    return table.addressesRead;
  });
  assert.equal(Math.max(...counts), GROWTH_STEP_ROWS);
  // Each time the index doubles, all rows are put into it: one and a half times as many as there are in the end.
  const sum = counts.reduce((total, count) => total + count, 0);
  assert.ok(sum <= 1.5 * ADDRESS_COUNT, `${sum} rows were put into a larger index`);
});

/**
 * The versions of an account: the contents of its rows after each block that changed the rows.
 *
 * Consecutive versions are packed together. The first version of a pack is written as its
 * difference from an account of zeros. Each later version is written as its difference from the
 * previous version: a fill takes about 25 bytes.
 */

import { add, type Exact, subtract } from '../../exact/decimal.ts';
import type { AccountId, ArchiveEntry } from './archive-tables.ts';
import { ARCHIVED_CELLS, CELL, PositionCells } from './position-cells.ts';
import { PackedReader, PackedWriter } from './record-encoding.ts';

/** The place of each amount in `AccountVersion.amounts`. */
export const AMOUNT = {
  cash: 0,
  orderMargin: 1,
  collateral: 2,
  /** The time of the last complete read of the account; 0 if it was never read. */
  readTime: 3,
  /**
   * Transfers in minus transfers out, plus the value of the account at the start of its history.
   */
  netTransfers: 4,
  /** The sum of size times price over all fills. */
  volume: 5,
} as const;
const AMOUNT_COUNT = 6;

/** The bit after the bits of the amounts. It is set if positions have changed too. */
const HAS_POSITIONS = 1 << AMOUNT_COUNT;

/** The types of events that change positions. The causes of a change have one bit for each type. */
export const CHANGE_CAUSES = ['fill', 'funding', 'isolatedMargin', 'leverage', 'account'] as const;
export type ChangeCause = (typeof CHANGE_CAUSES)[number];

export function causeBit(cause: ChangeCause): number {
  return 1 << CHANGE_CAUSES.indexOf(cause);
}

export class AccountVersion {
  height = 0;
  readonly amounts: Exact[] = new Array(AMOUNT_COUNT).fill(0);
  readonly positions = new PositionCells();

  /**
   * Returns why the position differs from the previous version, as bits of causes; returns 0 if the
   * position does not differ, or if no cause is known.
   */
  causesOf(position: number): number {
    const { cells } = this.positions;
    return cells[position + CELL.changedAt] === this.height ? cells[position + CELL.causes] : 0;
  }
}

/** Packs a version as its difference from an account of zeros. */
export function packWhole(out: PackedWriter, version: AccountVersion): void {
  const { height, amounts, positions } = version;
  const { cells, starts } = positions;
  const mask = maskOf(amounts, NO_AMOUNTS) | (starts.length === 0 ? 0 : HAS_POSITIONS);
  packHead(out, height, mask, amounts, NO_AMOUNTS);
  if (starts.length === 0) return;
  out.whole(starts.length);
  for (const start of starts) {
    const archived = positions.archivedCells(start);
    packPosition(out, cells[start + CELL.market], version.causesOf(start));
    packCells(out, maskOf(archived, NO_CELLS), archived, NO_CELLS);
  }
}

const NO_AMOUNTS: readonly Exact[] = new Array(AMOUNT_COUNT).fill(0);
const NO_CELLS: readonly number[] = new Array(ARCHIVED_CELLS).fill(0);

/**
 * Returns a mask with one bit for each value that differs from the value in `before`, where the
 * values begin at `start`.
 */
function maskOf(after: readonly Exact[], before: readonly Exact[], start = 0): number {
  let mask = 0;
  for (let index = 0; index < after.length; index++) {
    if (after[index] !== before[start + index]) mask |= 1 << index;
  }
  return mask;
}

function packHead(
  out: PackedWriter,
  heights: number,
  mask: number,
  after: readonly Exact[],
  before: readonly Exact[],
): void {
  out.whole(heights);
  out.byte(mask);
  packDifferences(out, mask, after, before);
}

function packDifferences(
  out: PackedWriter,
  mask: number,
  after: readonly Exact[],
  before: readonly Exact[],
  start = 0,
): void {
  for (let index = 0; index < after.length; index++) {
    if (mask & (1 << index)) out.signed(subtract(after[index], before[start + index]));
  }
}

function packPosition(out: PackedWriter, market: number, causes: number): void {
  out.whole(market);
  out.byte(causes);
}

function packCells(
  out: PackedWriter,
  mask: number,
  after: readonly number[],
  before: readonly number[],
  start = 0,
): void {
  out.byte(mask);
  packDifferences(out, mask, after, before, start);
}

/**
 * Turns a version into the next version, value by value, and packs the differences. One object is
 * used for all changes, because millions of changes are packed.
 */
export class VersionChange {
  readonly amounts: Exact[] = new Array(AMOUNT_COUNT).fill(0);
  readonly cells: number[] = new Array(ARCHIVED_CELLS).fill(0);
  readonly #positions = new PackedWriter();
  #version = new AccountVersion();
  #height = 0;
  #changedCount = 0;

  /** Begins a change of the account's last version. `height` is the height of the next version. */
  begin(version: AccountVersion, height: number): void {
    this.#version = version;
    this.#height = height;
    this.#changedCount = 0;
    this.#positions.clear();
  }

  /**
   * Notes a change of a position of the version. The new cells are in `cells`. Call this for the
   * positions in the order of their markets.
   */
  putPosition(start: number, causes: number): void {
    const known = this.#version.positions.cells;
    const mask = maskOf(this.cells, known, start);
    if (mask === 0) return;
    this.#changedCount++;
    packPosition(this.#positions, known[start + CELL.market], causes);
    packCells(this.#positions, mask, this.cells, known, start);
    known[start + CELL.causes] = causes;
    known[start + CELL.changedAt] = this.#height;
    for (let index = 0; index < ARCHIVED_CELLS; index++) known[start + index] = this.cells[index];
  }

  /**
   * Takes the new amounts from `amounts`, and packs the changes into `out`, if given. Returns false
   * if nothing has changed.
   */
  end(out: PackedWriter | undefined): boolean {
    const version = this.#version;
    const changed = maskOf(this.amounts, version.amounts);
    if (changed === 0 && this.#changedCount === 0 && version.height !== 0) return false;
    if (out !== undefined) this.#pack(out, changed);
    version.height = this.#height;
    for (let index = 0; index < AMOUNT_COUNT; index++) version.amounts[index] = this.amounts[index];
    return true;
  }

  #pack(out: PackedWriter, changedAmounts: number): void {
    const version = this.#version;
    const mask = changedAmounts | (this.#changedCount === 0 ? 0 : HAS_POSITIONS);
    packHead(out, this.#height - version.height, mask, this.amounts, version.amounts);
    if (this.#changedCount === 0) return;
    out.whole(this.#changedCount);
    out.append(this.#positions);
  }
}

function describePack({ addressRow, dexIndex }: AccountId): string {
  return `a pack of versions of the account of address ${addressRow} on dex ${dexIndex}`;
}

/** The numbers of reads, which determine the cost of a question. */
export interface ReadCount {
  marks: number;
  changes: number;
}

/** Reads a pack, version by version. */
export class VersionReader {
  readonly #in: PackedReader;
  /** The version that was read last. Reading the next version changes this object. */
  readonly version = new AccountVersion();
  /** The starts of the cells of positions whose changes were read and not taken yet. */
  readonly #changed: number[] = [];
  readonly #reads: ReadCount | undefined;
  #nextHeight = 0;

  /** The numbers of reads are added to `reads`. */
  constructor(id: AccountId, { key, record }: ArchiveEntry, reads?: ReadCount) {
    this.#reads = reads;
    this.#in = new PackedReader(record, key, describePack(id));
    this.#readHeight();
  }

  /** The number of bytes of the pack that have been read. */
  get offset(): number {
    return this.#in.offset;
  }

  /** The height of the version that `next` would read; Infinity after the last version. */
  get nextHeight(): number {
    return this.#nextHeight;
  }

  #readHeight(): void {
    this.#nextHeight = this.#in.isAtEnd
      ? Number.POSITIVE_INFINITY
      : this.version.height + this.#in.whole();
  }

  next(): AccountVersion {
    const { version } = this;
    version.height = this.#nextHeight;
    const mask = this.#in.byte();
    for (let index = 0; index < AMOUNT_COUNT; index++) {
      if (mask & (1 << index)) {
        version.amounts[index] = add(version.amounts[index], this.#in.signed());
      }
    }
    const changed = mask & HAS_POSITIONS ? this.#in.whole() : 0;
    for (let count = changed; count > 0; count--) this.#readPosition();
    if (this.#reads !== undefined) this.#reads.changes += 1 + changed;
    this.#readHeight();
    return version;
  }

  #readPosition(): void {
    const { height, positions } = this.version;
    const { cells } = positions;
    const start = positions.findOrAdd(this.#in.whole());
    cells[start + CELL.changedAt] = height;
    cells[start + CELL.causes] = this.#in.byte();
    if (cells[start + CELL.isRead] === 0) {
      cells[start + CELL.isRead] = 1;
      this.#changed.push(start);
    }
    const mask = this.#in.byte();
    for (let index = 0; index < ARCHIVED_CELLS; index++) {
      if (mask & (1 << index)) {
        cells[start + index] = Number(add(cells[start + index], this.#in.signed()));
      }
    }
  }

  /** Calls `take` for each position that was read since the last call. */
  takeChanged(take: (cells: number[], start: number) => void): void {
    const { cells } = this.version.positions;
    for (const start of this.#changed) {
      cells[start + CELL.isRead] = 0;
      take(cells, start);
    }
    this.#changed.length = 0;
  }

  /** Reads up to the last version that is not later than the height, and returns this version. */
  skipTo(height: number): AccountVersion {
    while (this.#nextHeight <= height) this.next();
    return this.version;
  }
}

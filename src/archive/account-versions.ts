/**
 * The versions of an account: what its rows held after each block that changed them.
 *
 * Consecutive versions are packed together. The first of a pack is written as its difference from an
 * account of zeros, each later one as its difference from the one before: a fill takes about 25 bytes.
 */

import { add, type Exact, subtract } from '../exact/decimal.ts';
import type { AccountId } from './archive-tables.ts';
import { PackedReader, type PackedWriter } from './packed.ts';

/** The place of each amount in `AccountVersion.amounts`. */
export const AMOUNT = {
  cash: 0,
  orderMargin: 1,
  collateral: 2,
  /** When the account was last read as a whole; 0 if it never was. */
  readTime: 3,
  /** Transfers in less transfers out, and what the account was worth when its history begins. */
  netTransfers: 4,
  /** Size times price of all fills. */
  volume: 5,
} as const;
const AMOUNT_COUNT = 6;

/** The place of each cell in `PositionVersion.cells`. */
export const CELL = {
  /** Twice the leverage, and one more if the position is isolated. */
  leverage: 0,
  size: 1,
  entryNotional: 2,
  rawUsd: 3,
  fundingAllTime: 4,
  fundingSinceOpen: 5,
  fundingSinceChange: 6,
} as const;
const CELL_COUNT = 7;

/** After the bits of the amounts: positions have changed too. */
const HAS_POSITIONS = 1 << AMOUNT_COUNT;

/** Why a position changed: the types of events of the block, one bit each. */
export const CHANGE_CAUSES = ['fill', 'funding', 'isolatedMargin', 'leverage', 'account'] as const;
export type ChangeCause = (typeof CHANGE_CAUSES)[number];

export function causeBit(cause: ChangeCause): number {
  return 1 << CHANGE_CAUSES.indexOf(cause);
}

export interface PositionVersion {
  readonly market: number;
  readonly cells: number[];
  /** The causes of this version's change; 0 if the version before had the same position. */
  causes: number;
}

export class AccountVersion {
  height = 0;
  readonly amounts: Exact[] = new Array(AMOUNT_COUNT).fill(0);
  /** Also closed ones, by ascending market. */
  readonly positions: PositionVersion[] = [];

  /** The position in a market; one of zeros is added where there is none. */
  position(market: number): PositionVersion {
    const { positions } = this;
    let index = positions.length;
    while (index > 0 && positions[index - 1].market > market) index--;
    const found = positions[index - 1];
    if (found?.market === market) return found;
    const added = { market, cells: new Array<number>(CELL_COUNT).fill(0), causes: 0 };
    positions.splice(index, 0, added);
    return added;
  }
}

/** Whether the later version differs; the first one does from none, even if it holds only zeros. */
export function hasChanged(before: AccountVersion, after: AccountVersion): boolean {
  return (
    before.height === 0 ||
    before.amounts.some((amount, index) => amount !== after.amounts[index]) ||
    after.positions.some((position) => hasPositionChanged(before, position))
  );
}

/** Packs the change from one version to the next. */
export function packChange(out: PackedWriter, before: AccountVersion, after: AccountVersion): void {
  const changed = after.positions.filter((position) => hasPositionChanged(before, position));
  let mask = changed.length === 0 ? 0 : HAS_POSITIONS;
  for (let index = 0; index < AMOUNT_COUNT; index++) {
    if (before.amounts[index] !== after.amounts[index]) mask |= 1 << index;
  }
  out.whole(after.height - before.height);
  out.byte(mask);
  for (let index = 0; index < AMOUNT_COUNT; index++) {
    if (mask & (1 << index)) out.signed(subtract(after.amounts[index], before.amounts[index]));
  }
  if (changed.length === 0) return;
  out.whole(changed.length);
  for (const position of changed) packPosition(out, positionIn(before, position.market), position);
}

function positionIn(version: AccountVersion, market: number): PositionVersion | undefined {
  return version.positions.find((position) => position.market === market);
}

function hasPositionChanged(before: AccountVersion, { market, cells }: PositionVersion): boolean {
  const found = positionIn(before, market);
  return found === undefined || cells.some((cell, index) => cell !== found.cells[index]);
}

function packPosition(
  out: PackedWriter,
  before: PositionVersion | undefined,
  { market, cells, causes }: PositionVersion,
): void {
  out.whole(market);
  out.byte(causes);
  let mask = 0;
  for (let index = 0; index < CELL_COUNT; index++) {
    if ((before?.cells[index] ?? 0) !== cells[index]) mask |= 1 << index;
  }
  out.byte(mask);
  for (let index = 0; index < CELL_COUNT; index++) {
    if (mask & (1 << index)) out.signed(subtract(cells[index], before?.cells[index] ?? 0));
  }
}

export function describePack({ addressRow, dexIndex }: AccountId): string {
  return `a pack of versions of the account of address ${addressRow} on dex ${dexIndex}`;
}

/** Reads a pack, version by version. */
export class VersionReader {
  readonly #in: PackedReader;
  /** The version that was read last; changed by the next one that is read. */
  readonly version = new AccountVersion();
  #nextHeight = 0;

  constructor(record: Buffer, what: string) {
    this.#in = new PackedReader(record, what);
    this.#readHeight();
  }

  /** How many bytes of the pack have been read. */
  get offset(): number {
    return this.#in.offset;
  }

  /** The height of the version that `next` would read; Infinity after the last. */
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
    for (const position of version.positions) position.causes = 0;
    version.height = this.#nextHeight;
    const mask = this.#in.byte();
    for (let index = 0; index < AMOUNT_COUNT; index++) {
      if (mask & (1 << index)) {
        version.amounts[index] = add(version.amounts[index], this.#in.signed());
      }
    }
    if (mask & HAS_POSITIONS) {
      for (let count = this.#in.whole(); count > 0; count--) this.#readPosition();
    }
    this.#readHeight();
    return version;
  }

  #readPosition(): void {
    const position = this.version.position(this.#in.whole());
    position.causes = this.#in.byte();
    const mask = this.#in.byte();
    for (let index = 0; index < CELL_COUNT; index++) {
      if (mask & (1 << index)) {
        position.cells[index] = Number(add(position.cells[index], this.#in.signed()));
      }
    }
  }

  /** Reads on to the last version that is not later than the height. */
  skipTo(height: number): AccountVersion {
    while (this.#nextHeight <= height) this.next();
    return this.version;
  }
}

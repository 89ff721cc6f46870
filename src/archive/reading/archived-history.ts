/** Implements the interface through which questions read the past, with an archive. */

import type { Address } from '../../exact/address.ts';
import type {
  AccountSums,
  ArchiveReads,
  HistoryRange,
  HistoryView,
  PastView,
  PositionChange,
  ReducedPosition,
  Reduction,
} from '../../info/archive/history-view.ts';
import type { AccountSubject } from '../../info/question-subject.ts';
import { type AccountVersion, CHANGE_CAUSES, causeBit } from '../records/account-versions.ts';
import { describeRange, hasSeen, isImage } from '../records/archive-range.ts';
import { CELL, unpackLeverage } from '../records/position-cells.ts';
import type { Archive } from './archive.ts';
import { NO_SUMS, PastState, sumsOf } from './past-state.ts';

export class ArchivedHistory implements HistoryView {
  readonly #archive: Archive;

  constructor(archive: Archive) {
    this.#archive = archive;
  }

  get ledgerId(): string {
    return this.#archive.range.ledgerId;
  }

  get reads(): ArchiveReads {
    return this.#archive.reads;
  }

  range(): HistoryRange {
    const { range } = this.#archive;
    const { first, head } = range;
    return {
      first,
      firstTime: this.#archive.firstTime(),
      last: head.height,
      lastTime: this.#archive.timeOf(head.height),
      text: describeRange(range),
    };
  }

  holds(height: number): boolean {
    return this.#archive.holds(height);
  }

  hasSeen(after: number, to: number): boolean {
    return hasSeen(this.#archive.range, after, to);
  }

  heightAt(time: number): number | undefined {
    return this.#archive.heightAt(time);
  }

  timeOf(height: number): number {
    return this.#archive.timeOf(height);
  }

  markOf(market: number, height: number): number {
    return this.#archive.markOf(market, height);
  }

  at(height: number): PastView {
    return new PastState(this.#archive, height);
  }

  sumsAt(
    { user, dexIndex }: { readonly user: Address; readonly dexIndex: number },
    height: number,
  ): AccountSums {
    const known = this.#archive.findAddress(user);
    const version = known && this.#archive.accountAt(known.row, dexIndex, height);
    return version === undefined ? NO_SUMS : sumsOf(version);
  }

  nextChange({ user, dexIndex }: AccountSubject, height: number): number | undefined {
    const known = this.#archive.findAddress(user);
    if (known === undefined) return undefined;
    const later = { from: height + 1, to: this.#archive.range.head.height };
    for (const version of this.#archive.versionsOf(known.row, dexIndex, later)) {
      return version.height;
    }
    return undefined;
  }

  dexesOf(user: Address): readonly number[] {
    return this.#archive.findAddress(user)?.dexes ?? [];
  }

  *positionChanges(
    { user, dexIndex }: { readonly user: Address; readonly dexIndex: number },
    market: number,
    { from, to }: { readonly from: number; readonly to: number },
  ): Iterable<PositionChange | undefined> {
    const known = this.#archive.findAddress(user);
    if (known === undefined) return;
    for (const version of this.#archive.versionsOf(known.row, dexIndex, { from, to })) {
      // An image contains the whole state, which the block of the image has not changed. Earlier
      // versions of perpinfo noted the whole state as changed.
      const isNoted = isImage(this.#archive.range, version.height);
      yield isNoted ? undefined : describeChange(version, market);
    }
  }

  *reductions(
    { user, dexIndex }: { readonly user: Address; readonly dexIndex: number },
    { from, to }: { readonly from: number; readonly to: number },
  ): Iterable<Reduction | undefined> {
    const known = this.#archive.findAddress(user);
    if (known === undefined) return;
    const sizes = new SizesSeen(this.#archive.accountAt(known.row, dexIndex, from - 1));
    for (const version of this.#archive.versionsOf(known.row, dexIndex, { from, to })) {
      const positions = sizes.takeReduced(version);
      yield positions.length === 0 ? undefined : { height: version.height, positions };
    }
  }
}

/**
 * Returns how a version changed the position in a market; returns undefined if it did not change
 * the position.
 */
function describeChange(version: AccountVersion, market: number): PositionChange | undefined {
  const start = version.positions.find(market);
  const causes = start === -1 ? 0 : version.causesOf(start);
  if (causes === 0) return undefined;
  const cells = version.positions.archivedCells(start);
  const { leverage, isIsolated } = unpackLeverage(cells[CELL.leverage]);
  return {
    height: version.height,
    size: cells[CELL.size],
    entryNotional: cells[CELL.entryNotional],
    leverage,
    isIsolated,
    fundingSinceOpen: cells[CELL.fundingSinceOpen],
    causes: CHANGE_CAUSES.filter((cause) => causes & causeBit(cause)),
  };
}

/** The sizes of an account's positions, from version to version. */
class SizesSeen {
  readonly #sizes = new Map<number, number>();

  constructor(version: AccountVersion | undefined) {
    if (version === undefined) return;
    const { starts, cells } = version.positions;
    for (const start of starts) {
      this.#sizes.set(cells[start + CELL.market], cells[start + CELL.size]);
    }
  }

  /**
   * Reads the sizes of the next version, and returns the positions that became smaller or flipped.
   */
  takeReduced(version: AccountVersion): ReducedPosition[] {
    const reduced: ReducedPosition[] = [];
    const { starts, cells } = version.positions;
    for (const start of starts) {
      // Positions of an image are included, although they have no cause.
      if (cells[start + CELL.changedAt] !== version.height) continue;
      const market = cells[start + CELL.market];
      const before = this.#sizes.get(market) ?? 0;
      const after = cells[start + CELL.size];
      this.#sizes.set(market, after);
      if (isReduced(before, after)) reduced.push({ market, before, after });
    }
    return reduced;
  }
}

function isReduced(before: number, after: number): boolean {
  return before > 0 ? after < before : after > before && before !== 0;
}

/** The interface through which questions read the past. The archive implements it. */

import type { Address } from '../../exact/address.ts';
import type { Exact } from '../../exact/decimal.ts';
import type { StateView } from '../../state/state.ts';
import type { AccountSubject, QuestionSubject } from '../question-subject.ts';

/** The heights that the archive has, and the first and the last time of their blocks. */
export interface HistoryRange {
  readonly first: number;
  readonly firstTime: number;
  readonly last: number;
  readonly lastTime: number;
  /** The heights in words, for refusals: "heights 1 to 500". */
  readonly text: string;
}

/**
 * Counters of all reads. The reads of one question are the difference between two values of a
 * counter.
 */
export interface ArchiveReads {
  /**
   * The number of mark prices that were read: one for each market, and one each time that an open
   * position was valued.
   */
  readonly marks: number;
  /** The number of changes of accounts and positions that were read. */
  readonly changes: number;
}

/** Sums over the events of an account. The state does not contain these sums. */
export interface AccountSums {
  /**
   * Transfers in minus transfers out, plus the value of the account at the start of its history.
   */
  readonly netTransfers: Exact;
  /** The sum of size times price over all fills. */
  readonly volume: Exact;
}

/** The state at a height, with the rows that were loaded into it. */
export interface PastView {
  readonly state: StateView;
  load(subject: QuestionSubject): void;
  /**
   * Loads the mark prices of all markets. Without this call, only markets of open positions have
   * mark prices.
   */
  loadMarks(): void;
  /** Ends the use of the state, so that another question can reuse its tables. */
  release(): void;
  /**
   * Loads the mark prices of another height for the loaded accounts, and leaves the accounts as
   * they are.
   */
  revalueAt(height: number): void;
  /** Moves the loaded accounts to a later height. Delegations are not moved. */
  moveTo(height: number): void;
  /** The sums of a loaded account; zeros if the account did not exist. */
  sumsOf(user: Address, dexIndex: number): AccountSums;
}

/** A position after a block that changed it. */
export interface PositionChange {
  readonly height: number;
  readonly size: number;
  readonly entryNotional: number;
  readonly isIsolated: boolean;
  readonly leverage: number;
  readonly fundingSinceOpen: number;
  /** The types of the events that changed the position. */
  readonly causes: readonly string[];
}

/** A position that a block has closed, made smaller, or flipped. */
export interface ReducedPosition {
  readonly market: number;
  readonly before: number;
  readonly after: number;
}

/** All positions of an account that a block has closed, made smaller, or flipped. */
export interface Reduction {
  readonly height: number;
  readonly positions: readonly ReducedPosition[];
}

export interface HistoryView {
  /** The id of the ledger whose past this is. */
  readonly ledgerId: string;
  readonly reads: ArchiveReads;
  range(): HistoryRange;
  holds(height: number): boolean;
  /** True if the archive has seen all events after the height `after`, up to the height `to`. */
  hasSeen(after: number, to: number): boolean;
  /**
   * The last height whose block is not later than the time; undefined if the first block is later.
   */
  heightAt(time: number): number | undefined;
  timeOf(height: number): number;
  /** A market's mark price at a height. */
  markOf(market: number, height: number): number;
  at(height: number): PastView;
  /**
   * Returns the sums of an account after the block at `height`, which may also be the height before
   * the archive's first height. Returns zeros if the account did not exist.
   */
  sumsAt(
    account: { readonly user: Address; readonly dexIndex: number },
    height: number,
  ): AccountSums;
  /** The first height after `height` that changed the account; undefined if there is none. */
  nextChange(account: AccountSubject, height: number): number | undefined;
  /** The dexes, by index, on which the user has ever had an account. */
  dexesOf(user: Address): readonly number[];
  /**
   * Yields the changes of a position by the blocks at these heights, in order. For each other
   * change of the account, yields undefined: there may be many changes, and the work may pause
   * after each of them.
   */
  positionChanges(
    account: { readonly user: Address; readonly dexIndex: number },
    market: number,
    heights: { readonly from: number; readonly to: number },
  ): Iterable<PositionChange | undefined>;
  /**
   * Yields the blocks at these heights that made positions smaller, and undefined for each other
   * change of the account.
   */
  reductions(
    account: { readonly user: Address; readonly dexIndex: number },
    heights: { readonly from: number; readonly to: number },
  ): Iterable<Reduction | undefined>;
}

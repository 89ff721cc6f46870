/** The past, as questions see it; the archive implements it. */

import type { Address } from '../../exact/address.ts';
import type { Exact } from '../../exact/decimal.ts';
import type { StateView } from '../../state/state.ts';
import type { QuestionSubject } from '../question-subject.ts';

/** The heights that are kept, and the first and the last time of their blocks; a time of 0 is none. */
export interface HistoryRange {
  readonly first: number;
  readonly firstTime: number;
  readonly last: number;
  readonly lastTime: number;
  /** In words, for refusals: "heights 1 to 500". */
  readonly text: string;
}

/** What has been read so far, for all questions: what one of them read is the difference. */
export interface ArchiveReads {
  /** Marks of open positions, each time that they were valued, and of markets. */
  readonly marks: number;
  /** A block's changes of an account and of its positions, each one counted. */
  readonly changes: number;
}

/** What only the account's events tell. */
export interface AccountSums {
  /** Transfers in less transfers out, and what the account was worth when its history begins. */
  readonly netTransfers: Exact;
  /** Size times price of all fills. */
  readonly volume: Exact;
}

/** The state at a height, with the rows that were loaded into it. */
export interface PastView {
  readonly state: StateView;
  load(subject: QuestionSubject): void;
  /** Loads the mark prices of all markets, not only of those in which loaded accounts are open. */
  loadMarks(): void;
  /** The state is no longer used, so that its tables may be used again. */
  release(): void;
  /** Takes the mark prices of another height for the loaded accounts; their rows stay. */
  revalueAt(height: number): void;
  /** Goes on to a later height, with the same accounts; delegations stay those of the first one. */
  moveTo(height: number): void;
  /** Of a loaded account; zeros if it did not exist. */
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
  /** The types of the events that changed it. */
  readonly causes: readonly string[];
}

/** A position that a block has closed, made smaller, or turned around. */
export interface ReducedPosition {
  readonly market: number;
  readonly before: number;
  readonly after: number;
}

/** All such positions of an account in a block. */
export interface Reduction {
  readonly height: number;
  readonly positions: readonly ReducedPosition[];
}

export interface HistoryView {
  /** The name of the ledger that it is of. */
  readonly ledgerId: string;
  readonly reads: ArchiveReads;
  range(): HistoryRange;
  holds(height: number): boolean;
  /** Whether the events of all blocks after one height, up to another, were seen. */
  hasSeen(after: number, to: number): boolean;
  /** The last height whose block is not later; undefined if even the first one is. */
  heightAt(time: number): number | undefined;
  timeOf(height: number): number;
  /** A market's mark price at a height. */
  markOf(market: number, height: number): number;
  at(height: number): PastView;
  /** Of an account after a height, or before the first one that is kept; zeros if it did not exist. */
  sumsAt(
    account: { readonly user: Address; readonly dexIndex: number },
    height: number,
  ): AccountSums;
  /** The dexes, by index, on which the user has ever had an account. */
  dexesOf(user: Address): readonly number[];
  /**
   * The changes of a position in blocks from one height to another, in order. Undefined for each change of
   * the account that did not concern the position: there may be many, and work may pause there.
   */
  positionChanges(
    account: { readonly user: Address; readonly dexIndex: number },
    market: number,
    heights: { readonly from: number; readonly to: number },
  ): Iterable<PositionChange | undefined>;
  /** The blocks of these heights that made positions smaller; undefined as above. */
  reductions(
    account: { readonly user: Address; readonly dexIndex: number },
    heights: { readonly from: number; readonly to: number },
  ): Iterable<Reduction | undefined>;
}

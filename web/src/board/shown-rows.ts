/**
 * The rows as the page shows them. The order and the sums are computed from the shown rows, not
 * from the newest answers.
 */

import {
  type AmountChange,
  type BoardFigures,
  changeBetween,
  nextUnlockOf,
} from '../figures/board-figures.ts';
import type { SortedRow } from '../figures/board-sort.ts';
import { formatDecimal, sum } from '../figures/decimal.ts';
import { type LevelOrUnknown, worstLevel } from '../figures/risk-levels.ts';
import { type AddressBook, nameOf } from '../view/address-book.ts';
import { ledgerNow } from '../view/selectors.ts';
import type { View } from '../view/store.ts';
import type { BoardRows, RowState } from './board-rows.ts';

export interface ShownRow {
  readonly state: RowState;
  readonly figures: BoardFigures | undefined;
  /** The change of the value since the day started; undefined until both values are known. */
  readonly change: AmountChange | undefined;
  /** The time when the next stake is unlocked; undefined if none is locked. */
  readonly unlockTime: number | undefined;
  /** The time of the ledger when the row was drawn. */
  readonly nowMs: number;
  readonly ageMs: number;
}

export class ShownRows {
  readonly #rows: BoardRows;
  readonly #shown = new Map<string, ShownRow>();

  constructor(rows: BoardRows) {
    this.#rows = rows;
  }

  /**
   * Stores and returns the row with its newest figures; returns undefined if the account is not
   * watched.
   */
  take(user: string, view: View): ShownRow | undefined {
    const state = this.#rows.get(user);
    if (state === undefined) return undefined;
    const figures = this.#rows.figuresOf(user);
    const { dayStart, stakes } = state;
    const nowMs = ledgerNow(view);
    const row = {
      state,
      figures,
      change: figures && dayStart && changeBetween(dayStart.value, figures.value),
      unlockTime: nextUnlockOf(stakes?.value ?? [], nowMs)?.lockedUntilTimestamp,
      nowMs,
      ageMs: this.#rows.ageMsOf(user, view),
    };
    this.#shown.set(user, row);
    return row;
  }

  /** Returns the row that `take` returned last. */
  readonly last = (user: string): ShownRow | undefined => this.#shown.get(user);

  /** Returns the figures by which the rows of these accounts are sorted. */
  sortable(users: readonly string[], book: AddressBook): SortedRow[] {
    return users.map((user) => {
      const { figures, change, unlockTime } = this.#shown.get(user) ?? {};
      return { user, name: nameOf(book, user), figures, change: change?.amount, unlockTime };
    });
  }

  /**
   * Returns the worst level of these accounts. An account is not called safe if it is missing or
   * old.
   */
  worstOf(users: readonly string[]): LevelOrUnknown {
    return worstLevel(users.map((user) => levelOfRow(this.#shown.get(user))));
  }

  sum(users: readonly string[]): BoardSum {
    const rows = users.flatMap((user) => this.#shown.get(user) ?? []);
    const known = rows.flatMap(({ figures }) => figures ?? []);
    const heights = rows.flatMap(({ state }) => state.account?.height ?? []);
    const changes = rows.flatMap(({ change }) => change?.amount ?? []);
    const total = (pick: (figures: BoardFigures) => string) => sumOf(known.map(pick));
    return {
      known: known.length,
      value: total(({ value }) => value),
      change: changes.length === 0 ? undefined : sumOf(changes),
      long: total(({ long }) => long),
      short: total(({ short }) => short),
      net: total(({ net }) => net),
      unrealizedPnl: total(({ unrealizedPnl }) => unrealizedPnl),
      heights: heights.length === 0 ? undefined : [Math.min(...heights), Math.max(...heights)],
    };
  }
}

export interface BoardSum {
  /** The number of accounts whose figures are in the sum. */
  readonly known: number;
  readonly value: string;
  readonly change: string | undefined;
  readonly long: string;
  readonly short: string;
  readonly net: string;
  readonly unrealizedPnl: string;
  /** The lowest and the highest height of all rows; undefined if no row has a height. */
  readonly heights: readonly [lowest: number, highest: number] | undefined;
}

/** A row that is not pushed is called old above this age. */
const OLD_MS = 5_000;

export function isRowOld({ figures, state, ageMs }: ShownRow): boolean {
  return figures !== undefined && !state.isPushed && ageMs > OLD_MS;
}

function levelOfRow(row: ShownRow | undefined): LevelOrUnknown {
  if (row?.figures === undefined) return 'unknown';
  const { level } = row.figures.verdict;
  return level === 'safe' && isRowOld(row) ? 'unknown' : level;
}

function sumOf(texts: readonly string[]): string {
  return formatDecimal(sum(texts));
}

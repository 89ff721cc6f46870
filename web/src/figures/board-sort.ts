/**
 * The order of the board's rows by a column. The order does not change while the figures change.
 */

import type { BoardFigures } from './board-figures.ts';
import { type Decimal, parseDecimal, subtract } from './decimal.ts';
import { LEVELS } from './risk-levels.ts';
import { compareKeys, type SortKey } from './sort-keys.ts';

export const BOARD_COLUMN_NAMES = [
  ...(['account', 'value', 'change', 'risk', 'liquidation'] as const),
  ...(['long', 'short', 'net', 'pnl', 'unlock'] as const),
] as const;
export type BoardColumnName = (typeof BOARD_COLUMN_NAMES)[number];

export interface BoardSort {
  readonly column: BoardColumnName;
  readonly isDescending: boolean;
}

export const WORST_FIRST: BoardSort = { column: 'risk', isDescending: true };

/** The values that a row is sorted by. */
export interface SortedRow {
  readonly user: string;
  /** The label, or the shortened address if there is no label. */
  readonly name: string;
  readonly figures: BoardFigures | undefined;
  /** The change of the value since the start of the day, in USDC. */
  readonly change: string | undefined;
  /** The time at which the next stake is unlocked, in milliseconds. */
  readonly unlockTime: number | undefined;
}

const parse = (text: string | undefined): Decimal | undefined =>
  text === undefined ? undefined : parseDecimal(text);

const SORT_KEYS: Readonly<Record<BoardColumnName, (row: SortedRow) => SortKey>> = {
  account: ({ name }) => name.toLowerCase(),
  value: ({ figures }) => parse(figures?.value),
  change: ({ change }) => parse(change),
  risk: ({ figures }) => figures && riskOf(figures),
  liquidation: ({ figures }) => figures?.nearest?.share,
  long: ({ figures }) => parse(figures?.long),
  short: ({ figures }) => parse(figures?.short),
  net: ({ figures }) => parse(figures?.net),
  pnl: ({ figures }) => parse(figures?.unrealizedPnl),
  unlock: ({ unlockTime }) => parse(unlockTime?.toString()),
};

/**
 * A step between levels that is larger than any remainder before liquidation, so that the level
 * counts first.
 */
const LEVEL_STEP = 1_000_000_000;

function riskOf({ verdict }: BoardFigures): Decimal {
  const level = verdict.cause === '' ? -1 : LEVELS.indexOf(verdict.level);
  return subtract({ units: BigInt(level * LEVEL_STEP), scale: 0 }, verdict.left);
}

interface Keyed {
  readonly user: string;
  readonly key: SortKey;
}

/**
 * Sorts the rows only when a person asks for it. Accounts that are added later are inserted at
 * their place.
 */
export class BoardOrder {
  #sort = WORST_FIRST;
  #users: string[] = [];
  /**
   * The accounts that had figures in the last order. Rows without figures are last, and get their
   * place when they have figures.
   */
  #placed = new Set<string>();

  get users(): readonly string[] {
    return this.#users;
  }

  /**
   * Sorts all rows if `sort` is another object than before; otherwise inserts only the new rows.
   */
  arrange(rows: readonly SortedRow[], sort: BoardSort): readonly string[] {
    const isNew = sort !== this.#sort;
    this.#sort = sort;
    const keyed = this.#keyRows(rows);
    const byUser = new Map(keyed.map((row) => [row.user, row]));
    const unmoved = isNew ? [] : this.#users.filter((user) => this.#isSettled(byUser.get(user)));
    const settled = new Set(unmoved);
    const added = keyed.filter(({ user }) => !settled.has(user));
    added.sort((a, b) => this.#compare(a, b));
    this.#users = this.#merge(
      unmoved.flatMap((user) => byUser.get(user) ?? []),
      added,
    );
    this.#placed = new Set(keyed.filter(({ key }) => key !== undefined).map(({ user }) => user));
    return this.#users;
  }

  /**
   * Returns true if the figures have changed so much that another sort would give another order.
   */
  isOrderStale(rows: readonly SortedRow[]): boolean {
    const byUser = new Map(this.#keyRows(rows).map((row) => [row.user, row]));
    const keyed = this.#users.flatMap((user) => byUser.get(user) ?? []);
    return keyed.some((row, index) => index > 0 && this.#compare(keyed[index - 1], row) > 0);
  }

  #keyRows(rows: readonly SortedRow[]): Keyed[] {
    const keyOf = SORT_KEYS[this.#sort.column];
    return rows.map((row) => ({ user: row.user, key: keyOf(row) }));
  }

  #isSettled(row: Keyed | undefined): boolean {
    if (row === undefined) return false;
    return row.key === undefined || this.#placed.has(row.user);
  }

  #compare(a: Keyed, b: Keyed): number {
    return compareKeys(a.key, b.key, this.#sort.isDescending ? -1 : 1);
  }

  /** Inserts each new row before the first row that it must precede. */
  #merge(sorted: readonly Keyed[], added: readonly Keyed[]): string[] {
    const merged = [...sorted];
    for (const row of added) {
      const index = merged.findIndex((other) => this.#compare(row, other) < 0);
      merged.splice(index === -1 ? merged.length : index, 0, row);
    }
    return merged.map(({ user }) => user);
  }
}

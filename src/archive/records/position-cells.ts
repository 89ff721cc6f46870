/**
 * The positions of an account, side by side in one array of numbers: an archiver holds the
 * positions of many accounts, and as objects they would keep the garbage collector busy.
 */

import type { StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import {
  isIsolatedTerms,
  leverageOfTerms,
  marketOfTerms,
  tierTableOfTerms,
} from '../../state/tables/columns.ts';

/** The cells of a position, in this order. */
export const CELL = {
  /** The position's terms without its market: see packLeverage. */
  leverage: 0,
  size: 1,
  entryNotional: 2,
  rawUsd: 3,
  fundingAllTime: 4,
  fundingSinceOpen: 5,
  fundingSinceChange: 6,
  market: 7,
  /** The height of its last change that is known, and the causes of that change. */
  changedAt: 8,
  causes: 9,
  /** 1 if a change of the position was read and not taken yet. */
  isRead: 10,
  /** The row of the position in the state; 0 if it is not known. */
  row: 11,
} as const;
/** The archive stores the cells from leverage to fundingSinceChange. */
export const ARCHIVED_CELLS = 7;

/** More than twice any leverage. */
const TIER_TABLE = 2 ** 11;

interface PackedLeverage {
  readonly leverage: number;
  readonly isIsolated: boolean;
  /** The number of the position's own margin table; 0 if the market's table applies. */
  readonly tierTable: number;
}

/**
 * The cell `leverage`: twice the leverage, one more if the position is isolated, and its own table
 * above.
 */
function packLeverage({ leverage, isIsolated, tierTable }: PackedLeverage): number {
  return tierTable * TIER_TABLE + leverage * 2 + (isIsolated ? 1 : 0);
}

export function unpackLeverage(cell: number): PackedLeverage {
  const lower = cell % TIER_TABLE;
  const tierTable = Math.floor(cell / TIER_TABLE);
  return { leverage: lower >>> 1, isIsolated: lower % 2 === 1, tierTable };
}

const NEW_POSITION: readonly number[] = new Array(Object.keys(CELL).length).fill(0);

/** Puts what the state holds of a position into its cells, and returns its market. */
export function readCells(
  cells: number[],
  start: number,
  { positions }: StateView,
  row: number,
): number {
  const terms = positions.get(row, column.TERMS);
  cells[start + CELL.leverage] = packLeverage({
    leverage: leverageOfTerms(terms),
    isIsolated: isIsolatedTerms(terms),
    tierTable: tierTableOfTerms(terms),
  });
  cells[start + CELL.size] = positions.get(row, column.SIZE);
  cells[start + CELL.entryNotional] = positions.get(row, column.ENTRY_NOTIONAL);
  cells[start + CELL.rawUsd] = positions.get(row, column.RAW_USD);
  cells[start + CELL.fundingAllTime] = positions.get(row, column.FUNDING_ALL_TIME);
  cells[start + CELL.fundingSinceOpen] = positions.get(row, column.FUNDING_SINCE_OPEN);
  cells[start + CELL.fundingSinceChange] = positions.get(row, column.FUNDING_SINCE_CHANGE);
  return marketOfTerms(terms);
}

export class PositionCells {
  /** The cells of all positions. */
  readonly cells: number[] = [];
  readonly #starts: number[] = [];
  readonly #markets: number[] = [];

  /** The market of each position, ascending. */
  get markets(): readonly number[] {
    return this.#markets;
  }

  /** Where the cells of each position start, also of closed ones, by ascending market. */
  get starts(): readonly number[] {
    return this.#starts;
  }

  /** Where the cells of the position in a market start; -1 if there is none. */
  find(market: number): number {
    return this.#starts[this.#markets.indexOf(market)] ?? -1;
  }

  /**
   * Where the cells of the position in a market start. If there is no position, a position of zeros
   * is added.
   */
  findOrAdd(market: number): number {
    const markets = this.#markets;
    let end = markets.length;
    while (end > 0 && markets[end - 1] > market) end--;
    if (end > 0 && markets[end - 1] === market) return this.#starts[end - 1];
    const start = this.cells.length;
    this.cells.push(...NEW_POSITION);
    this.cells[start + CELL.market] = market;
    markets.splice(end, 0, market);
    this.#starts.splice(end, 0, start);
    return start;
  }

  /** The cells of a position that the archive stores. */
  archivedCells(start: number): number[] {
    return this.cells.slice(start, start + ARCHIVED_CELLS);
  }
}

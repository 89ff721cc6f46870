/**
 * The positions of an account, one after another in one array of numbers. An archiver has the
 * positions of many accounts in memory; as objects, they would slow down the garbage collector.
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
  /** The height of the last known change of the position, and the causes of this change. */
  changedAt: 8,
  causes: 9,
  /** 1 if a change of the position was read and not taken yet. */
  isRead: 10,
  /** The row of the position in the state; 0 if it is not known. */
  row: 11,
} as const;
/** The archive stores the cells from leverage to fundingSinceChange. */
export const ARCHIVED_CELLS = 7;

/** The factor of the margin table in the cell `leverage`: more than twice any leverage. */
const TIER_TABLE = 2 ** 11;

interface PackedLeverage {
  readonly leverage: number;
  readonly isIsolated: boolean;
  /** The number of the position's own margin table; 0 if the market's table applies. */
  readonly tierTable: number;
}

/**
 * Packs the cell `leverage`: twice the leverage, plus 1 if the position is isolated, plus
 * TIER_TABLE times the number of its own margin table.
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

/**
 * Copies the values of a position from the state to its cells, and returns the market of the
 * position.
 */
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

  /**
   * The places in `cells` where the cells of each position, including closed positions, start. They
   * are in the order of the markets.
   */
  get starts(): readonly number[] {
    return this.#starts;
  }

  /**
   * Returns where the cells of the position in a market start; returns -1 if there is no position.
   */
  find(market: number): number {
    return this.#starts[this.#markets.indexOf(market)] ?? -1;
  }

  /**
   * Returns where the cells of the position in a market start. If there is no position, adds a
   * position of zeros.
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

/**
 * Writes positions as CSV (RFC 4180). The first row has the endpoint's field names; the other rows
 * have the endpoint's figures with all digits.
 */

import type { Holding } from './all-dexes.ts';
import type { Position } from './answers.ts';
import { nameDex } from './text.ts';

const LINE_END = '\r\n';

interface Column {
  readonly name: string;
  read(position: Position): string;
}

const COLUMNS: readonly Column[] = [
  { name: 'coin', read: ({ coin }) => coin },
  { name: 'szi', read: ({ szi }) => szi },
  { name: 'leverage.type', read: ({ leverage }) => leverage.type },
  { name: 'leverage.value', read: ({ leverage }) => String(leverage.value) },
  { name: 'leverage.rawUsd', read: ({ leverage }) => leverage.rawUsd ?? '' },
  { name: 'maxLeverage', read: ({ maxLeverage }) => String(maxLeverage) },
  { name: 'entryPx', read: ({ entryPx }) => entryPx },
  { name: 'positionValue', read: ({ positionValue }) => positionValue },
  { name: 'unrealizedPnl', read: ({ unrealizedPnl }) => unrealizedPnl },
  { name: 'returnOnEquity', read: ({ returnOnEquity }) => returnOnEquity },
  { name: 'liquidationPx', read: ({ liquidationPx }) => liquidationPx ?? '' },
  { name: 'marginUsed', read: ({ marginUsed }) => marginUsed },
  { name: 'cumFunding.allTime', read: ({ cumFunding }) => cumFunding.allTime },
  { name: 'cumFunding.sinceOpen', read: ({ cumFunding }) => cumFunding.sinceOpen },
  { name: 'cumFunding.sinceChange', read: ({ cumFunding }) => cumFunding.sinceChange },
];

export function formatPositionsCsv(holdings: readonly Holding[]): string {
  const rows = holdings.map(({ dex, position }) =>
    [dex, ...COLUMNS.map(({ read }) => read(position))].map((cell) => quote(escapeFormula(cell))),
  );
  return [['dex', ...COLUMNS.map(({ name }) => name)], ...rows]
    .map((cells) => cells.join(',') + LINE_END)
    .join('');
}

/**
 * Returns the cell in a form that no spreadsheet runs as a formula. A text that starts with one of
 * these signs would be run; an apostrophe prevents this.
 */
function escapeFormula(cell: string): string {
  const isFigure = /^-?\d+(\.\d+)?$/.test(cell);
  return !isFigure && /^[=+\-@\t\r\n]/.test(cell) ? `'${cell}` : cell;
}

function quote(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

export interface Export {
  readonly user: string;
  /** The name of the dex, which is empty for the first dex; undefined means all dexes. */
  readonly dex: string | undefined;
  /**
   * The ledger height of the answer; undefined if the exchange gave the answer, which is then from
   * no ledger.
   */
  readonly height: number | undefined;
  /** The time of the answer in milliseconds. */
  readonly time: number;
}

/**
 * Returns the file name in UTC, without characters that file names must not have:
 * "positions-0xab…ab-height-812-2025-09-22T17-22-40Z.csv".
 */
export function nameOfCsv({ user, dex, height, time }: Export): string {
  const place = dex === undefined ? [] : [nameDex(dex).replaceAll(/[^\w-]/g, '_')];
  const origin = height === undefined ? 'upstream' : `height-${height}`;
  const moment = `${new Date(time).toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
  return `${['positions', user, ...place, origin, moment].join('-')}.csv`;
}

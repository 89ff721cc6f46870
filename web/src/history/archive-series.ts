/** Exact time series of an account from the archive: value, profit and transfers. */

import { formatDecimal, parseDecimal, subtract, sum } from '../figures/decimal.ts';
import type { Point } from './value-history.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The time spans that a chart can show. The span `all` is the whole archive. */
export const SPANS = [
  { name: 'hour', label: '1 h', title: 'an hour', lengthMs: HOUR_MS },
  { name: 'day', label: '1 d', title: 'a day', lengthMs: DAY_MS },
  { name: 'week', label: '7 d', title: 'a week', lengthMs: 7 * DAY_MS },
  { name: 'month', label: '30 d', title: 'a month', lengthMs: 30 * DAY_MS },
  { name: 'all', label: 'all', title: 'all that is stored', lengthMs: Number.POSITIVE_INFINITY },
] as const;
export type SpanName = (typeof SPANS)[number]['name'];
export const FIRST_SPAN: SpanName = 'day';

/** A span of ledger time, in milliseconds. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** Returns the span that ends at `to`, cut to the part that is in the archive. */
export function spanUntil(name: SpanName, to: number, firstTime: number): TimeSpan {
  const { lengthMs } = SPANS.find((span) => span.name === name) ?? SPANS[0];
  return { from: Math.min(to, Math.max(firstTime, to - lengthMs)), to };
}

/** The maximum number of points: a wide chart cannot show more. */
const POINTS = 500;

export function stepOf({ from, to }: TimeSpan): number {
  return Math.max(1, Math.ceil((to - from) / POINTS));
}

const ZOOM_MS_MIN = 10_000;

/**
 * Returns a span of another length with the same middle, moved into the bounds; returns undefined
 * if it would fill the bounds.
 */
export function scaleSpan(
  { from, to }: TimeSpan,
  factor: number,
  bounds: TimeSpan,
): TimeSpan | undefined {
  const lengthMs = Math.max(ZOOM_MS_MIN, Math.round((to - from) * factor));
  if (lengthMs >= bounds.to - bounds.from) return undefined;
  const middle = (from + to) / 2;
  return moveInto({ from: Math.round(middle - lengthMs / 2), lengthMs }, bounds);
}

/** Returns the span, moved by a share of its length, within the bounds. */
export function panSpan({ from, to }: TimeSpan, share: number, bounds: TimeSpan): TimeSpan {
  const lengthMs = to - from;
  return moveInto({ from: from + Math.round(lengthMs * share), lengthMs }, bounds);
}

function moveInto(
  { from, lengthMs }: { readonly from: number; readonly lengthMs: number },
  bounds: TimeSpan,
): TimeSpan {
  const start = Math.max(bounds.from, Math.min(from, bounds.to - lengthMs));
  return { from: start, to: start + lengthMs };
}

/**
 * A row of `accountHistory`: a height, a time and amounts. In a gap, the height and the amounts are
 * null.
 */
export type HistoryRow = readonly [
  height: number | null,
  time: number,
  accountValue: string | null,
  totalNtlPos: string | null,
  totalMarginUsed: string | null,
  withdrawable: string | null,
  unrealizedPnl: string | null,
  cumFunding: string | null,
  netTransfers: string | null,
];

/** The known values at a time. */
interface Known {
  readonly value: string;
  readonly netTransfers: string;
}

export interface SeriesRow {
  readonly time: number;
  /** The known values; undefined in a gap. */
  readonly known: Known | undefined;
}

function toRow([, time, value, , , , , , netTransfers]: HistoryRow): SeriesRow {
  const isKnown = value !== null && netTransfers !== null;
  return { time, known: isKnown ? { value, netTransfers } : undefined };
}

/**
 * Returns the sums of an account's rows over its dexes. A sum is unknown if the row of one of the
 * dexes is unknown.
 */
export function sumRows(lists: readonly (readonly HistoryRow[])[]): SeriesRow[] {
  const [first = [], ...others] = lists.map((rows) => rows.map(toRow));
  if (others.length === 0) return fromItsBeginning(first);
  const knownAt = others.map((rows) => new Map(rows.map(({ time, known }) => [time, known])));
  const rows = first.map(({ time, known }) => {
    const all = [known, ...knownAt.map((byTime) => byTime.get(time))];
    return { time, known: sumKnown(all) };
  });
  return fromItsBeginning(rows);
}

/** Drops the rows before the account existed, because its first transfer is not a gain. */
function fromItsBeginning(rows: SeriesRow[]): SeriesRow[] {
  const isThere = ({ known }: SeriesRow) =>
    known && (isNotZero(known.value) || isNotZero(known.netTransfers));
  const beginning = rows.findIndex(isThere);
  return beginning === -1 ? rows : rows.slice(beginning);
}

function isNotZero(amount: string): boolean {
  return /[1-9]/.test(amount);
}

function sumKnown(all: readonly (Known | undefined)[]): Known | undefined {
  const known = all.filter((each) => each !== undefined);
  if (known.length < all.length) return undefined;
  return {
    value: formatDecimal(sum(known.map(({ value }) => value))),
    netTransfers: formatDecimal(sum(known.map(({ netTransfers }) => netTransfers))),
  };
}

/**
 * A row of `liquidationHistory`: a position that became smaller while it was below its maintenance
 * margin.
 */
export interface Liquidation {
  readonly time: number;
  readonly coin: string;
  /** The size before the liquidation. The next fields are the size after it, and the mark price. */
  readonly szi: string;
  readonly sziAfter: string;
  readonly markPx: string;
}

/** Joins the liquidations of all dexes, in order of time. */
export function joinLiquidations(lists: readonly (readonly Liquidation[])[]): Liquidation[] {
  return lists.flat().sort((a, b) => a.time - b.time);
}

/** The time series of an account over a span of time. */
export interface ArchiveSeries {
  /** The account and the dexes that the series is about, as `subjectOf` writes them. */
  readonly subject: string;
  readonly span: TimeSpan;
  readonly stepMs: number;
  readonly rows: readonly SeriesRow[];
  readonly liquidations: readonly Liquidation[];
}

export function subjectOf(user: string, dexes: readonly string[]): string {
  return JSON.stringify([user, ...dexes]);
}

const MINUTE_MS = 60_000;

/** Returns the longest time between two points that have no gap between them. */
function gapMsOf(stepMs: number): number {
  return 2 * stepMs + MINUTE_MS;
}

type SeriesFigures = Pick<ArchiveSeries, 'rows' | 'stepMs'>;

function pointsOf({ rows, stepMs }: SeriesFigures, read: (known: Known) => string): Point[] {
  const points: Point[] = [];
  let isInGap = false;
  for (const { time, known } of rows) {
    const last = points.at(-1);
    if (known !== undefined) {
      const isFar = last !== undefined && time - last.time > gapMsOf(stepMs);
      points.push({
        time,
        value: read(known),
        isAfterGap: isFar || (isInGap && points.length > 0),
      });
    }
    isInGap = known === undefined;
  }
  return points;
}

export function valuePoints(series: SeriesFigures): Point[] {
  return pointsOf(series, ({ value }) => value);
}

const gainOf = ({ value, netTransfers }: Known) =>
  subtract(parseDecimal(value), parseDecimal(netTransfers));

/**
 * Returns the profit at each row: the value minus the transfers, compared with the first known row.
 */
export function profitPoints(series: SeriesFigures): Point[] {
  const first = series.rows.find(({ known }) => known !== undefined)?.known;
  if (first === undefined) return [];
  const start = gainOf(first);
  return pointsOf(series, (known) => formatDecimal(subtract(gainOf(known), start)));
}

/** Continues the line of the archive with the points that the page has seen since. */
export function continueLive(
  points: readonly Point[],
  stepMs: number,
  seen: readonly Point[],
): readonly Point[] {
  const last = points.at(-1);
  if (last === undefined) return seen;
  const [next, ...others] = seen.filter(({ time }) => time > last.time);
  if (next === undefined) return points;
  const isAfterGap = next.time - last.time > gapMsOf(stepMs);
  return [...points, { ...next, isAfterGap }, ...others];
}

/** A deposit or a withdrawal that happened between the times `since` and `time`. */
export interface Transfer {
  readonly since: number;
  readonly time: number;
  /** The amount that was deposited; negative for a withdrawal. */
  readonly amount: string;
}

export function findTransfers({ rows }: Pick<ArchiveSeries, 'rows'>): Transfer[] {
  const transfers: Transfer[] = [];
  let last: { readonly time: number; readonly known: Known } | undefined;
  for (const { time, known } of rows) {
    if (known === undefined) continue;
    if (last !== undefined && known.netTransfers !== last.known.netTransfers) {
      const difference = subtract(
        parseDecimal(known.netTransfers),
        parseDecimal(last.known.netTransfers),
      );
      transfers.push({ since: last.time, time, amount: formatDecimal(difference) });
    }
    last = { time, known };
  }
  return transfers;
}

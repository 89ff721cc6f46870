/**
 * The account value over time, with its gaps: a point for every second of the last minutes, for
 * every ten seconds of the last hours, and for every minute of the last days. A time that the page
 * did not see is a gap, never a line.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The ranges of the chart: the step between points, and how long points are retained. */
export const RANGES = [
  { name: '15 min', stepMs: 1_000, retentionMs: 15 * MINUTE_MS },
  { name: '6 h', stepMs: 10_000, retentionMs: 6 * HOUR_MS },
  { name: '7 d', stepMs: MINUTE_MS, retentionMs: 7 * 24 * HOUR_MS },
] as const satisfies readonly Range[];
export type RangeName = (typeof RANGES)[number]['name'];

export interface Range {
  readonly name: string;
  readonly stepMs: number;
  readonly retentionMs: number;
}

export function findRange(name: RangeName): Range {
  return RANGES.find((range) => range.name === name) ?? RANGES[0];
}

export interface Point {
  /** The ledger time in milliseconds. The times of points ascend. */
  readonly time: number;
  /** The value in USDC, as the service sent it. */
  readonly value: string;
  /** True if the values between the point before and this point are not known. */
  readonly isAfterGap: boolean;
}

/** An answer of the exchange itself may be this much older than the ledger's last answer. */
const BACK_MS_MAX = 10_000;
/** After an interruption, a pause that is longer than this is a gap. */
const GAP_MS_MIN = 5_000;
/**
 * Even without an interruption, a pause that is longer than this is a gap, because the machine may
 * have slept.
 */
const SILENT_MS_MAX = 2 * MINUTE_MS;
const HISTORIES_MAX = 8;

/**
 * The points of one range: the last point of each step, the first point of all, and both ends of
 * each gap.
 */
class PointList {
  readonly #range: Range;
  points: Point[];

  constructor(range: Range, points: Point[] = []) {
    this.#range = range;
    this.points = points;
  }

  add(point: Point): void {
    const last = this.points.at(-1);
    if (last !== undefined && this.#replaces(point, last)) this.points.pop();
    this.points.push(point);
    this.#dropOld(point.time);
  }

  #replaces(point: Point, last: Point): boolean {
    const { stepMs } = this.#range;
    if (point.isAfterGap || last.isAfterGap || this.points.length === 1) return false;
    return Math.floor(point.time / stepMs) === Math.floor(last.time / stepMs);
  }

  /** Drops points that are too old. One older point stays, from which the line enters the range. */
  #dropOld(now: number): void {
    const { stepMs, retentionMs } = this.#range;
    const countMax = (2 * retentionMs) / stepMs;
    const from = now - retentionMs;
    while (this.points.length > 2 && (this.points[1].time <= from || this.points.length > countMax))
      this.points.shift();
  }
}

export class ValueHistory {
  #lists = RANGES.map((range) => new PointList(range));
  #isInterrupted = false;

  pointsOf(name: RangeName): readonly Point[] {
    return this.#lists[RANGES.findIndex((range) => range.name === name)].points;
  }

  get last(): Point | undefined {
    return this.#lists[0].points.at(-1);
  }

  /** Call this when the page may have missed values after the last point. */
  interrupt(): void {
    this.#isInterrupted = true;
  }

  add(timeMs: number, value: string): void {
    const { last } = this;
    if (last !== undefined && timeMs < last.time - BACK_MS_MAX) this.#clear();
    const time = Math.max(timeMs, this.last?.time ?? timeMs);
    // Each time has only one value: the newest value.
    if (time === this.last?.time) this.#replaceLast({ ...this.last, value });
    else this.#append({ time, value, isAfterGap: this.#isGapBefore(time) });
  }

  #isGapBefore(time: number): boolean {
    const { last } = this;
    if (last === undefined) return false;
    return time - last.time > (this.#isInterrupted ? GAP_MS_MIN : SILENT_MS_MAX);
  }

  #append(point: Point): void {
    this.#isInterrupted = false;
    for (const list of this.#lists) list.add(point);
  }

  #replaceLast(point: Point): void {
    for (const list of this.#lists) list.points[list.points.length - 1] = point;
  }

  /** Drops all points. Time went back, so the ledger was replaced. */
  #clear(): void {
    this.#lists = RANGES.map((range) => new PointList(range));
  }

  /** Puts the stored points of an earlier visit before the points of this visit. */
  restore(stored: readonly (readonly Point[])[]): void {
    const since = this.#lists[0].points;
    const first = since.at(0)?.time ?? Number.POSITIVE_INFINITY;
    this.#lists = RANGES.map((range, index) => {
      const older = (stored[index] ?? []).filter(({ time }) => time < first);
      return new PointList(range, [...older]);
    });
    this.interrupt();
    for (const { time, value, isAfterGap } of since) {
      if (isAfterGap) this.interrupt();
      this.add(time, value);
    }
  }
}

/** Stores one history for each account, with LRU eviction. */
export class Histories {
  readonly #histories = new Map<string, ValueHistory>();

  /** Returns the history; returns undefined if it is new, or was evicted. */
  find(name: string): ValueHistory | undefined {
    const history = this.#histories.get(name);
    if (history !== undefined) this.set(name, history);
    return history;
  }

  set(name: string, history: ValueHistory): void {
    this.#histories.delete(name);
    this.#histories.set(name, history);
    const [oldest] = this.#histories.keys();
    if (this.#histories.size > HISTORIES_MAX) this.#histories.delete(oldest);
  }
}

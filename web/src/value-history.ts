/** The account value since the page was opened, in a bounded number of points. */

export interface Point {
  /** Seconds of ledger time, whole and ascending. */
  readonly time: number;
  readonly value: number;
}

const POINTS_MAX = 600;
/** An exchange's own answer may be this much older than the ledger's. */
const BACK_SECONDS_MAX = 10;
const HISTORIES_MAX = 8;

export class ValueHistory {
  points: Point[] = [];
  /** Incremented when more than the last point has changed: charts must redraw. */
  epoch = 0;

  add(timeMs: number, value: number): void {
    const last = this.points.at(-1);
    let time = Math.floor(timeMs / 1000);
    if (last !== undefined && time < last.time && time >= last.time - BACK_SECONDS_MAX) {
      time = last.time;
    }
    if (last !== undefined && time < last.time) {
      // Time went back: the ledger was replaced.
      this.points = [];
      this.epoch++;
    } else if (last?.time === time) {
      this.points.pop();
    }
    this.points.push({ time, value });
    if (this.points.length > POINTS_MAX) this.#thin();
  }

  /** Drops every second point of the older half; recent points keep their detail. */
  #thin(): void {
    const half = this.points.length >> 1;
    this.points = this.points.filter((_, index) => index >= half || index % 2 === 0);
    this.epoch++;
  }
}

/** One history per account, with LRU eviction. */
export class Histories {
  readonly #histories = new Map<string, ValueHistory>();

  of(user: string, dex: string): ValueHistory {
    const name = `${user.toLowerCase()} ${dex}`;
    const history = this.#histories.get(name) ?? new ValueHistory();
    this.#histories.delete(name);
    this.#histories.set(name, history);
    const [oldest] = this.#histories.keys();
    if (this.#histories.size > HISTORIES_MAX) this.#histories.delete(oldest);
    return history;
  }
}

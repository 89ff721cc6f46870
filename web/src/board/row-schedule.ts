/**
 * Decides when each row is drawn. Only rows that have changed and are in sight are drawn, each at
 * most once a second. Each frame draws only a few rows, so that no frame is late. While the page is
 * hidden, no row is drawn.
 */

const DRAW_MS = 1_000;
/**
 * The maximum number of rows that a frame draws. A row takes almost a millisecond to draw and to
 * lay out, and a frame has 16 ms.
 */
const DRAWN_PER_FRAME = 6;
/**
 * The maximum number of rows that are measured at once. At this rate, 500 rows are measured within
 * a second.
 */
const MEASURED_AT_ONCE = 10;
const MEASURE_MS = 16;
/** The pause before the next check if no row was ready to be drawn or measured. */
const REST_MS = 100;
/**
 * The event with which a browser reports that it starts or stops skipping a group of rows
 * (`content-visibility`).
 */
const SKIPPING = 'contentvisibilityautostatechange';

export interface ScheduledRow {
  readonly user: string;
  readonly element: HTMLElement;
  /** Puts the newest figures on the page. */
  draw(): void;
  /** Uses the newest figures for the order and the sums only. */
  measure(): void;
}

interface SkippingEvent extends Event {
  readonly skipped: boolean;
}

export class RowSchedule {
  readonly #rows = new Map<string, ScheduledRow>();
  /** The groups of rows that are out of sight. */
  readonly #skipped = new WeakSet<Node>();
  /** The time of each row's last draw or measurement, by performance.now(). */
  readonly #doneMs = new Map<string, number>();
  readonly #due = new Set<string>();
  #isWaiting = false;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#wait());
    document.addEventListener(SKIPPING, (event) => this.#look(event as SkippingEvent));
    // A print shows all rows.
    addEventListener('beforeprint', () => this.#drawAll());
  }

  /** Draws the row from now on. Returns a function that removes the row. */
  add(row: ScheduledRow): () => void {
    const { user } = row;
    this.#rows.set(user, row);
    this.#doneMs.delete(user);
    this.mark(user);
    return () => {
      // The row may already have been added again, with an element in another group.
      if (this.#rows.get(user) === row) this.#rows.delete(user);
    };
  }

  /** Call this when a row has changed. */
  mark(user: string): void {
    if (!this.#rows.has(user)) return;
    this.#due.add(user);
    this.#wait();
  }

  #drawAll(): void {
    this.#due.clear();
    for (const row of this.#rows.values()) row.draw();
  }

  /** Notes whether a group is in sight. A row that comes into sight is drawn at once. */
  #look({ target, skipped }: SkippingEvent): void {
    if (!(target instanceof Node)) return;
    if (skipped) this.#skipped.add(target);
    else if (this.#skipped.delete(target)) {
      for (const [user, { element }] of this.#rows) {
        if (element.parentNode !== target) continue;
        this.#doneMs.delete(user);
        this.mark(user);
      }
    }
  }

  #wait(): void {
    if (this.#isWaiting || this.#due.size === 0 || document.hidden) return;
    this.#isWaiting = true;
    // A frame is requested only if there is a row to draw, because each frame costs time even if
    // nothing changes.
    if (this.#findReady(false, 1).length === 0) this.#measure(0);
    else {
      requestAnimationFrame(() => {
        const drawn = this.#work(false, DRAWN_PER_FRAME);
        // Work on invisible rows waits until after the frame, so that the frame is not late.
        setTimeout(() => this.#measure(drawn));
      });
    }
  }

  /** Measures rows that are out of sight, and then waits until the next rows may be drawn. */
  #measure(drawn: number): void {
    const measured = this.#work(true, MEASURED_AT_ONCE);
    setTimeout(
      () => {
        this.#isWaiting = false;
        this.#wait();
      },
      drawn + measured > 0 ? MEASURE_MS : REST_MS,
    );
  }

  /**
   * Draws rows in sight, or measures rows out of sight. Returns the number of rows that were drawn
   * or measured.
   */
  #work(isSkipped: boolean, max: number): number {
    const nowMs = performance.now();
    const ready = this.#findReady(isSkipped, max);
    for (const row of ready) {
      this.#due.delete(row.user);
      this.#doneMs.set(row.user, nowMs);
      if (isSkipped) row.measure();
      else row.draw();
    }
    return ready.length;
  }

  /** Returns changed rows that were not drawn or measured within the last second. */
  #findReady(isSkipped: boolean, max: number): ScheduledRow[] {
    const doneMsMax = performance.now() - DRAW_MS;
    const ready: ScheduledRow[] = [];
    for (const user of this.#due) {
      const row = this.#rows.get(user);
      if (row === undefined) this.#due.delete(user);
      else if (
        this.#isSkipped(row) === isSkipped &&
        (this.#doneMs.get(user) ?? Number.NEGATIVE_INFINITY) <= doneMsMax
      ) {
        ready.push(row);
        if (ready.length === max) break;
      }
    }
    return ready;
  }

  #isSkipped({ element }: ScheduledRow): boolean {
    return element.parentNode !== null && this.#skipped.has(element.parentNode);
  }
}

/**
 * Decides when which rows are drawn: only rows that have changed and are in sight, each at most once a
 * second, and a few in each frame, so that no frame is late. While the page is hidden, no row is drawn.
 */

const DRAW_MS = 1_000;
/** A row takes most of a millisecond to draw and to lay out, and a frame has sixteen. */
const DRAWN_PER_FRAME = 6;
/** All of 500 rows are measured within a second. */
const MEASURED_AT_ONCE = 10;
const MEASURE_MS = 16;
/** The pause before rows that were just drawn may be drawn again. */
const REST_MS = 100;
/** The event by which a browser reports groups of rows that it skips (`content-visibility`). */
const SKIPPING = 'contentvisibilityautostatechange';

export interface ScheduledRow {
  readonly user: string;
  readonly element: HTMLElement;
  /** Puts the newest figures on the page. */
  draw(): void;
  /** Takes them into account for order and sums only. */
  measure(): void;
}

interface SkippingEvent extends Event {
  readonly skipped: boolean;
}

export class RowSchedule {
  readonly #rows = new Map<string, ScheduledRow>();
  /** Groups of rows that are out of sight. */
  readonly #skipped = new WeakSet<Node>();
  /** When each row was drawn or measured last, by performance.now(). */
  readonly #doneMs = new Map<string, number>();
  readonly #due = new Set<string>();
  #isWaiting = false;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#wait());
    document.addEventListener(SKIPPING, (event) => this.#look(event as SkippingEvent));
    // A print shows all rows.
    addEventListener('beforeprint', () => this.#drawAll());
  }

  /** Draws a row from now on; the function that is returned ends it. */
  add(row: ScheduledRow): () => void {
    const { user } = row;
    this.#rows.set(user, row);
    this.#doneMs.delete(user);
    this.mark(user);
    return () => {
      // It may already be in another group, as another element.
      if (this.#rows.get(user) === row) this.#rows.delete(user);
    };
  }

  /** A row has changed. */
  mark(user: string): void {
    if (!this.#rows.has(user)) return;
    this.#due.add(user);
    this.#wait();
  }

  #drawAll(): void {
    this.#due.clear();
    for (const row of this.#rows.values()) row.draw();
  }

  /** A row that comes into sight is drawn at once. */
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
    // A frame is asked for only if there is something to draw: each costs, even if nothing changes.
    if (this.#findReady(false, 1).length === 0) this.#measure(0);
    else {
      requestAnimationFrame(() => {
        const drawn = this.#work(false, DRAWN_PER_FRAME);
        // Work on invisible rows waits until after the frame, so that the frame is not late.
        setTimeout(() => this.#measure(drawn));
      });
    }
  }

  /** Measures rows that are out of sight, and continues if rows are left. */
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

  /** Draws rows in sight, or measures those that are not; returns how many. */
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

  /** Rows that have changed, and were not drawn or measured a moment ago. */
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

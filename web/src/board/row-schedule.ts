/**
 * Which rows are drawn when: only those that have changed and are in sight, each at most once a second,
 * and a few in each frame, so that no frame is late. Nothing is drawn while the page is hidden.
 */

const DRAW_MS = 1_000;
/** All of 500 rows are looked at within a second of 60 frames. */
const ROWS_PER_FRAME = 10;
/** Until rows that were drawn a moment ago may be drawn again. */
const REST_MS = 100;
/** Browsers tell when they begin or cease to skip a row, by the style sheet's `content-visibility`. */
const SKIPPING = 'contentvisibilityautostatechange';

export interface ScheduledRow {
  readonly user: string;
  readonly element: HTMLElement;
  /** Puts the newest figures on the page. */
  draw(): void;
  /** Takes them into account for order and sums only. */
  measure(): void;
}

interface ContentVisibilityEvent extends Event {
  readonly skipped: boolean;
}

export class RowSchedule {
  readonly #rows = new Map<string, ScheduledRow>();
  /** Rows that are out of sight. */
  readonly #skipped = new Set<string>();
  /** When each row was drawn or measured last, by performance.now(). */
  readonly #doneMs = new Map<string, number>();
  readonly #due = new Set<string>();
  #isWaiting = false;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#wait());
  }

  /** Draws a row from now on; the function that is returned ends it. */
  add(row: ScheduledRow): () => void {
    const { user, element } = row;
    const look = (event: Event) => this.#look(user, (event as ContentVisibilityEvent).skipped);
    this.#rows.set(user, row);
    element.addEventListener(SKIPPING, look);
    this.mark(user);
    return () => {
      element.removeEventListener(SKIPPING, look);
      this.#rows.delete(user);
      this.#skipped.delete(user);
      this.#due.delete(user);
    };
  }

  /** A row has changed. */
  mark(user: string): void {
    if (!this.#rows.has(user)) return;
    this.#due.add(user);
    this.#wait();
  }

  /** What comes into sight is drawn at once. */
  #look(user: string, isSkipped: boolean): void {
    if (isSkipped) this.#skipped.add(user);
    else if (this.#skipped.delete(user)) {
      this.#doneMs.delete(user);
      this.mark(user);
    }
  }

  #wait(): void {
    if (this.#isWaiting || this.#due.size === 0 || document.hidden) return;
    this.#isWaiting = true;
    requestAnimationFrame((nowMs) => {
      const isDone = this.#work(nowMs);
      setTimeout(() => this.#goOn(), isDone ? 0 : REST_MS);
    });
  }

  #goOn(): void {
    this.#isWaiting = false;
    this.#wait();
  }

  /** False if there was nothing that may be drawn yet. */
  #work(nowMs: number): boolean {
    let done = 0;
    for (const user of this.#due) {
      if (nowMs - (this.#doneMs.get(user) ?? Number.NEGATIVE_INFINITY) < DRAW_MS) continue;
      this.#due.delete(user);
      this.#doneMs.set(user, nowMs);
      const row = this.#rows.get(user);
      if (this.#skipped.has(user)) row?.measure();
      else row?.draw();
      if (++done === ROWS_PER_FRAME) break;
    }
    return done > 0;
  }
}

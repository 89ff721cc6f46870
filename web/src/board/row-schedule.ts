/**
 * Which rows are drawn when: only those that have changed and are in sight, each at most once a second,
 * and a few in each frame, so that no frame is late. Nothing is drawn while the page is hidden.
 */

const DRAW_MS = 1_000;
/** To draw a row and lay it out takes most of a millisecond: in 60 frames there is time for all in sight. */
const DRAWN_PER_FRAME = 2;
/** All of 500 rows are measured within a second of 60 frames. */
const MEASURED_PER_FRAME = 10;
/** Until rows that were drawn a moment ago may be drawn again. */
const REST_MS = 100;
/** Browsers tell which groups of rows they skip, by the style sheet's `content-visibility`. */
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

  /** What comes into sight is drawn at once. */
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
    requestAnimationFrame(() => {
      const drawn = this.#work(false);
      // After the frame: what is not seen must not make it late.
      setTimeout(() => {
        const measured = this.#work(true);
        setTimeout(() => this.#goOn(), drawn + measured > 0 ? 0 : REST_MS);
      });
    });
  }

  #goOn(): void {
    this.#isWaiting = false;
    this.#wait();
  }

  /** Draws rows in sight, or measures those that are not; returns how many. */
  #work(isSkipped: boolean): number {
    const nowMs = performance.now();
    const max = isSkipped ? MEASURED_PER_FRAME : DRAWN_PER_FRAME;
    let done = 0;
    for (const user of this.#due) {
      const row = this.#rows.get(user);
      if (row === undefined) {
        this.#due.delete(user);
        continue;
      }
      if (this.#isSkipped(row) !== isSkipped) continue;
      if (nowMs - (this.#doneMs.get(user) ?? Number.NEGATIVE_INFINITY) < DRAW_MS) continue;
      this.#due.delete(user);
      this.#doneMs.set(user, nowMs);
      if (isSkipped) row.measure();
      else row.draw();
      if (++done === max) break;
    }
    return done;
  }

  #isSkipped({ element }: ScheduledRow): boolean {
    return element.parentNode !== null && this.#skipped.has(element.parentNode);
  }
}

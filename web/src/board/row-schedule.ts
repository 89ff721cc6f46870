/**
 * Which rows are drawn when: only those that have changed, each at most once a second, and a few in each
 * frame, so that no frame is late. Nothing is drawn while the page is hidden.
 */

const DRAW_MS = 1_000;
/** All of 500 rows are drawn within a second of 60 frames. */
const ROWS_PER_FRAME = 10;
/** Until rows that were drawn a moment ago may be drawn again. */
const REST_MS = 100;

export class RowSchedule {
  readonly #draws = new Map<string, () => void>();
  /** When each row was drawn last, by performance.now(). */
  readonly #drawnMs = new Map<string, number>();
  readonly #due = new Set<string>();
  #isWaiting = false;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#wait());
  }

  /** Draws a row from now on; the function that is returned ends it. */
  add(user: string, draw: () => void): () => void {
    this.#draws.set(user, draw);
    return () => {
      this.#draws.delete(user);
      this.#due.delete(user);
    };
  }

  /** A row has changed. */
  mark(user: string): void {
    if (!this.#draws.has(user)) return;
    this.#due.add(user);
    this.#wait();
  }

  #wait(): void {
    if (this.#isWaiting || this.#due.size === 0 || document.hidden) return;
    this.#isWaiting = true;
    requestAnimationFrame((nowMs) => {
      const isDrawn = this.#draw(nowMs);
      setTimeout(() => this.#goOn(), isDrawn ? 0 : REST_MS);
    });
  }

  #goOn(): void {
    this.#isWaiting = false;
    this.#wait();
  }

  /** False if there was nothing that may be drawn yet. */
  #draw(nowMs: number): boolean {
    let drawn = 0;
    for (const user of this.#due) {
      if (nowMs - (this.#drawnMs.get(user) ?? 0) < DRAW_MS) continue;
      this.#due.delete(user);
      this.#drawnMs.set(user, nowMs);
      this.#draws.get(user)?.();
      if (++drawn === ROWS_PER_FRAME) break;
    }
    return drawn > 0;
  }
}

/**
 * Whose request is next. Streams get their turns one after the other, and all of them together a
 * millisecond of each turn of the event loop. In between, connections are accepted, of which there is
 * only one a turn, and the fast lane answers: however many requests wait here, a client that asks one
 * ordinary question does not wait for them.
 */

const TURN_MS = 1;

export interface Feeding {
  feed(): void;
}

export class FeedQueue {
  readonly #waiting = new Set<Feeding>();
  #isPlanned = false;

  /** Once, however often it is added until its turn comes. */
  add(stream: Feeding): void {
    this.#waiting.add(stream);
    this.#plan();
  }

  has(stream: Feeding): boolean {
    return this.#waiting.has(stream);
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isPlanned = false;
    const endMs = performance.now() + TURN_MS;
    for (const stream of this.#waiting) {
      this.#waiting.delete(stream);
      stream.feed();
      if (performance.now() >= endMs) break;
    }
    if (this.#waiting.size > 0) this.#plan();
  }
}

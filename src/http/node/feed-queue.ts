/**
 * The order in which streams are fed to Node's server: round robin, for at most a millisecond of each
 * turn of the event loop. In between, connections are accepted and the fast lane answers, so an
 * ordinary question never waits for the requests that are queued here.
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

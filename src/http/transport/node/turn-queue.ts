/**
 * Gives request streams their turn on Node's server: round robin, at most a millisecond per turn of
 * the event loop. In between, connections are accepted and the fast lane answers, so an ordinary
 * question never waits for the requests that are queued here.
 */

const TURN_MS = 1;

/** A stream that passes on its bytes in turns. */
export interface Pumpable {
  pump(): void;
}

export class TurnQueue {
  readonly #waiting = new Set<Pumpable>();
  #isPlanned = false;

  /** Adding a stream again before its turn has no effect. */
  add(stream: Pumpable): void {
    this.#waiting.add(stream);
    this.#plan();
  }

  has(stream: Pumpable): boolean {
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
      stream.pump();
      if (performance.now() >= endMs) break;
    }
    if (this.#waiting.size > 0) this.#plan();
  }
}

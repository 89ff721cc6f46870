/**
 * The queue of streams that have bytes for Node's server. Streams take turns, for at most a
 * millisecond in each turn of the event loop. Between these milliseconds, connections are accepted
 * and the fast lane answers. So an ordinary question never waits for all requests in this queue.
 */

import { SliceLoop } from '../../../timing/slices.ts';

const TURN_MS = 1;

/** A stream that passes on some of its bytes in each turn. */
export interface Pumpable {
  pump(): void;
}

export class TurnQueue {
  readonly #waiting = new Set<Pumpable>();
  readonly #slices = new SliceLoop({
    sliceMs: () => TURN_MS,
    step: () => this.#pumpNext(),
    hasMore: () => this.#waiting.size > 0,
  });

  /** Adds a stream to the queue. Adding a stream again before its turn has no effect. */
  add(stream: Pumpable): void {
    this.#waiting.add(stream);
    this.#slices.start();
  }

  has(stream: Pumpable): boolean {
    return this.#waiting.has(stream);
  }

  #pumpNext(): boolean {
    const [stream] = this.#waiting;
    this.#waiting.delete(stream);
    stream.pump();
    return true;
  }
}

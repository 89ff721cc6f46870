/** Builds a block as a line of NDJSON, event by event, within the maximum length of a line. */

import type { BlockHead, WireEvent } from '../../../events/event.ts';

const CLOSE = ']}';

export class BlockLine {
  readonly #bytesMax: number;
  readonly #parts: string[] = [];
  readonly #head: string;
  #bytes: number;

  constructor({ height, time }: BlockHead, bytesMax: number) {
    this.#head = `{"height":${height},"time":${time},"events":[`;
    this.#bytesMax = bytesMax;
    this.#bytes = this.#frameBytes;
  }

  /**
   * Adds all events or none. Returns `full` if the line has no room for the events, and `too_large`
   * if even an empty line has no room for them.
   */
  add(events: readonly WireEvent[]): 'added' | 'full' | 'too_large' {
    const texts = events.map((event) => JSON.stringify(event));
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
    if (this.#frameBytes + bytes > this.#bytesMax) return 'too_large';
    if (this.#bytes + bytes > this.#bytesMax) return 'full';
    this.#bytes += bytes;
    this.#parts.push(...texts);
    return 'added';
  }

  /** The number of bytes of a line without events. */
  get #frameBytes(): number {
    return this.#head.length + CLOSE.length;
  }

  close(): Buffer {
    return Buffer.from(`${this.#head}${this.#parts.join(',')}${CLOSE}`);
  }
}

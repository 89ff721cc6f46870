/** A block as a line of NDJSON, put together event by event within the limit of a line. */

import type { BlockHead, WireEvent } from '../../events/event.ts';

const CLOSE = ']}';

export class BlockLine {
  readonly #bytesMax: number;
  readonly #parts: string[] = [];
  readonly #head: string;
  #bytes: number;

  constructor({ height, time }: BlockHead, bytesMax: number) {
    this.#head = `{"height":${height},"time":${time},"events":[`;
    this.#bytesMax = bytesMax;
    this.#bytes = this.#head.length + CLOSE.length;
  }

  /** All of the events, or none and false if the line would be too long. */
  add(events: readonly WireEvent[]): boolean {
    const texts = events.map((event) => JSON.stringify(event));
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#bytes += bytes;
    this.#parts.push(...texts);
    return true;
  }

  close(): Buffer {
    return Buffer.from(`${this.#head}${this.#parts.join(',')}${CLOSE}`);
  }
}

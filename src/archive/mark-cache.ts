/**
 * Marks that were read from an archive, kept in memory by spans, since all accounts share them.
 *
 * Those of a height lie side by side: whoever asks for one mark mostly asks for others of that height,
 * and a cache miss for each takes longer than all the rest.
 */

import { placeInSpan, SPAN_HEIGHTS, spanOf } from './spans.ts';

/** Columns of all spans that are kept, used or not, two kilobytes each. */
const COLUMNS_KEPT_MAX = 16_384;
const MARKETS_INITIAL = 8;
const NO_COLUMN = -1;

/** The marks of some markets in a span: a row for each height, a column for each market. */
class SpanMarks {
  /** By market. */
  readonly #columns: number[] = [];
  #columnCount = 0;
  #width = 0;
  #marks = new Float64Array(0);

  /** Columns that there is room for. */
  get width(): number {
    return this.#width;
  }

  has(market: number): boolean {
    return market < this.#columns.length && this.#columns[market] !== NO_COLUMN;
  }

  get(market: number, place: number): number {
    return this.#marks[place * this.#width + this.#columns[market]];
  }

  add(market: number, marks: Float64Array): void {
    if (this.#columnCount === this.#width) this.#widen();
    while (this.#columns.length <= market) this.#columns.push(NO_COLUMN);
    const column = this.#columnCount++;
    this.#columns[market] = column;
    for (let place = 0; place < SPAN_HEIGHTS; place++) {
      this.#marks[place * this.#width + column] = marks[place];
    }
  }

  #widen(): void {
    const before = this.#width;
    const width = Math.max(MARKETS_INITIAL, 2 * before);
    const marks = new Float64Array(width * SPAN_HEIGHTS);
    for (let place = 0; place < SPAN_HEIGHTS; place++) {
      marks.set(this.#marks.subarray(place * before, (place + 1) * before), place * width);
    }
    this.#marks = marks;
    this.#width = width;
  }
}

export class MarkCache {
  readonly #read: (market: number, span: number) => Float64Array;
  readonly #spans = new Map<number, SpanMarks>();
  /** Columns that all of them have room for. */
  #width = 0;
  /** The span that was asked for last. */
  #lastSpan = -1;
  #lastMarks = new SpanMarks();

  /** `read` gives the marks of a market in a span, place by place. */
  constructor(read: (market: number, span: number) => Float64Array) {
    this.#read = read;
  }

  get(market: number, height: number): number {
    const span = spanOf(height);
    if (span !== this.#lastSpan) this.#moveTo(span);
    if (!this.#lastMarks.has(market)) this.#keep(market, span);
    return this.#lastMarks.get(market, placeInSpan(height));
  }

  #moveTo(span: number): void {
    this.#lastMarks = this.#spans.get(span) ?? new SpanMarks();
    this.#lastSpan = span;
  }

  #keep(market: number, span: number): void {
    const marks = this.#read(market, span);
    this.#makeRoom(span);
    this.#spans.set(span, this.#lastMarks);
    const before = this.#lastMarks.width;
    this.#lastMarks.add(market, marks);
    this.#width += this.#lastMarks.width - before;
  }

  /** The oldest go first, this one stays. */
  #makeRoom(span: number): void {
    for (const oldest of this.#spans.keys()) {
      if (this.#width < COLUMNS_KEPT_MAX) return;
      if (oldest !== span) this.forget(oldest);
    }
  }

  /** The marks of the span are to be read again. */
  forget(span: number): void {
    this.#width -= this.#spans.get(span)?.width ?? 0;
    this.#spans.delete(span);
    if (span === this.#lastSpan) this.#lastSpan = -1;
  }
}

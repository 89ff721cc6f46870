/**
 * Marks that were read from an archive, kept in memory by spans, since all accounts share them.
 *
 * Those of a height lie side by side: whoever asks for one mark mostly asks for others of that height,
 * and a cache miss for each takes longer than all the rest.
 */

import { placeInSpan, SPAN_HEIGHTS, spanOf } from './spans.ts';

/** Spans of markets that are kept, two kilobytes each. */
const MARK_SPANS_KEPT_MAX = 16_384;
const MARKETS_INITIAL = 8;
const NO_COLUMN = -1;

/** The marks of some markets in a span: a row for each height, a column for each market. */
class SpanMarks {
  /** By market. */
  readonly #columns: number[] = [];
  #columnCount = 0;
  /** Columns that there is room for. */
  #width = MARKETS_INITIAL;
  #marks = new Float64Array(MARKETS_INITIAL * SPAN_HEIGHTS);

  get marketCount(): number {
    return this.#columnCount;
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
    const width = this.#width;
    const wider = new Float64Array(this.#marks.length * 2);
    for (let place = 0; place < SPAN_HEIGHTS; place++) {
      wider.set(this.#marks.subarray(place * width, (place + 1) * width), place * width * 2);
    }
    this.#marks = wider;
    this.#width = width * 2;
  }
}

export class KeptMarks {
  readonly #read: (market: number, span: number) => Float64Array;
  readonly #spans = new Map<number, SpanMarks>();
  #count = 0;
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
    this.#lastMarks.add(market, marks);
    this.#count++;
  }

  /** The oldest go first, this one stays. */
  #makeRoom(span: number): void {
    for (const oldest of this.#spans.keys()) {
      if (this.#count < MARK_SPANS_KEPT_MAX) return;
      if (oldest !== span) this.forget(oldest);
    }
  }

  /** The marks of the span are to be read again. */
  forget(span: number): void {
    this.#count -= this.#spans.get(span)?.marketCount ?? 0;
    this.#spans.delete(span);
    if (span === this.#lastSpan) this.#lastSpan = -1;
  }
}

/**
 * A cache of marks that were read from an archive, by span. All accounts share the marks.
 *
 * The marks of a height are next to one another in memory. A question usually needs several marks
 * of a height, and a cache miss of the processor for each mark would take longer than the rest of
 * the work. When a mark of a market in a span is needed for the first time, only this mark is read:
 * questions about random heights, and series with long steps, need no other mark of the span.
 */

import { placeInSpan, SPAN_HEIGHTS, spanOf } from '../records/height-spans.ts';

/**
 * The maximum number of columns of all cached spans, used and unused. Each column takes two
 * kilobytes.
 */
const COLUMNS_KEPT_MAX = 16_384;
const MARKETS_INITIAL = 8;
/** The market has no column: no mark of it was needed yet. */
const NO_COLUMN = -1;
/** The market has no column: a single mark was read. */
const ASKED_ONCE = -2;
/**
 * The maximum number of cached spans. A span of which only single marks were read has no columns.
 */
const SPANS_KEPT_MAX = 2048;

/** The marks of some markets in a span: a row for each height, a column for each market. */
class SpanMarks {
  /** The columns, by market. */
  readonly #columns: number[] = [];
  #columnCount = 0;
  #width = 0;
  #marks = new Float64Array(0);

  /** The number of columns for which memory is allocated. */
  get width(): number {
    return this.#width;
  }

  has(market: number): boolean {
    return market < this.#columns.length && this.#columns[market] >= 0;
  }

  /** Notes that a mark of the market is needed. Returns true if it is the first mark. */
  noteFirst(market: number): boolean {
    while (this.#columns.length <= market) this.#columns.push(NO_COLUMN);
    const isFirst = this.#columns[market] === NO_COLUMN;
    if (isFirst) this.#columns[market] = ASKED_ONCE;
    return isFirst;
  }

  get(market: number, place: number): number {
    return this.#marks[place * this.#width + this.#columns[market]];
  }

  add(market: number, marks: Float64Array): void {
    if (this.#columnCount === this.#width) this.#widen();
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

/** Reads marks from the archive. */
export interface MarkReader {
  readMark(market: number, height: number): number;
  /** Returns all marks of a market in a span, by place. */
  readMarks(market: number, span: number): Float64Array;
}

export class MarkCache {
  readonly #reader: MarkReader;
  readonly #spans = new Map<number, SpanMarks>();
  /** The number of columns for which the spans have allocated memory. */
  #width = 0;
  /** The span that was used last. */
  #lastSpan = -1;
  #lastMarks = new SpanMarks();

  constructor(reader: MarkReader) {
    this.#reader = reader;
  }

  get(market: number, height: number): number {
    const span = spanOf(height);
    if (span !== this.#lastSpan) this.#moveTo(span);
    if (!this.#lastMarks.has(market)) {
      if (this.#lastMarks.noteFirst(market)) return this.#reader.readMark(market, height);
      this.#keep(market, span);
    }
    return this.#lastMarks.get(market, placeInSpan(height));
  }

  #moveTo(span: number): void {
    this.#lastMarks = this.#spans.get(span) ?? this.#addSpan(span);
    this.#lastSpan = span;
  }

  #addSpan(span: number): SpanMarks {
    if (this.#spans.size === SPANS_KEPT_MAX) this.#forgetOldest();
    const marks = new SpanMarks();
    this.#spans.set(span, marks);
    return marks;
  }

  #forgetOldest(): void {
    const [oldest] = this.#spans.keys();
    this.forget(oldest);
  }

  #keep(market: number, span: number): void {
    const marks = this.#reader.readMarks(market, span);
    this.#makeRoom(span);
    const before = this.#lastMarks.width;
    this.#lastMarks.add(market, marks);
    this.#width += this.#lastMarks.width - before;
  }

  /** Evicts spans, the oldest first, until there is room for a column. The given span stays. */
  #makeRoom(span: number): void {
    for (const oldest of this.#spans.keys()) {
      if (this.#width < COLUMNS_KEPT_MAX) return;
      if (oldest !== span) this.forget(oldest);
    }
  }

  /** Drops the marks of the span, so that they are read again. */
  forget(span: number): void {
    this.#width -= this.#spans.get(span)?.width ?? 0;
    this.#spans.delete(span);
    if (span === this.#lastSpan) this.#lastSpan = -1;
  }
}

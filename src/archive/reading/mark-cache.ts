/**
 * Marks that were read from an archive, kept in memory by spans, since all accounts share them.
 *
 * Those of a height lie side by side: whoever asks for one mark mostly asks for others of that height,
 * and a cache miss for each takes longer than all the rest. The first mark that is asked for in a span of
 * a market is read alone: questions about random heights, and series with long steps, want no other.
 */

import { placeInSpan, SPAN_HEIGHTS, spanOf } from '../records/height-spans.ts';

/** Columns of all spans that are kept, used or not, two kilobytes each. */
const COLUMNS_KEPT_MAX = 16_384;
const MARKETS_INITIAL = 8;
/** In place of a column: of a market that was not asked for, and of one whose first mark was read alone. */
const NO_COLUMN = -1;
const ASKED_ONCE = -2;
/** Spans that are kept at most: those of which single marks were read have no columns. */
const SPANS_KEPT_MAX = 2048;

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
    return market < this.#columns.length && this.#columns[market] >= 0;
  }

  /** Notes that a mark of the market is asked for; true if it is the first one. */
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
  /** All marks of a span, place by place. */
  readMarks(market: number, span: number): Float64Array;
}

export class MarkCache {
  readonly #reader: MarkReader;
  readonly #spans = new Map<number, SpanMarks>();
  /** Columns that all of them have room for. */
  #width = 0;
  /** The span that was asked for last. */
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

/** The line of the chart as it is drawn, read back from the canvas, and what the chart says of each place. */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

export interface TruePoint {
  readonly time: number;
  readonly value: string;
  readonly isAfterGap: boolean;
}

/** A time in which the value stayed: the line goes on, though no other state was told. */
export interface Flat {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Rows of pixels between which a column of the canvas has the line; null where it has none. */
type Column = readonly [top: number, bottom: number] | null;

interface Drawing {
  readonly columns: readonly Column[];
  /** Pixels of the canvas for one of the page. */
  readonly ratio: number;
  /** What the chart says under a pointer at each pixel of the page. */
  readonly readings: readonly string[];
}

function readDrawing(page: Page): Promise<Drawing> {
  return page.evaluate(() => {
    const canvas = document.querySelector('figure.chart-box canvas') as HTMLCanvasElement;
    const over = document.querySelector('figure.chart-box .u-over') as HTMLElement;
    const reading = document.querySelector('figure.chart-box .chart-reading') as HTMLElement;
    const [outer, inner] = [canvas, over].map((element) => element.getBoundingClientRect());
    const ratio = canvas.width / outer.width;
    const [left, top, width, height] = [
      ...[inner.left - outer.left, inner.top - outer.top, inner.width, inner.height],
    ].map((px) => Math.round(px * ratio));
    const hex = getComputedStyle(document.documentElement).getPropertyValue('--accent').trim();
    const accent = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
    const image = canvas.getContext('2d')?.getImageData(left, top, width, height).data ?? [];
    const isLine = (x: number, y: number) => {
      const at = 4 * (y * width + x);
      const difference = accent.reduce((sum, part, index) => {
        return sum + Math.abs(part - image[at + index]);
      }, 0);
      return image[at + 3] > 200 && difference < 30;
    };
    const columns = Array.from({ length: width }, (_, x): Column => {
      const rows = Array.from({ length: height }, (__, y) => y).filter((y) => isLine(x, y));
      return rows.length === 0 ? null : [rows[0], rows[rows.length - 1]];
    });
    over.dispatchEvent(new MouseEvent('mouseenter'));
    const readings = Array.from({ length: Math.floor(inner.width) }, (_, x) => {
      const clientX = Math.ceil(inner.left) + x;
      const clientY = inner.top + inner.height / 2;
      over.dispatchEvent(new MouseEvent('mousemove', { bubbles: true, clientX, clientY }));
      return reading.textContent ?? '';
    });
    over.dispatchEvent(new MouseEvent('mouseleave'));
    return { columns, ratio, readings };
  });
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone: 'UTC' });

function sayValue(value: string): string {
  const [whole, decimals] = value.split('.');
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${decimals.padEnd(2, '0')}`;
}

/** As the chart says it in London's way of writing, in UTC. */
function sayPoint({ time, value }: TruePoint): string {
  return `${CLOCK.format(time)}  ${sayValue(value)}`;
}

/** A place on the axis of times, and one on that of values, in pixels. */
class Axes {
  readonly #from: number;
  readonly #spanMs: number;
  readonly #width: number;
  readonly #ofMax: number;
  readonly #pxPerUnit: number;
  readonly #max: number;

  constructor(points: readonly TruePoint[], keptMs: number, columns: readonly Column[]) {
    const to = points[points.length - 1].time;
    this.#from = Math.max(points[0].time, to - keptMs);
    this.#spanMs = to - this.#from;
    this.#width = columns.length;
    const drawn = columns.filter((column) => column !== null);
    const values = points
      .filter(({ time }) => time >= this.#from)
      .map(({ value }) => Number(value));
    const [min, max] = [Math.min(...values), Math.max(...values)];
    // The line is as high above its upper end as it is below its lower one.
    const top = Math.min(...drawn.map(([row]) => row));
    const bottom = Math.max(...drawn.map(([, row]) => row));
    this.#max = max;
    this.#ofMax = top;
    this.#pxPerUnit = (bottom - top) / (max - min);
  }

  xOf(time: number): number {
    return ((time - this.#from) / this.#spanMs) * this.#width;
  }

  yOf(value: number): number {
    return this.#ofMax + (this.#max - value) * this.#pxPerUnit;
  }
}

interface Step {
  readonly fromX: number;
  readonly toX: number;
  readonly fromY: number;
  readonly toY: number;
}

/** Where a line between two points is in the columns around x; undefined if it is not there. */
function rowsAround(x: number, nearPx: number, { fromX, toX, fromY, toY }: Step) {
  const [left, right] = [Math.max(fromX, x - nearPx), Math.min(toX, x + 1 + nearPx)];
  if (left > right) return undefined;
  const rowAt = (at: number) =>
    toX === fromX ? fromY : fromY + ((at - fromX) / (toX - fromX)) * (toY - fromY);
  return [rowAt(left), rowAt(right), ...(right - left < nearPx ? [fromY, toY] : [])];
}

interface Expected {
  readonly points: readonly TruePoint[];
  readonly keptMs: number;
  readonly flats: readonly Flat[];
}

/**
 * Every column of the canvas has the line where the points have it, within the width of the line, and
 * nothing in a gap; and every pixel of the page says a point that is there.
 */
export async function assertDrawn(page: Page, { points, keptMs, flats }: Expected): Promise<void> {
  const { columns, ratio, readings } = await readDrawing(page);
  const axes = new Axes(points, keptMs, columns);
  const placed = points.map(({ time, value, isAfterGap }) => ({
    ...{ x: axes.xOf(time), y: axes.yOf(Number(value)), isAfterGap },
  }));
  const steps = placed.slice(1).map(({ x, y, isAfterGap }, index) => ({
    ...{ fromX: placed[index].x, toX: x, fromY: placed[index].y, toY: y, isAfterGap },
  }));
  const linePx = 2 * ratio;
  let drawn = 0;
  let empty = 0;
  for (const [x, column] of columns.entries()) {
    const near = steps.filter(({ fromX, toX }) => fromX <= x + 1 + linePx && toX >= x - linePx);
    const rows = near.flatMap((step) =>
      step.isAfterGap ? [] : (rowsAround(x, linePx, step) ?? []),
    );
    if (rows.length === 0) {
      assert.equal(column, null, `column ${x} of ${columns.length} is in a gap`);
      empty++;
    } else if (column !== null) {
      drawn++;
      const [top, bottom] = [Math.min(...rows), Math.max(...rows)];
      const text = `column ${x}: ${column} instead of ${top} to ${bottom}`;
      assert.ok(column[0] >= top - 2 * linePx && column[1] <= bottom + 2 * linePx, text);
    } else {
      // Only beside a gap, or at the ends.
      const isAtEnd = x < linePx || x >= columns.length - linePx;
      assert.ok(isAtEnd || near.some(({ isAfterGap }) => isAfterGap), `column ${x} has no line`);
    }
  }
  assert.ok(drawn > columns.length / 2, `${drawn} of ${columns.length} columns`);
  const gaps = steps.filter(({ isAfterGap, fromX, toX }) => isAfterGap && toX - fromX > 4 * linePx);
  assert.ok(gaps.length === 0 || empty > 0, `${gaps.length} gaps and no empty column`);
  assertReadings(readings, { points, flats }, (time) => axes.xOf(time) / ratio);
}

function assertReadings(
  readings: readonly string[],
  { points, flats }: Pick<Expected, 'points' | 'flats'>,
  xOf: (time: number) => number,
): void {
  const flatValues = flats.map(({ fromMs, toMs }) => ({
    ...{ from: xOf(fromMs), to: xOf(toMs) },
    value: sayValue(points.findLast(({ time }) => time < fromMs)?.value ?? '0.0'),
  }));
  const said = new Set<string>();
  const spoken = points.map((point) => ({ x: xOf(point.time), text: sayPoint(point) }));
  const gaps = points.flatMap(({ time, isAfterGap }, index) =>
    isAfterGap && index > 0 ? [{ from: xOf(points[index - 1].time), to: xOf(time) }] : [],
  );
  for (const [x, text] of readings.entries()) {
    // The one that is nearest, or the one beside it if both are within a pixel.
    const nearest = Math.min(...spoken.map((point) => Math.abs(point.x - x)));
    const near = spoken.filter((point) => Math.abs(point.x - x) <= nearest + 2);
    const isInGap = gaps.some(({ from, to }) => from - 1 <= x && x <= to + 1);
    if (text === '' && isInGap) continue;
    said.add(text);
    const isFlat = flatValues.some(({ from, to, value }) => {
      return from - 1 <= x && x <= to + 1 && text.endsWith(`  ${value}`);
    });
    assert.ok(
      isFlat || near.some((point) => point.text === text),
      `at ${x}: ${text}, not ${near.map((point) => point.text)}`,
    );
  }
  const inSight = spoken.filter(({ x }) => x >= 0).length;
  assert.ok(said.size >= 0.7 * Math.min(inSight, readings.length), `${said.size} of ${inSight}`);
}

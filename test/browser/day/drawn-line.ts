/** The line of the chart as it is drawn, read back from the canvas, and what the chart says of each place. */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

export interface TruePoint {
  readonly time: number;
  readonly value: string;
  readonly isAfterGap: boolean;
}

/** A time in which the value stayed: the line goes on, though no other state was reported. */
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

/** Where the points are on the axis of times, in pixels. */
function placeOnTime(points: readonly TruePoint[], retentionMs: number, width: number) {
  const to = points[points.length - 1].time;
  const from = Math.max(points[0].time, to - retentionMs);
  return (time: number) => ((time - from) / (to - from)) * width;
}

/** A straight line between two points that are next to each other, in pixels and values. */
interface Step {
  readonly fromX: number;
  readonly toX: number;
  readonly from: number;
  readonly to: number;
  readonly isGap: boolean;
}

function listSteps(points: readonly TruePoint[], xOf: (time: number) => number): Step[] {
  return points.slice(1).map(({ time, value, isAfterGap }, index) => {
    const before = points[index];
    return {
      ...{ fromX: xOf(before.time), toX: xOf(time), isGap: isAfterGap },
      ...{ from: Number(before.value), to: Number(value) },
    };
  });
}

/** The line stays at its value until shortly before it ends: this much is too little to be seen. */
const UNSEEN_MS = 5_000;

function extendFlats(points: readonly TruePoint[], flats: readonly Flat[]): TruePoint[] {
  const ends = flats.flatMap(({ fromMs, toMs }) => {
    const last = points.findLast(({ time }) => time < fromMs);
    return last === undefined ? [] : [{ ...last, time: toMs - UNSEEN_MS, isAfterGap: false }];
  });
  return [...points, ...ends].sort((one, other) => one.time - other.time);
}

/** Between which values the line is in the columns around x; undefined if it is not there. */
function valuesAround(
  x: number,
  nearPx: number,
  steps: readonly Step[],
): readonly [low: number, high: number] | undefined {
  const values = steps.flatMap(({ fromX, toX, from, to, isGap }) => {
    const [left, right] = [Math.max(fromX, x - nearPx), Math.min(toX, x + 1 + nearPx)];
    if (isGap || left > right) return [];
    const slope = toX === fromX ? 0 : (to - from) / (toX - fromX);
    return toX === fromX ? [from, to] : [left, right].map((at) => from + (at - fromX) * slope);
  });
  return values.length === 0 ? undefined : [Math.min(...values), Math.max(...values)];
}

/** The axis of values is not reported: it is the one that fits most of the columns. */
function fitValues(pairs: readonly (readonly [value: number, row: number])[]) {
  const mean = (numbers: readonly number[]) =>
    numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  const [meanValue, meanRow] = [0, 1].map((side) => mean(pairs.map((pair) => pair[side])));
  const products = mean(pairs.map(([value, row]) => (value - meanValue) * (row - meanRow)));
  const squares = mean(pairs.map(([value]) => (value - meanValue) ** 2));
  const slope = products / squares;
  assert.ok(slope < 0, 'more is higher up');
  return (value: number) => meanRow + (value - meanValue) * slope;
}

interface Expected {
  readonly points: readonly TruePoint[];
  readonly retentionMs: number;
  readonly flats: readonly Flat[];
}

/**
 * Every column of the canvas has the line where the points have it, within the width of the line, and
 * nothing in a gap; and every pixel of the page says a point that is there.
 */
export async function assertDrawn(
  page: Page,
  { points, retentionMs, flats }: Expected,
): Promise<void> {
  const { columns, ratio, readings } = await readDrawing(page);
  const xOf = placeOnTime(points, retentionMs, columns.length);
  const steps = listSteps(extendFlats(points, flats), xOf);
  const linePx = 2 * ratio;
  const expected = columns.map((_, x) => valuesAround(x, linePx, steps));
  const yOf = fitValues(
    columns.flatMap((column, x) => {
      const exact = valuesAround(x, 0, steps);
      if (column === null || exact === undefined) return [];
      return [[(exact[0] + exact[1]) / 2, (column[0] + column[1]) / 2] as const];
    }),
  );
  const isBesideGap = (x: number) =>
    steps.some(({ isGap, fromX, toX }) => {
      return isGap && fromX - linePx <= x + 1 && x <= toX + linePx;
    });
  for (const [x, column] of columns.entries()) {
    const values = expected[x];
    if (values === undefined) {
      assert.equal(column, null, `column ${x} of ${columns.length} is in a gap`);
    } else if (column !== null) {
      const [bottom, top] = values.map(yOf);
      const text = `column ${x}: ${column} instead of ${top} to ${bottom}`;
      assert.ok(column[0] >= top - 2 * linePx && column[1] <= bottom + 2 * linePx, text);
    } else {
      const isAtEnd = x < linePx || x >= columns.length - linePx;
      assert.ok(isAtEnd || isBesideGap(x), `column ${x} has no line`);
    }
  }
  const empty = expected.filter((values) => values === undefined).length;
  const wide = steps.filter(({ isGap, fromX, toX }) => isGap && toX - fromX > 3 * linePx);
  assert.ok(wide.length === 0 || empty > 0, `${wide.length} gaps and no empty column`);
  assertReadings(readings, { points, flats }, (time) => xOf(time) / ratio);
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

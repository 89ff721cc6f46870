/** The common parts of all charts: a true time axis, the colour scheme, and the size of their box. */

import 'uplot/dist/uPlot.min.css';
import uPlot from 'uplot';
import { formatClock, formatTick, formatTime, group } from '../figures/text.ts';
import { readToken } from './design-tokens.ts';

export interface Palette {
  readonly text: string;
  readonly line: string;
  readonly accent: string;
  readonly accentFill: string;
  readonly accentFade: string;
  readonly profit: string;
}

function readPalette(): Palette {
  return {
    text: readToken('muted'),
    line: readToken('line'),
    accent: readToken('accent'),
    accentFill: readToken('accent-fill'),
    accentFade: readToken('accent-fade'),
    profit: readToken('profit'),
  };
}

/**
 * The times in seconds, followed by the values of each line. A value is null where a line has no
 * value.
 */
export type ChartData = readonly (readonly (number | null)[])[];

const FONT = '11px system-ui, sans-serif';
const CHARACTER_PX = 6.5;
/** The width of "12:00:00 PM" and a gap. */
const TIME_TICK_PX = 84;
/** The left margin, which prevents that the first label is cut. */
const LEFT_PX = 32;
const VALUE_TICK_PX = 34;
/**
 * The possible steps between ticks, in seconds. Ticks closer than a second would have the same
 * text.
 */
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].flatMap((count) => [count, count * 60]),
  ...[1, 2, 3, 4, 6, 12, 24, 48, 7 * 24, 30 * 24, 90 * 24, 365 * 24].map((hours) => hours * 3600),
].sort((one, other) => one - other);

const LINE_PX = 2;

/** Returns a line with a faded area below it. */
export function areaOf(palette: () => Palette): uPlot.Series {
  return {
    stroke: () => palette().accent,
    width: LINE_PX,
    points: { show: false },
    fill: ({ ctx, bbox }) => {
      const gradient = ctx.createLinearGradient(0, bbox.top, 0, bbox.top + bbox.height);
      gradient.addColorStop(0, palette().accentFill);
      gradient.addColorStop(1, palette().accentFade);
      return gradient;
    },
  };
}

/** Returns a line whose values may be below zero. */
export function profitOf(palette: () => Palette): uPlot.Series {
  return { stroke: () => palette().profit, width: LINE_PX, points: { show: false } };
}

/** Returns the width of a value axis with these labels, in pixels. */
function widthOf(texts: readonly string[]): number {
  return 12 + CHARACTER_PX * Math.max(0, ...texts.map(({ length }) => length));
}

/**
 * Returns the width of a value axis for these values. Two charts with the same width have aligned
 * times.
 */
export function axisWidthOf(values: readonly number[]): number {
  return widthOf(values.map(formatValue));
}

function createAxes(palette: () => Palette, axisPx: () => number): uPlot.Axis[] {
  return [
    {
      font: FONT,
      stroke: () => palette().text,
      space: TIME_TICK_PX,
      incrs: TIME_STEPS,
      grid: { show: false },
      ticks: { stroke: () => palette().line, width: 1, size: 4 },
      values: (_chart, times, _axis, _space, step) =>
        times.map((time) => formatTick(time * 1000, step * 1000)),
    },
    {
      side: 1,
      font: FONT,
      stroke: () => palette().text,
      space: VALUE_TICK_PX,
      grid: { stroke: () => palette().line, width: 1 },
      ticks: { show: false },
      size: (_chart, texts) => Math.max(axisPx(), widthOf(texts ?? [])),
      values: (_chart, values) => values.map(formatValue),
    },
  ];
}

function formatValue(value: number): string {
  return group(value.toFixed(2));
}

export interface ChartOptions {
  /** The lines, in the order of their data. */
  lines(palette: () => Palette): uPlot.Series[];
  /** The minimum width of the value axis, in pixels. */
  axisPx?(): number;
  /** Called with the time range, in seconds, that was dragged over. */
  dragged?(from: number, to: number): void;
}

/** A mark for an event, at a time in seconds. */
export interface ChartMark {
  readonly time: number;
  readonly title: string;
  readonly tone: string;
}

/** A drag over fewer pixels counts as a click. */
const DRAG_PX_MIN = 5;
const DAY_SECONDS = 86_400;

export class Chart {
  readonly #plot: uPlot;
  readonly #scheme = matchMedia('screen and (prefers-color-scheme: dark)');
  readonly #sizes: ResizeObserver;
  readonly #reading = document.createElement('span');
  #palette = readPalette();
  #range: readonly [from: number, to: number] = [0, 1];

  readonly #marks = document.createElement('div');

  constructor(element: HTMLElement, { lines, axisPx = () => 0, dragged }: ChartOptions) {
    const palette = () => this.#palette;
    const options: uPlot.Options = {
      ...sizeOf(element),
      legend: { show: false },
      // A vertical drag scrolls the page, not the chart.
      cursor: {
        y: false,
        drag: { x: dragged !== undefined, y: false, setScale: false, dist: DRAG_PX_MIN },
      },
      scales: { x: { time: true, range: () => [...this.#range] } },
      axes: createAxes(palette, axisPx),
      series: [{}, ...lines(palette)],
      padding: [10, 0, 0, LEFT_PX],
      hooks: {
        setCursor: [(plot) => this.#read(plot)],
        setSelect: [(plot) => dragged && this.#select(plot, dragged)],
      },
    };
    this.#plot = new uPlot(options, [[], ...lines(palette).map(() => [])], element);
    this.#reading.className = 'chart-reading figure';
    element.append(this.#reading);
    this.#marks.className = 'chart-marks';
    this.#plot.over.append(this.#marks);
    this.#scheme.addEventListener('change', this.#repaint);
    this.#sizes = new ResizeObserver(() => this.#plot.setSize(sizeOf(element)));
    this.#sizes.observe(element);
  }

  /** Redraws the chart with a time axis between these times, in seconds. */
  show(data: ChartData, from: number, to: number): void {
    this.#range = [from, to];
    this.#plot.setData(data as uPlot.AlignedData);
  }

  /** Call this after `show`. */
  mark(marks: readonly ChartMark[]): void {
    const [from, to] = this.#range;
    const elements = marks.map(({ time, title, tone }) => {
      const element = document.createElement('span');
      element.className = `chart-mark ${tone}`;
      element.title = title;
      element.style.left = `${((time - from) / (to - from)) * 100}%`;
      return element;
    });
    this.#marks.replaceChildren(...elements);
  }

  #select(plot: uPlot, dragged: (from: number, to: number) => void): void {
    const { left, width, top, height } = plot.select;
    if (width < DRAG_PX_MIN) return;
    const [from, to] = [left, left + width].map((px) => plot.posToVal(px, 'x'));
    plot.setSelect({ left: 0, width: 0, top, height }, false);
    dragged(from, to);
  }

  /**
   * Returns true if the axis would move by at least the width of the line. Nobody sees a smaller
   * move.
   */
  isMoved(from: number, to: number): boolean {
    const [drawnFrom, drawnTo] = this.#range;
    const widthPx = this.#plot.bbox.width / uPlot.pxRatio;
    const leastSeconds = ((to - from) * LINE_PX) / widthPx;
    return Math.abs(from - drawnFrom) >= leastSeconds || Math.abs(to - drawnTo) >= leastSeconds;
  }

  /** Shows the time and the value under the pointer. */
  #read({ cursor, data }: uPlot): void {
    const index = cursor.idx;
    const values = data.slice(1).map((line) => line[index ?? -1]);
    const value = values.find((one) => typeof one === 'number');
    this.#reading.textContent =
      index == null || value == null
        ? ''
        : `${this.#formatMoment(data[0][index] * 1000)}  ${formatValue(value)}`;
  }

  #formatMoment(timeMs: number): string {
    const [from, to] = this.#range;
    return to - from < DAY_SECONDS ? formatClock(timeMs) : formatTime(timeMs);
  }

  readonly #repaint = (): void => {
    this.#palette = readPalette();
    this.#plot.redraw(false);
  };

  remove(): void {
    this.#scheme.removeEventListener('change', this.#repaint);
    this.#sizes.disconnect();
    this.#plot.destroy();
    this.#reading.remove();
  }
}

function sizeOf({ clientWidth, clientHeight }: HTMLElement): { width: number; height: number } {
  return { width: Math.max(1, clientWidth), height: Math.max(1, clientHeight) };
}

/** Draws the curves of a soak as an SVG picture, which is legible on light and on dark pages. */

import type { LoadReport } from './load.ts';
import type { ProcessSample } from './probe.ts';
import { countAnswers, type SoakResult } from './soak.ts';
import { FIGURES, median, type SoakSpan } from './verdict.ts';

/** A point of a curve: minutes since the start, and the figure. */
type Point = readonly [minute: number, value: number];

interface Panel {
  readonly title: string;
  /** The curves, in the order of the processes in the legend. */
  readonly curves: readonly (readonly Point[])[];
}

/** The sizes of the picture, in pixels. */
const WIDTH = 960;
const COLUMNS = 2;
const PANEL_HEIGHT = 190;
const LEGEND_HEIGHT = 40;
const MARGIN = { left: 48, right: 16, top: 34, bottom: 28 };
const PLOT_WIDTH = WIDTH / COLUMNS - MARGIN.left - MARGIN.right;
const PLOT_HEIGHT = PANEL_HEIGHT - MARGIN.top - MARGIN.bottom;
const LEGEND_STEP = 134;
/** The maximum number of points of a curve. Each point is a median. */
const POINTS_MAX = 180;
const Y_TICKS = 4;
const X_TICKS = 6;

/** The colour of each process, on a light page and on a dark page. */
const COLOURS = [
  ['#57606a', '#9aa4ae'],
  ['#0969da', '#58a6ff'],
  ['#1a9fb0', '#56d4dd'],
  ['#bc4c00', '#ffa657'],
  ['#8250df', '#d2a8ff'],
  ['#bf3989', '#f778ba'],
  ['#b7bec6', '#4d5660'],
];

function formatStyle(): string {
  const curve = (theme: 0 | 1) =>
    COLOURS.map((pair, index) => `.c${index}{stroke:${pair[theme]}}`).join('');
  return (
    `text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.tick{fill:#59636e}` +
    `.grid{stroke:#d1d9e0;stroke-width:1}.curve{fill:none;stroke-width:1.6}${curve(0)}` +
    `@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.tick{fill:#9198a1}` +
    `.grid{stroke:#3d444d}${curve(1)}}`
  );
}

/** Returns the next round number at or above a value, so that the ticks are round. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 0.1)));
  return power * ([1, 2, 4, 6, 8].find((factor) => factor * power >= value) ?? 10);
}

/**
 * Replaces groups of neighbours by their medians, so that no more points are left than are visible.
 */
function thin(points: readonly Point[]): Point[] {
  const size = Math.ceil(points.length / POINTS_MAX);
  const thinned: Point[] = [];
  for (let start = 0; start < points.length; start += size) {
    const some = points.slice(start, start + size);
    thinned.push([some[0][0], median(some.map(([, value]) => value))]);
  }
  return thinned;
}

function figurePanels({ samplesByRole, span }: SoakResult): Panel[] {
  return FIGURES.filter(({ name }) => name !== 'handles').map(({ name, title, unit }) => ({
    title: unit === '' ? title : `${title}, ${unit}`,
    curves: [...samplesByRole.values()].map((samples) =>
      samples.map((sample): Point => [minuteOf(sample, span), sample[name]]),
    ),
  }));
}

function minuteOf({ timeMs }: ProcessSample, { startMs }: SoakSpan): number {
  return (timeMs - startMs) / 60_000;
}

/** Returns the panel of answers per second, each value over ten seconds. */
function answersPanel(reports: readonly LoadReport[], place: number): Panel {
  const seconds = 10;
  const points: Point[] = [];
  for (let end = seconds; end < reports.length; end += seconds) {
    const count = countAnswers(reports[end]) - countAnswers(reports[end - seconds]);
    points.push([end / 60, count / seconds]);
  }
  const curves: Point[][] = [];
  curves[place] = points;
  return { title: 'answers and pushed states a second', curves };
}

function drawPanel({ title, curves }: Panel, index: number, minutes: number): string {
  const left = (index % COLUMNS) * (WIDTH / COLUMNS) + MARGIN.left;
  const top = LEGEND_HEIGHT + Math.floor(index / COLUMNS) * PANEL_HEIGHT + MARGIN.top;
  const shown = curves.map((points) =>
    thin(points.filter(([minute]) => minute >= 0 && minute <= minutes)),
  );
  const highest = roundUp(Math.max(...shown.flat().map(([, value]) => value)));
  const x = (minute: number) => left + (minute / minutes) * PLOT_WIDTH;
  const y = (value: number) => top + PLOT_HEIGHT * (1 - value / highest);
  const parts = [`<text class="title" x="${left}" y="${top - 12}">${title}</text>`];
  for (let tick = 0; tick <= Y_TICKS; tick++) {
    const value = (highest * tick) / Y_TICKS;
    const line = `x1="${left}" x2="${left + PLOT_WIDTH}" y1="${y(value)}" y2="${y(value)}"`;
    parts.push(`<line class="grid" ${line}/>`);
    parts.push(formatTick(left - 6, y(value) + 4, 'end', Number(value.toFixed(1))));
  }
  for (let tick = 0; tick <= X_TICKS; tick++) {
    const minute = (minutes * tick) / X_TICKS;
    const text = `${Number(minute.toFixed(1))}${tick === X_TICKS ? ' min' : ''}`;
    const anchor = tick === X_TICKS ? 'end' : 'middle';
    parts.push(formatTick(x(minute), top + PLOT_HEIGHT + 18, anchor, text));
  }
  for (const [place, points] of shown.entries()) {
    if (points === undefined || points.length === 0) continue;
    const text = points.map(([minute, value]) => `${x(minute).toFixed(1)},${y(value).toFixed(1)}`);
    parts.push(`<polyline class="curve c${place}" points="${text.join(' ')}"/>`);
  }
  return parts.join('\n');
}

function formatTick(x: number, y: number, anchor: string, text: string | number): string {
  return `<text class="tick" x="${x}" y="${y}" text-anchor="${anchor}">${text}</text>`;
}

function drawLegend(roles: readonly string[]): string {
  const entries = roles.map((role, index) => {
    const x = 16 + index * LEGEND_STEP;
    const line = `<line class="curve c${index}" x1="${x}" x2="${x + 18}" y1="20" y2="20"/>`;
    return `${line}<text x="${x + 24}" y="24">${role}</text>`;
  });
  return entries.join('\n');
}

export function drawSoak(result: SoakResult): string {
  const roles = [...result.samplesByRole.keys()];
  const { startMs, endMs } = result.span;
  const minutes = (endMs - startMs) / 60_000;
  const panels = [...figurePanels(result), answersPanel(result.reports, roles.indexOf('worker'))];
  const height = LEGEND_HEIGHT + Math.ceil(panels.length / COLUMNS) * PANEL_HEIGHT;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">
<title>What each process held in a soak of ${minutes} minutes</title>
<style>${formatStyle()}</style>
${drawLegend(roles)}
${panels.map((panel, index) => drawPanel(panel, index, minutes)).join('\n')}
</svg>
`;
}

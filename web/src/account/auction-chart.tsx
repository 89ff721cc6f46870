/** A chart of the auction's price from start to floor, with the present price. */

import { useLayoutEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import type { Line } from '../figures/auction-line.ts';
import { areaOf, Chart, type ChartData, type Palette } from '../parts/chart.ts';

const DASHES = [4, 4];
const PRESENT_PX = 9;

function createLines(palette: () => Palette): uPlot.Series[] {
  const past = areaOf(palette);
  const future = {
    stroke: () => palette().text,
    width: 1,
    dash: DASHES,
    points: { show: false },
  };
  const present = {
    stroke: () => palette().accent,
    points: { show: true, size: PRESENT_PX, fill: () => palette().accent },
  };
  return [past, future, present];
}

/**
 * Returns the times of the start, the present and the end, and the values of each line at these
 * times; a value is null where a line has no point.
 */
function toLines({ start, present, end }: Line): ChartData {
  return [
    [start.time, present.time, end.time],
    [start.value, present.value, null],
    [null, present.value, end.value],
    [null, present.value, null],
  ];
}

export function AuctionChart({ line, label }: { line: Line; label: string }) {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart>(undefined);
  useLayoutEffect(() => {
    if (element.current === null) return undefined;
    chart.current = new Chart(element.current, { lines: createLines });
    return () => chart.current?.remove();
  }, []);
  const { start, present, end } = line;
  // The start time and the present point identify the line.
  useLayoutEffect(() => {
    chart.current?.show(toLines(line), start.time, end.time);
  }, [start.time, present.time, present.value]);
  return (
    <div class="chart auction-chart" role="img" aria-label={label}>
      <div ref={element} class="chart-canvas" />
    </div>
  );
}

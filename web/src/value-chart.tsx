/** The account value since the page was opened, live. */

import { AreaSeries, type ISeriesApi, type UTCTimestamp } from 'lightweight-charts';
import { useEffect, useRef } from 'preact/hooks';
import { type DrawnChart, drawChart } from './chart.ts';
import type { Point, ValueHistory } from './value-history.ts';

interface Drawn extends DrawnChart {
  readonly series: ISeriesApi<'Area'>;
  shown?: { history: ValueHistory; epoch: number };
}

const toChart = ({ time, value }: Point) => ({ time: time as UTCTimestamp, value });

function createValueChart(element: HTMLElement): Drawn {
  let series: ISeriesApi<'Area'> | undefined;
  const drawn = drawChart(element, (chart, palette) => {
    series ??= chart.addSeries(AreaSeries, { lineWidth: 2, priceLineVisible: false });
    series.applyOptions({
      lineColor: palette.accent,
      topColor: palette.accentFill,
      bottomColor: palette.accentFade,
    });
  });
  return { ...drawn, series: series as ISeriesApi<'Area'> };
}

/** Appends a single new point; anything else redraws the line. */
function showHistory(drawn: Drawn, history: ValueHistory): void {
  const { shown, series, chart } = drawn;
  const last = history.points.at(-1);
  if (shown?.history === history && shown.epoch === history.epoch && last !== undefined) {
    series.update(toChart(last));
  } else {
    series.setData(history.points.map(toChart));
  }
  drawn.shown = { history, epoch: history.epoch };
  chart.timeScale().fitContent();
}

export function ValueChart({ history, version }: { history: ValueHistory; version: number }) {
  const element = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn>(undefined);
  useEffect(() => {
    if (element.current === null) return undefined;
    drawn.current = createValueChart(element.current);
    return () => drawn.current?.remove();
  }, []);
  // `version` changes when the history does.
  useEffect(() => {
    if (drawn.current !== undefined) showHistory(drawn.current, history);
  }, [history, version]);
  return (
    <figure class="chart-box">
      <figcaption class="muted small">Account value since this page was opened</figcaption>
      <div
        class="chart"
        role="img"
        aria-label="A line of the account value since this page was opened"
      >
        <div ref={element} class="chart-canvas" />
      </div>
    </figure>
  );
}

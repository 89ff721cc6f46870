/** The auction's line from start to floor, and where it is now. */

import {
  AreaSeries,
  type ISeriesApi,
  LineSeries,
  LineStyle,
  type UTCTimestamp,
} from 'lightweight-charts';
import { useEffect, useRef } from 'preact/hooks';
import type { Line, LinePoint } from './auction-line.ts';
import { type DrawnChart, drawChart, type Palette } from './chart.ts';

interface Drawn extends DrawnChart {
  show(line: Line): void;
}

const toChart = ({ time, value }: LinePoint) => ({ time: time as UTCTimestamp, value });

const QUIET = { priceLineVisible: false, crosshairMarkerVisible: false } as const;

function pastStyle({ accent, accentFill, accentFade }: Palette) {
  return { lineColor: accent, topColor: accentFill, bottomColor: accentFade };
}

function createAuctionChart(element: HTMLElement): Drawn {
  let series:
    | { past: ISeriesApi<'Area'>; future: ISeriesApi<'Line'>; present: ISeriesApi<'Line'> }
    | undefined;
  const drawn = drawChart(element, (chart, palette) => {
    series ??= {
      past: chart.addSeries(AreaSeries, { ...QUIET, lineWidth: 2, lastValueVisible: false }),
      future: chart.addSeries(LineSeries, {
        ...QUIET,
        lineWidth: 1,
        lineStyle: LineStyle.Dashed,
        lastValueVisible: false,
      }),
      present: chart.addSeries(LineSeries, {
        ...QUIET,
        pointMarkersVisible: true,
        pointMarkersRadius: 5,
      }),
    };
    series.past.applyOptions(pastStyle(palette));
    series.future.applyOptions({ color: palette.text });
    series.present.applyOptions({ color: palette.accent });
  });
  return {
    ...drawn,
    show({ past, future, present }) {
      series?.past.setData(past.map(toChart));
      series?.future.setData(future.map(toChart));
      series?.present.setData([toChart(present)]);
      drawn.chart.timeScale().fitContent();
    },
  };
}

export function AuctionChart({ line, label }: { line: Line; label: string }) {
  const element = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn>(undefined);
  useEffect(() => {
    if (element.current === null) return undefined;
    drawn.current = createAuctionChart(element.current);
    return () => drawn.current?.remove();
  }, []);
  const { time, value } = line.present;
  // The current point identifies the line.
  useEffect(() => drawn.current?.show(line), [time, value, line.past.length]);
  return (
    <div class="chart auction-chart" role="img" aria-label={label}>
      <div ref={element} class="chart-canvas" />
    </div>
  );
}

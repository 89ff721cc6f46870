/** What all charts share: the colour scheme and local time. */

import {
  type ChartOptions,
  createChart,
  type DeepPartial,
  type IChartApi,
  type Time,
} from 'lightweight-charts';
import { formatClock, group } from './text.ts';

export interface Palette {
  readonly text: string;
  readonly line: string;
  readonly accent: string;
  readonly accentFill: string;
  readonly accentFade: string;
}

function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: read('muted'),
    line: read('line'),
    accent: read('accent'),
    accentFill: read('accent-fill'),
    accentFade: read('accent-fade'),
  };
}

function chartOptions({ text, line }: Palette): DeepPartial<ChartOptions> {
  return {
    autoSize: true,
    layout: {
      background: { color: 'transparent' },
      textColor: text,
      fontSize: 11,
      // Its logo needs an inline style, which the CSP forbids; the page's footer has the credit.
      attributionLogo: false,
    },
    grid: { vertLines: { visible: false }, horzLines: { color: line } },
    rightPriceScale: {
      borderVisible: false,
      entireTextOnly: true,
      scaleMargins: { top: 0.12, bottom: 0.08 },
    },
    timeScale: {
      borderColor: line,
      timeVisible: true,
      secondsVisible: true,
      fixLeftEdge: true,
      fixRightEdge: true,
      tickMarkFormatter: (time: Time) => formatClock(Number(time) * 1000),
    },
    localization: {
      timeFormatter: (time: Time) => formatClock(Number(time) * 1000),
      priceFormatter: (value: number) => group(value.toFixed(2)),
    },
    // The page scrolls, not the chart in it.
    handleScroll: false,
    handleScale: false,
  };
}

export interface DrawnChart {
  readonly chart: IChartApi;
  remove(): void;
}

/** Draws into an element; calls `paint` now and whenever the colour scheme changes. */
export function drawChart(
  element: HTMLElement,
  paint: (chart: IChartApi, palette: Palette) => void,
): DrawnChart {
  const chart = createChart(element, chartOptions(readPalette()));
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const repaint = () => {
    const palette = readPalette();
    chart.applyOptions(chartOptions(palette));
    paint(chart, palette);
  };
  repaint();
  scheme.addEventListener('change', repaint);
  return {
    chart,
    remove() {
      scheme.removeEventListener('change', repaint);
      chart.remove();
    },
  };
}

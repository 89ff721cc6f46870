/**
 * Charts of an account's value and profit over time, from the archive, with zoom and with marks for
 * transfers and liquidations.
 */

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import {
  continueLive,
  findTransfers,
  type Liquidation,
  panSpan,
  profitPoints,
  SPANS,
  type SpanName,
  scaleSpan,
  spanUntil,
  subjectOf,
  type TimeSpan,
  type Transfer,
  valuePoints,
} from '../history/archive-series.ts';
import { toLine } from '../history/chart-line.ts';
import { changeOver, type ValueChange } from '../history/value-change.ts';
import { type Point, RANGES } from '../history/value-history.ts';
import { areaOf, axisWidthOf, Chart, type ChartOptions, profitOf } from '../parts/chart.ts';
import { SignedFigure } from '../parts/figure.tsx';
import { dexesShown, pastTime } from '../view/selectors.ts';
import type { View } from '../view/store.ts';
import { LiquidationList, markLiquidation, markTransfer, Transfers } from './archive-marks.tsx';
import { Change, describeLine } from './value-chart.tsx';

export interface ArchiveChartActions {
  chooseSpan(span: SpanName): void;
  /** Shows a part of the span with finer steps; undefined shows the whole span. */
  zoomTo(zoom: TimeSpan | undefined): void;
}

interface ArchiveLine {
  readonly values: readonly Point[];
  /**
   * The profit since the left edge of the chart; empty if the archive does not know the transfers.
   */
  readonly profits: readonly Point[];
  readonly transfers: readonly Transfer[];
  readonly liquidations: readonly Liquidation[];
  readonly span: TimeSpan;
  readonly stepMs: number;
  /** The largest span to which the person can zoom out. */
  readonly bounds: TimeSpan;
}

/**
 * Returns the archive's line; returns undefined if there is no archive. The page then shows the
 * values that it has received itself.
 */
export function useArchiveLine(view: View): ArchiveLine | undefined {
  const { archiveSeries, user, at, zoom, freshness, history, historyVersion } = view;
  const archive = freshness?.archive;
  const isSame = archiveSeries?.subject === subjectOf(user, dexesShown(view));
  const known = isSame ? archiveSeries : undefined;
  const figures = useMemo(
    () =>
      known && {
        values: valuePoints(known),
        profits: profitPoints(known),
        transfers: findTransfers(known),
      },
    [known],
  );
  const isLive = at === undefined && zoom === undefined;
  const stepMs = known?.stepMs ?? 0;
  const values = useMemo(() => {
    const past = figures?.values ?? [];
    return isLive ? continueLive(past, stepMs, history.pointsOf(RANGES[0].name)) : past;
  }, [figures, isLive, history, isLive && historyVersion]);
  if (archive === undefined) return undefined;
  const end = at === undefined ? archive.lastTime : (pastTime(view) ?? archive.lastTime);
  const bounds = spanUntil(view.span, end, archive.firstTime);
  const { profits = [], transfers = [] } = figures ?? {};
  const shown = zoom ?? known?.span ?? bounds;
  const span = isLive ? slide(shown, values, view.span) : shown;
  const liquidations = known?.liquidations ?? [];
  return { values, profits, transfers, liquidations, span, stepMs, bounds };
}

/**
 * Returns the span with the newest live point at its right edge. The left edge moves only if the
 * span has its full length.
 */
function slide(span: TimeSpan, values: readonly Point[], name: SpanName): TimeSpan {
  const to = Math.max(span.to, values.at(-1)?.time ?? 0);
  return spanUntil(name, to, span.from);
}

const WHOLE_LINE = { name: '', stepMs: 0, retentionMs: Number.POSITIVE_INFINITY };

export function changeOfLine({ values }: ArchiveLine): ValueChange | undefined {
  return changeOver(values, WHOLE_LINE);
}

interface ArchiveChartProps {
  readonly view: View;
  readonly line: ArchiveLine;
  readonly actions: ArchiveChartActions;
}

export function ArchiveChart({ view, line, actions }: ArchiveChartProps) {
  const { values, profits, transfers, liquidations, stepMs } = line;
  const { valueBox, profitBox } = useCharts(line, actions.zoomTo);
  const change = changeOfLine(line);
  const profit = profits.at(-1)?.value;
  const zoom = (factor: number) => actions.zoomTo(scaleSpan(line.span, factor, line.bounds));
  const press = ({ key }: KeyboardEvent) => {
    if (key === '+' || key === '=') zoom(ZOOM_IN);
    else if (key === '-') zoom(ZOOM_OUT);
  };
  return (
    <figure
      class="chart-box"
      data-source="archive"
      data-points={values.length}
      data-gaps={values.filter(({ isAfterGap }) => isAfterGap).length}
      data-transfers={transfers.length}
      data-step={stepMs}
    >
      <figcaption class="chart-caption small">
        <span class="muted">Account value</span>
        <Change change={change} />
        <span class="spacer" />
        <SpanChoice {...{ view, actions, press }} />
        <ZoomButtons {...{ view, line, zoom, press }} zoomTo={actions.zoomTo} />
      </figcaption>
      <div class="chart" role="img" aria-label={describeLine(change)}>
        <div ref={valueBox} class="chart-canvas" />
      </div>
      <p class="chart-caption small">
        <span class="muted">Profit in this time, without transfers</span>
        {profit !== undefined && <SignedFigure text={profit} field="profitChange" />}
      </p>
      <div class="chart chart-profit" role="img" aria-label={describeProfit(profit)}>
        <div ref={profitBox} class="chart-canvas" />
      </div>
      {view.archiveRefusal !== undefined && (
        <p class="problem" role="alert">
          There is no history: {view.archiveRefusal.message}
        </p>
      )}
      <Transfers transfers={transfers} />
      <LiquidationList liquidations={liquidations} />
    </figure>
  );
}

function describeProfit(profit: string | undefined): string {
  return profit === undefined ? 'A line of the profit' : `A line of the profit, now ${profit}`;
}

/** Creates two charts with the same time axis, and draws them in the same frame as the figures. */
function useCharts(line: ArchiveLine, zoomTo: ArchiveChartActions['zoomTo']) {
  const valueBox = useRef<HTMLDivElement>(null);
  const profitBox = useRef<HTMLDivElement>(null);
  const charts = useRef<readonly Chart[]>([]);
  const drawn = useRef<readonly Point[]>(undefined);
  const axisPx = useRef(0);
  useLayoutEffect(() => {
    if (valueBox.current === null || profitBox.current === null) return undefined;
    const options: Omit<ChartOptions, 'lines'> = {
      axisPx: () => axisPx.current,
      dragged: (from, to) => zoomTo({ from: Math.round(from * 1000), to: Math.round(to * 1000) }),
    };
    charts.current = [
      new Chart(valueBox.current, { ...options, lines: (palette) => [areaOf(palette)] }),
      new Chart(profitBox.current, { ...options, lines: (palette) => [profitOf(palette)] }),
    ];
    return () => {
      for (const chart of charts.current) chart.remove();
    };
  }, []);
  useLayoutEffect(() => {
    const [from, to] = [line.span.from / 1000, line.span.to / 1000];
    const [first] = charts.current;
    if (drawn.current === line.profits && first?.isMoved(from, to) === false) return;
    drawn.current = line.profits;
    const marks = [...line.transfers.map(markTransfer), ...line.liquidations.map(markLiquidation)];
    axisPx.current = axisWidthOf([line.values, line.profits].flatMap(extremesOf));
    for (const [index, points] of [line.values, line.profits].entries()) {
      charts.current[index]?.show(toLine(points), from, to);
      charts.current[index]?.mark(marks);
    }
  });
  return { valueBox, profitBox };
}

/** Returns the lowest and the highest value: the longest labels of an axis are at its ends. */
function extremesOf(points: readonly Point[]): number[] {
  const values = points.map(({ value }) => Number(value));
  return values.length === 0 ? [] : [Math.min(...values), Math.max(...values)];
}

interface SpanChoiceProps {
  readonly view: View;
  readonly actions: ArchiveChartActions;
  press(event: KeyboardEvent): void;
}

function SpanChoice({ view, actions, press }: SpanChoiceProps) {
  return (
    <fieldset class="ranges" onKeyDown={press}>
      <legend class="hidden">How far back the chart goes</legend>
      {SPANS.map(({ name, label, title }) => (
        <button
          key={name}
          type="button"
          class="quiet"
          title={title}
          aria-pressed={name === view.span}
          onClick={() => actions.chooseSpan(name)}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}

const ZOOM_IN = 0.5;
const ZOOM_OUT = 2;
const PAN_SHARE = 0.5;

interface ZoomButtonsProps {
  readonly view: View;
  readonly line: ArchiveLine;
  zoom(factor: number): void;
  zoomTo(zoom: TimeSpan | undefined): void;
  press(event: KeyboardEvent): void;
}

/** With these buttons, a person can zoom by keyboard and touch, as by dragging over the chart. */
function ZoomButtons({ view, line, zoom, zoomTo, press }: ZoomButtonsProps) {
  const isZoomed = view.zoom !== undefined;
  const pan = (share: number) => zoomTo(panSpan(line.span, share, line.bounds));
  const buttons = [
    { sign: '+', name: 'Zoom in', isOff: false, act: () => zoom(ZOOM_IN) },
    { sign: '−', name: 'Zoom out', isOff: !isZoomed, act: () => zoom(ZOOM_OUT) },
    { sign: '‹', name: 'Earlier part', isOff: !isZoomed, act: () => pan(-PAN_SHARE) },
    { sign: '›', name: 'Later part', isOff: !isZoomed, act: () => pan(PAN_SHARE) },
  ];
  return (
    <fieldset class="ranges" onKeyDown={press}>
      <legend class="hidden">Part of the chart; the keys + and − zoom</legend>
      {buttons.map(({ sign, name, isOff, act }) => (
        <button
          key={name}
          type="button"
          class="quiet"
          title={name}
          // The button is never disabled, because a disabled button would lose the keyboard focus.
          aria-disabled={isOff}
          onClick={() => isOff || act()}
        >
          <span aria-hidden="true">{sign}</span>
          <span class="hidden">{name}</span>
        </button>
      ))}
      {isZoomed && (
        <button type="button" class="quiet" onClick={() => zoomTo(undefined)}>
          Whole range
        </button>
      )}
    </fieldset>
  );
}

/** A live chart of the account value over time. The line has a gap where the value is not known. */

import { useLayoutEffect, useRef } from 'preact/hooks';
import { formatSince, formatTime } from '../figures/text.ts';
import { toLine } from '../history/chart-line.ts';
import { changeOver, type ValueChange } from '../history/value-change.ts';
import {
  findRange,
  type Point,
  RANGES,
  type RangeName,
  type ValueHistory,
} from '../history/value-history.ts';
import { areaOf, Chart } from '../parts/chart.ts';
import { SignedFigure, toneOf } from '../parts/figure.tsx';

interface ValueChartProps {
  readonly history: ValueHistory;
  /** A number that changes whenever the history changes. */
  readonly version: number;
  readonly range: RangeName;
  chooseRange(range: RangeName): void;
}

export function ValueChart({ history, version, range: name, chooseRange }: ValueChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart>(undefined);
  const drawn = useRef<readonly Point[]>(undefined);
  const range = findRange(name);
  const points = history.pointsOf(name);
  useLayoutEffect(() => {
    if (element.current === null) return undefined;
    chart.current = new Chart(element.current, { lines: (palette) => [areaOf(palette)] });
    return () => chart.current?.remove();
  }, []);
  // The chart is drawn in the same frame as the figures, because a second frame would double the
  // cost.
  useLayoutEffect(() => {
    const last = points.at(-1);
    if (last === undefined) return;
    const from = Math.max(points[0].time, last.time - range.retentionMs) / 1000;
    const to = last.time / 1000;
    if (drawn.current === points && !chart.current?.isMoved(from, to)) return;
    drawn.current = points;
    chart.current?.show(toLine(points), from, to);
  }, [points, version, range]);
  const change = changeOver(points, range);
  return (
    <figure
      class="chart-box"
      data-points={points.length}
      data-gaps={points.filter(({ isAfterGap }) => isAfterGap).length}
    >
      <figcaption class="chart-caption small">
        <span class="muted">Account value</span>
        <Change change={change} />
        <span class="spacer" />
        <RangeChoice chosen={name} choose={chooseRange} />
      </figcaption>
      <div class="chart" role="img" aria-label={describeLine(change)}>
        <div ref={element} class="chart-canvas" />
      </div>
    </figure>
  );
}

export function Change({ change }: { change: ValueChange | undefined }) {
  if (change === undefined) return null;
  const { amount, ratio, since } = change;
  return (
    <span data-since={since}>
      <SignedFigure text={amount} field="valueChange" />
      {ratio !== undefined && (
        <>
          {' '}
          <span class={toneOf(ratio)}>
            (<SignedFigure text={ratio} field="valueChangeRatio" /> %)
          </span>
        </>
      )}{' '}
      <span class="muted" title={formatTime(since)}>
        since {formatSince(since)}
      </span>
    </span>
  );
}

export function describeLine(change: ValueChange | undefined): string {
  if (change === undefined) return 'A line of the account value, which has just started';
  return `A line of the account value since ${formatTime(change.since)}, changed by ${change.amount}`;
}

interface RangeChoiceProps {
  readonly chosen: RangeName;
  choose(range: RangeName): void;
}

function RangeChoice({ chosen, choose }: RangeChoiceProps) {
  return (
    <fieldset class="ranges">
      <legend class="hidden">How far back the chart goes</legend>
      {RANGES.map(({ name }) => (
        <button
          key={name}
          type="button"
          class="quiet"
          aria-pressed={name === chosen}
          onClick={() => choose(name)}
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
}

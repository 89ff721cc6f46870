/** Shows the events of an account as marks of its charts, and as lists below the charts. */

import type { ComponentChildren } from 'preact';
import { formatCount, formatTime, group, groupRounded, withSign } from '../figures/text.ts';
import type { Liquidation, Transfer } from '../history/archive-series.ts';
import type { ChartMark } from '../parts/chart.ts';
import { toneOf } from '../parts/figure.tsx';

function describeTransfer({ amount, time }: Transfer): string {
  const shown = withSign(amount, group(amount));
  return `${shown} transferred, by ${formatTime(time)}`;
}

export function markTransfer(transfer: Transfer): ChartMark {
  const { time, amount } = transfer;
  return { time: time / 1000, title: describeTransfer(transfer), tone: toneOf(amount) };
}

function describeLiquidation({ coin, szi, sziAfter, markPx, time }: Liquidation): string {
  const sizes = `from ${group(szi)} to ${group(sziAfter)}`;
  return `${coin} liquidated ${sizes} at a mark of ${group(markPx)}, ${formatTime(time)}`;
}

export function markLiquidation(liquidation: Liquidation): ChartMark {
  const title = describeLiquidation(liquidation);
  return { time: liquidation.time / 1000, title, tone: 'liquidation' };
}

/** The maximum number of marks that are listed in words. */
const LISTED_MAX = 20;

interface MarkListProps<Mark> {
  readonly marks: readonly Mark[];
  /** The noun for one event, and the noun for several events. */
  readonly nouns: readonly [one: string, several: string];
  render(mark: Mark): ComponentChildren;
}

/** A folded list of marks, with the newest mark first. */
function MarkList<Mark>({ marks, nouns, render }: MarkListProps<Mark>) {
  if (marks.length === 0) return null;
  const [one, several] = nouns;
  const newest = [...marks].reverse().slice(0, LISTED_MAX);
  return (
    <details class="fold chart-marks-list small">
      <summary>
        {marks.length === 1 ? `1 ${one}` : `${formatCount(marks.length)} ${several}`}
      </summary>
      <ul>{newest.map(render)}</ul>
      {newest.length < marks.length && (
        <p class="muted">and {formatCount(marks.length - newest.length)} earlier ones</p>
      )}
    </details>
  );
}

export function Transfers({ transfers }: { transfers: readonly Transfer[] }) {
  return (
    <MarkList
      marks={transfers}
      nouns={['transfer', 'transfers']}
      render={(transfer) => (
        <li key={transfer.time} class="figure" data-transfer={transfer.amount}>
          <span class={toneOf(transfer.amount)}>
            {withSign(transfer.amount, groupRounded(transfer.amount, 2))}
          </span>{' '}
          <span class="muted" title={describeTransfer(transfer)}>
            by {formatTime(transfer.time)}
          </span>
        </li>
      )}
    />
  );
}

/**
 * A ledger has no event for a liquidation. The list has the positions that became smaller while
 * they were below their maintenance margin.
 */
export function LiquidationList({ liquidations }: { liquidations: readonly Liquidation[] }) {
  return (
    <MarkList
      marks={liquidations}
      nouns={['liquidation', 'liquidations']}
      render={(liquidation) => (
        <li
          key={`${liquidation.time} ${liquidation.coin}`}
          class="figure"
          data-liquidation={liquidation.coin}
          title="It became smaller while it was below its maintenance margin"
        >
          {describeLiquidation(liquidation)}
        </li>
      )}
    />
  );
}

/**
 * A row of the table of positions. There may be hundreds of rows, which change several times a
 * second. For this reason cells are plain elements from functions, not components. A row that has
 * not changed is not drawn, and a row out of sight is drawn only if it cannot wait.
 */

import { Component } from 'preact';
import { type Holding, keyOf } from '../figures/all-dexes.ts';
import type { Position } from '../figures/answers.ts';
import { formatPercent, negateText, parseDecimal } from '../figures/decimal.ts';
import { type Derived, derive, isLong } from '../figures/position-figures.ts';
import { decimalsOf, group, groupRounded, nameDex, withSign } from '../figures/text.ts';
import type { HypotheticalPosition, PositionOutcome } from '../figures/what-if.ts';
import { toneOf } from '../parts/figure.tsx';
import { CELL, ROW, ROW_HEADING } from '../parts/roles.ts';
import { drawRowButton } from '../parts/row-buttons.tsx';

interface Row {
  readonly holding: Holding;
  /** The height of the answer; undefined if the exchange gave the answer. */
  readonly height: number | undefined;
  readonly hasDex: boolean;
  /** The position after the moves of "What if"; undefined if no mark is moved. */
  readonly hypothetical: HypotheticalPosition | undefined;
  /** True if Tab reaches this row. */
  readonly isStop: boolean;
}

interface PositionRowProps extends Row {
  readonly isInSight: boolean;
}

/**
 * This component is a class, because a hook would return the elements of an earlier draw. Those
 * elements would keep all elements of that draw in memory, and, through them, the elements of every
 * draw before it.
 */
export class PositionRow extends Component<PositionRowProps> {
  #drawn: Row | undefined;

  override shouldComponentUpdate({ isInSight, ...row }: PositionRowProps): boolean {
    const drawn = this.#drawn;
    if (drawn === undefined) return true;
    // A row out of sight may show older figures, because the row has their height. A change of the
    // row's structure cannot wait.
    if (!isInSight && row.height !== undefined && isAlike(row, drawn)) return false;
    return JSON.stringify({ ...row, height: drawn.height }) !== JSON.stringify(drawn);
  }

  override render({ isInSight: _isInSight, ...row }: PositionRowProps) {
    this.#drawn = row;
    return drawRow(row);
  }
}

/**
 * Returns true if the rows differ in figures only; returns false for a row with hypothetical
 * figures, which is always drawn.
 */
function isAlike(row: Row, drawn: Row): boolean {
  const isHypothetical = row.hypothetical !== undefined || drawn.hypothetical !== undefined;
  return !isHypothetical && row.hasDex === drawn.hasDex && row.isStop === drawn.isStop;
}

function drawRow({ holding, height, hasDex, hypothetical, isStop }: Row) {
  const { dex, position } = holding;
  const { coin, szi, leverage, maxLeverage, cumFunding } = position;
  const isUp = isLong(position);
  const derived = derive(position);
  return (
    <tr
      {...ROW}
      data-dex={dex}
      data-coin={coin}
      data-height={height}
      class={hypothetical && `would-be-${hypothetical.outcome}`}
    >
      <th {...ROW_HEADING}>{drawRowButton({ name: keyOf(holding), label: coin, isStop })}</th>
      {hypothetical && drawHypothetical(hypothetical)}
      {hasDex && (
        <td {...CELL} data-label="Dex" data-field="dex">
          {nameDex(dex)}
        </td>
      )}
      <td {...CELL} class={isUp ? 'gain' : 'loss'} data-field="side">
        {isUp ? '▲ long' : '▼ short'}
      </td>
      {drawCell('Size', 'szi', szi, group(szi))}
      {drawUsd('Value', 'positionValue', position.positionValue)}
      {drawCell('Entry', 'entryPx', position.entryPx, group(position.entryPx))}
      {drawCell('Mark', 'mark', derived.mark, group(derived.mark))}
      {drawProfit(position)}
      <td {...CELL} data-label="Leverage" title={`at most ${maxLeverage}×`}>
        <span class="figure">
          <span data-field="leverage">{leverage.value}×</span>{' '}
          <span class="muted" data-field="mode">
            {leverage.type}
          </span>
        </span>
      </td>
      {drawUsd('Margin', 'marginUsed', position.marginUsed)}
      {drawFunding(cumFunding)}
      {drawLiquidation(position, derived)}
    </tr>
  );
}

/** The signs differ in shape, so that no outcome depends on colour alone. */
const OUTCOMES: Readonly<Record<PositionOutcome, string>> = {
  stays: 'stays',
  liquidated: '✕ liquidated',
  backed: '? liquidated',
  unknown: 'unknown',
};

function drawHypothetical({ outcome, mark, unrealizedPnl }: HypotheticalPosition) {
  return (
    <>
      <td {...CELL} class="hypothetical" data-label="If: outcome" data-field="hypotheticalOutcome">
        <span class="figure">{OUTCOMES[outcome]}</span>
      </td>
      <td
        {...CELL}
        class="number hypothetical"
        data-label="If: mark"
        title={mark}
        data-field="hypotheticalMark"
      >
        {group(mark)}
      </td>
      <td
        {...CELL}
        class={`number hypothetical ${toneOf(unrealizedPnl)}`}
        data-label="If: PnL"
        title={unrealizedPnl}
        data-field="hypotheticalPnl"
      >
        {withSign(unrealizedPnl, groupRounded(unrealizedPnl, 2))}
      </td>
    </>
  );
}

/** Draws a cell. Its label is shown only if the row is a card. */
function drawCell(label: string, field: string, complete: string, shown: string) {
  return (
    <td {...CELL} class="number" data-label={label} title={complete} data-field={field}>
      {shown}
    </td>
  );
}

const drawUsd = (label: string, field: string, text: string) =>
  drawCell(label, field, text, groupRounded(text, 2));

/** The endpoint reports paid funding as positive; the page shows received funding as positive. */
function drawFunding({ allTime, sinceOpen, sinceChange }: Position['cumFunding']) {
  const received = negateText(sinceOpen);
  const title = [
    `${describeFunding(sinceOpen)} since open`,
    `${describeFunding(sinceChange)} since change`,
    `${describeFunding(allTime)} of all time`,
  ].join(', ');
  return (
    <td
      {...CELL}
      class={`number ${toneOf(received)}`}
      data-label="Funding received"
      title={title}
      data-field="fundingReceived"
      data-complete={received}
    >
      {withSign(received, groupRounded(received, 2))}
    </td>
  );
}

function describeFunding(paid: string): string {
  return paid.startsWith('-') ? `${paid.slice(1)} received` : `${paid} paid`;
}

function drawProfit({ unrealizedPnl, returnOnEquity }: Position) {
  const percent = formatPercent(parseDecimal(returnOnEquity));
  return (
    <td {...CELL} class="number profit" data-label="PnL (ROE)">
      <span class={toneOf(unrealizedPnl)} title={unrealizedPnl} data-field="unrealizedPnl">
        {withSign(unrealizedPnl, groupRounded(unrealizedPnl, 2))}
      </span>{' '}
      <span class="roe muted" title={returnOnEquity} data-field="returnOnEquity">
        {`${withSign(returnOnEquity, group(percent))} %`}
      </span>
    </td>
  );
}

const NO_PRICE = 'the service gives no liquidation price';

function drawLiquidation({ liquidationPx, entryPx }: Position, { mark, distance }: Derived) {
  if (distance === undefined) {
    return (
      <td
        {...CELL}
        class="number muted liquidation"
        data-label="Liquidation"
        title={NO_PRICE}
        data-field="liquidationPx"
      >
        none
      </td>
    );
  }
  const { text, share, tone } = distance;
  const decimals = Math.max(decimalsOf(entryPx), decimalsOf(mark));
  const isNear = tone === 'loss';
  return (
    <td {...CELL} class="number liquidation" data-label="Liquidation">
      <span title={liquidationPx ?? NO_PRICE} data-field="liquidationPx">
        {liquidationPx === null ? 'none' : groupRounded(liquidationPx, decimals)}
      </span>
      <span class="bar distance" aria-hidden="true">
        <span class={`bar-fill ${tone}`} style={{ width: `${(share * 100).toFixed(1)}%` }} />
      </span>
      <span class={`distance-text ${isNear ? 'loss' : 'muted'}`} data-field="distance">
        {isNear ? `! ${text}` : text}
      </span>
    </td>
  );
}

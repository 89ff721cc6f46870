/**
 * The table of positions, which a person can sort, with a totals row. Rows keep their place while
 * their figures change.
 */

import { useMemo, useRef } from 'preact/hooks';
import { type Holding, holdingsOf, keyOf, pickDex } from '../figures/all-dexes.ts';
import { digitsOfPosition, digitsOfSums, sumsOf } from '../figures/all-digits.ts';
import { type ColumnName, type Sort, sortKeys } from '../figures/position-figures.ts';
import { formatPositionsCsv, nameOfCsv } from '../figures/positions-csv.ts';
import {
  computeWhatIf,
  type Hypothetical,
  isMoved,
  type Move,
  NO_MOVE,
} from '../figures/what-if.ts';
import { DigitsDialog } from '../parts/digits-dialog.tsx';
import { Figure, SignedFigure } from '../parts/figure.tsx';
import { Frame } from '../parts/panel.tsx';
import { CELL, COLUMN_HEADING, ROW, ROW_HEADING, ROWS, TABLE } from '../parts/roles.ts';
import { drawRowButton, useRows } from '../parts/row-buttons.tsx';
import { saveFile } from '../parts/save-file.ts';
import { type SortableColumn, SortHeading, StaleOrderNote } from '../parts/sorting.tsx';
import { useTableWidth } from '../parts/table-width.ts';
import { useVisibleRows } from '../parts/visible-rows.ts';
import type { View } from '../view/store.ts';
import { PositionRow } from './position-row.tsx';
import { WhatIf } from './what-if.tsx';

type Column = SortableColumn<ColumnName>;

const COLUMNS: readonly Column[] = [
  { name: 'coin', label: 'Coin', isText: true, isAscending: true },
  { name: 'dex', label: 'Dex', isText: true, isAscending: true },
  { name: 'side', label: 'Side', isText: true, isAscending: true },
  { name: 'size', label: 'Size' },
  { name: 'value', label: 'Value' },
  { name: 'entry', label: 'Entry' },
  { name: 'mark', label: 'Mark' },
  { name: 'pnl', label: 'PnL (ROE)', hint: 'unrealized, with the return on equity' },
  { name: 'leverage', label: 'Leverage', isText: true, isAscending: true },
  { name: 'margin', label: 'Margin' },
  { name: 'funding', label: 'Funding received', hint: 'since the position was opened; − was paid' },
  {
    name: 'liquidation',
    label: 'Liquidation',
    hint: 'price, and how far the mark is from it',
    isAscending: true,
  },
];

interface PositionsPanelProps {
  readonly view: View;
  sortBy(sort: Sort | undefined): void;
  setWhatIf(move: Move | undefined): void;
  showNotice(notice: string): void;
}

export function PositionsPanel({
  view,
  sortBy,
  setWhatIf: change,
  showNotice,
}: PositionsPanelProps) {
  const { user, dex, sort, whatIf } = view;
  const { answer } = view.account;
  const hypothetical = useHypothetical(view);
  const holdings = useMemo(() => answer && holdingsOf(pickDex(answer.value, dex)), [answer, dex]);
  const count = holdings?.length ?? 0;
  const hasDex = dex === undefined && (answer?.value.length ?? 0) > 1;
  // The page renders at least once a second. The table renders only if one of these values changes.
  const table = useMemo(
    () =>
      holdings && (
        <PositionsTable
          key={`${user} ${dex}`}
          height={answer?.height}
          {...{ holdings, hasDex, hypothetical, sort, sortBy }}
        />
      ),
    [holdings, hasDex, hypothetical, sort],
  );
  const extra = holdings && (
    <>
      <span class="tag">{count}</span>
      {count > 0 && view.at === undefined && <WhatIfButton {...{ whatIf, change }} />}
    </>
  );
  const tools = holdings && count > 0 && <CsvButton {...{ view, holdings, showNotice }} />;
  return (
    <Frame
      name="positions"
      title="Positions"
      view={view}
      panel={view.account}
      extra={extra}
      tools={tools}
      showsProblem={false}
    >
      {holdings === undefined ? null : count === 0 ? (
        <p class="empty">
          No positions here.
          {answer?.accountTime === undefined &&
            ' An address that the ledger has never seen looks the same.'}
        </p>
      ) : (
        <>
          {whatIf !== undefined && (
            <WhatIf
              move={whatIf}
              coins={holdings.map(({ position }) => position.coin)}
              hypothetical={hypothetical}
              refusal={view.termsRefusal}
              setWhatIf={change}
            />
          )}
          {table}
        </>
      )}
    </Frame>
  );
}

interface CsvButtonProps {
  readonly view: View;
  readonly holdings: readonly Holding[];
  showNotice(notice: string): void;
}

/**
 * Saves the positions that are shown as a CSV file, in the endpoint's order, with the panel's
 * height in its name.
 */
function CsvButton({ view, holdings, showNotice }: CsvButtonProps) {
  const { user, dex, account } = view;
  const save = () => {
    if (account.answer === undefined) return;
    const { height, time } = account.answer;
    const name = nameOfCsv({ user, dex, height, time });
    saveFile(name, 'text/csv;charset=utf-8', formatPositionsCsv(holdings));
    showNotice(`Saved ${name}`);
  };
  return (
    <button type="button" class="quiet" onClick={save}>
      CSV<span class="hidden"> of the positions</span>
    </button>
  );
}

/**
 * Returns the figures after the moves of "What if"; returns undefined if no mark is moved, or if
 * the markets' margin tiers are not known yet.
 */
function useHypothetical({ account, dex, whatIf, terms }: View): Hypothetical | undefined {
  const states = account.answer?.value;
  return useMemo(() => {
    if (states === undefined || whatIf === undefined || terms === undefined) return undefined;
    return isMoved(whatIf) ? computeWhatIf(pickDex(states, dex), whatIf, terms) : undefined;
  }, [states, dex, whatIf, terms]);
}

interface WhatIfButtonProps {
  readonly whatIf: Move | undefined;
  change(move: Move | undefined): void;
}

function WhatIfButton({ whatIf, change }: WhatIfButtonProps) {
  const isOpen = whatIf !== undefined;
  return (
    <button
      type="button"
      class="quiet what-if-open"
      aria-expanded={isOpen}
      onClick={() => change(isOpen ? undefined : NO_MOVE)}
    >
      What if…
    </button>
  );
}

/**
 * Returns the order after a click on a column. Repeated clicks give the column's default direction,
 * the reverse direction, and the endpoint's order.
 */
function nextSort(sort: Sort | undefined, { name, isAscending = false }: Column): Sort | undefined {
  if (sort?.column !== name) return { column: name, isDescending: !isAscending };
  return sort.isDescending === isAscending
    ? undefined
    : { column: name, isDescending: isAscending };
}

/** The name of the totals row: a name that no coin has. */
const SUM = '';

interface PositionsTableProps {
  readonly holdings: readonly Holding[];
  /** The height of the answer; undefined if the exchange gave the answer. */
  readonly height: number | undefined;
  /** True if the dex of each position is shown. */
  readonly hasDex: boolean;
  /** The figures after the moves of "What if"; undefined if no mark is moved. */
  readonly hypothetical: Hypothetical | undefined;
  readonly sort: Sort | undefined;
  sortBy(sort: Sort | undefined): void;
}

function PositionsTable(props: PositionsTableProps) {
  const { holdings, height, hasDex, hypothetical, sort, sortBy } = props;
  const keys = holdings.map(keyOf).join();
  // The order changes only with a click or with the set of positions: a person cannot read rows
  // that move.
  const order = useMemo(() => sortKeys(holdings, sort), [keys, sort]);
  const isOrderStale = sort !== undefined && sortKeys(holdings, sort).join() !== order.join();
  const byKey = new Map(holdings.map((holding) => [keyOf(holding), holding]));
  const [coin, ...others] = COLUMNS.filter(({ name }) => hasDex || name !== 'dex');
  const drawHeading = (column: Column) => (
    <SortHeading
      key={column.name}
      {...{ column, sort }}
      onSort={() => sortBy(nextSort(sort, column))}
    />
  );
  const { stop, opened, close, handlers } = useRows([...order, SUM]);
  const body = useRef<HTMLTableSectionElement>(null);
  const isInSight = useVisibleRows(body, order);
  const room = useRef<HTMLElement>(null);
  useTableWidth(room, `${hasDex} ${hypothetical !== undefined}`);
  const digits = (row: string) => {
    const holding = byKey.get(row);
    return holding === undefined ? digitsOfSums(holdings) : digitsOfPosition(holding.position);
  };
  return (
    <>
      <p class="sort-note muted small">
        {isOrderStale && sort && <StaleOrderNote sortAgain={() => sortBy({ ...sort })} />}
      </p>
      <section
        ref={room}
        class={hypothetical ? 'scroll positions-room is-hypothetical' : 'scroll positions-room'}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
        tabIndex={0}
        aria-label="Table of positions"
      >
        <table {...TABLE} class="positions" {...handlers}>
          <thead {...ROWS}>
            <tr {...ROW}>
              {drawHeading(coin)}
              {hypothetical && <HypotheticalHeadings />}
              {others.map(drawHeading)}
            </tr>
          </thead>
          <tbody {...ROWS} ref={body}>
            {order.map((key) => {
              const holding = byKey.get(key);
              if (holding === undefined) return null;
              const then = hypothetical?.positions.get(key);
              return (
                <PositionRow
                  key={key}
                  {...{ holding, height, hasDex }}
                  hypothetical={then}
                  isStop={key === stop}
                  isInSight={isInSight(key)}
                />
              );
            })}
          </tbody>
          <Sums {...{ holdings, hasDex, hypothetical }} isStop={stop === SUM} />
        </table>
      </section>
      {opened !== undefined && (
        <DigitsDialog
          title={byKey.get(opened)?.position.coin ?? 'Sum'}
          figures={digits(opened)}
          close={close}
        />
      )}
    </>
  );
}

/** These columns come next to the coin, so that a person sees them on a phone, too. */
function HypotheticalHeadings() {
  return (
    <>
      <th {...COLUMN_HEADING} class="hypothetical">
        If: outcome
      </th>
      <th {...COLUMN_HEADING} class="number hypothetical">
        If: mark
      </th>
      <th {...COLUMN_HEADING} class="number hypothetical">
        If: PnL
      </th>
    </>
  );
}

interface SumsProps extends Pick<PositionsTableProps, 'holdings' | 'hasDex' | 'hypothetical'> {
  readonly isStop: boolean;
}

function Sums({ holdings, hasDex, hypothetical, isStop }: SumsProps) {
  const { value, profit, margin, funding } = sumsOf(holdings);
  return (
    <tfoot {...ROWS}>
      <tr {...ROW}>
        <th {...ROW_HEADING}>{drawRowButton({ name: SUM, label: 'Sum', isStop })}</th>
        {hypothetical && (
          <>
            <td {...CELL} colSpan={2} class="hypothetical" />
            <td {...CELL} class="number hypothetical" data-label="If: PnL">
              <SignedFigure text={hypothetical.unrealizedPnl} field="sumHypotheticalPnl" />
            </td>
          </>
        )}
        <td {...CELL} colSpan={hasDex ? 3 : 2} />
        <td {...CELL} class="number" data-label="Value">
          <Figure text={value} field="sumValue" decimals={2} />
        </td>
        <td {...CELL} colSpan={2} />
        <td {...CELL} class="number profit" data-label="PnL">
          <SignedFigure text={profit} field="sumPnl" decimals={2} /> <span class="roe" />
        </td>
        <td {...CELL} />
        <td {...CELL} class="number" data-label="Margin">
          <Figure text={margin} field="sumMargin" decimals={2} />
        </td>
        <td {...CELL} class="number" data-label="Funding received">
          <SignedFigure text={funding} field="sumFunding" decimals={2} />
        </td>
        <td {...CELL} />
      </tr>
    </tfoot>
  );
}

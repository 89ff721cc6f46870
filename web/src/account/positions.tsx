/** The positions: sortable, with sums; rows keep their place while figures move. */

import { useMemo, useRef } from 'preact/hooks';
import { type Holding, holdingsOf, keyOf, pickDex } from '../figures/all-dexes.ts';
import { digitsOfPosition, digitsOfSums, sumsOf } from '../figures/all-digits.ts';
import { type ColumnName, type Sort, sortKeys } from '../figures/position-figures.ts';
import { formatPositionsCsv, nameOfCsv } from '../figures/positions-csv.ts';
import { isMoved, type Move, NO_MOVE, type Supposed, suppose } from '../figures/what-if.ts';
import { DigitsDialog } from '../parts/digits-dialog.tsx';
import { Figure, SignedFigure } from '../parts/figure.tsx';
import { Frame } from '../parts/panel.tsx';
import { CELL, COLUMN_HEADING, ROW, ROW_HEADING, ROWS, TABLE } from '../parts/roles.ts';
import { drawRowButton, useRows } from '../parts/row-buttons.tsx';
import { saveFile } from '../parts/save-file.ts';
import { useSight } from '../parts/sight.ts';
import { OvertakenNote, type SortableColumn, SortHeading } from '../parts/sorting.tsx';
import { useTableRoom } from '../parts/table-room.ts';
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
  suppose(move: Move | undefined): void;
  tell(notice: string): void;
}

export function PositionsPanel({ view, sortBy, suppose: change, tell }: PositionsPanelProps) {
  const { user, dex, sort, whatIf } = view;
  const { answer } = view.account;
  const supposed = useSupposed(view);
  const holdings = useMemo(() => answer && holdingsOf(pickDex(answer.value, dex)), [answer, dex]);
  const count = holdings?.length ?? 0;
  const hasDex = dex === undefined && (answer?.value.length ?? 0) > 1;
  // The page renders at least every second; the table only for a new answer.
  const table = useMemo(
    () =>
      holdings && (
        <PositionsTable
          key={`${user} ${dex}`}
          height={answer?.height}
          {...{ holdings, hasDex, supposed, sort, sortBy }}
        />
      ),
    [holdings, hasDex, supposed, sort],
  );
  const extra = holdings && (
    <>
      <span class="tag">{count}</span>
      {count > 0 && view.at === undefined && <WhatIfButton {...{ whatIf, change }} />}
    </>
  );
  const tools = holdings && count > 0 && <CsvButton {...{ view, holdings, tell }} />;
  return (
    <Frame
      name="positions"
      title="Positions"
      view={view}
      panel={view.account}
      extra={extra}
      tools={tools}
      tellsProblem={false}
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
              supposed={supposed}
              refusal={view.termsRefusal}
              suppose={change}
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
  tell(notice: string): void;
}

/** Everything that is shown, at the height of the panel, in the endpoint's order. */
function CsvButton({ view, holdings, tell }: CsvButtonProps) {
  const { user, dex, account } = view;
  const save = () => {
    if (account.answer === undefined) return;
    const { height, time } = account.answer;
    const name = nameOfCsv({ user, dex, height, time });
    saveFile(name, 'text/csv;charset=utf-8', formatPositionsCsv(holdings));
    tell(`Saved ${name}`);
  };
  return (
    <button type="button" class="quiet" onClick={save}>
      CSV<span class="hidden"> of the positions</span>
    </button>
  );
}

/** Undefined while nothing is supposed, or nothing is known of the markets yet. */
function useSupposed({ account, dex, whatIf, terms }: View): Supposed | undefined {
  const states = account.answer?.value;
  return useMemo(() => {
    if (states === undefined || whatIf === undefined || terms === undefined) return undefined;
    return isMoved(whatIf) ? suppose(pickDex(states, dex), whatIf, terms) : undefined;
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

/** Clicks cycle: the column's own direction, reversed, the endpoint's order. */
function nextSort(sort: Sort | undefined, { name, isAscending = false }: Column): Sort | undefined {
  if (sort?.column !== name) return { column: name, isDescending: !isAscending };
  return sort.isDescending === isAscending
    ? undefined
    : { column: name, isDescending: isAscending };
}

/** The name of the row of sums, which no coin has. */
const SUM = '';

interface PositionsTableProps {
  readonly holdings: readonly Holding[];
  /** Of the answer; undefined for the exchange's own. */
  readonly height: number | undefined;
  /** Whether the dex of each position is shown. */
  readonly hasDex: boolean;
  /** Undefined where nothing is supposed. */
  readonly supposed: Supposed | undefined;
  readonly sort: Sort | undefined;
  sortBy(sort: Sort | undefined): void;
}

function PositionsTable(props: PositionsTableProps) {
  const { holdings, height, hasDex, supposed, sort, sortBy } = props;
  const keys = holdings.map(keyOf).join();
  // The order is frozen at the click: rows that move cannot be read.
  const order = useMemo(() => sortKeys(holdings, sort), [keys, sort]);
  const isOvertaken = sort !== undefined && sortKeys(holdings, sort).join() !== order.join();
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
  const isInSight = useSight(body, order);
  const room = useRef<HTMLElement>(null);
  useTableRoom(room, `${hasDex} ${supposed !== undefined}`);
  const digits = (row: string) => {
    const holding = byKey.get(row);
    return holding === undefined ? digitsOfSums(holdings) : digitsOfPosition(holding.position);
  };
  return (
    <>
      <p class="sort-note muted small">
        {isOvertaken && sort && <OvertakenNote sortAgain={() => sortBy({ ...sort })} />}
      </p>
      <section
        ref={room}
        class={supposed ? 'scroll positions-room is-supposed' : 'scroll positions-room'}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
        tabIndex={0}
        aria-label="Table of positions"
      >
        <table {...TABLE} class="positions" {...handlers}>
          <thead {...ROWS}>
            <tr {...ROW}>
              {drawHeading(coin)}
              {supposed && <SupposedHeadings />}
              {others.map(drawHeading)}
            </tr>
          </thead>
          <tbody {...ROWS} ref={body}>
            {order.map((key) => {
              const holding = byKey.get(key);
              if (holding === undefined) return null;
              const then = supposed?.positions.get(key);
              return (
                <PositionRow
                  key={key}
                  {...{ holding, height, hasDex }}
                  supposed={then}
                  isStop={key === stop}
                  isInSight={isInSight(key)}
                />
              );
            })}
          </tbody>
          <Sums {...{ holdings, hasDex, supposed }} isStop={stop === SUM} />
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

/** Beside the coin, so that they are seen on a phone too. */
function SupposedHeadings() {
  return (
    <>
      <th {...COLUMN_HEADING} class="supposed">
        If: outcome
      </th>
      <th {...COLUMN_HEADING} class="number supposed">
        If: mark
      </th>
      <th {...COLUMN_HEADING} class="number supposed">
        If: PnL
      </th>
    </>
  );
}

interface SumsProps extends Pick<PositionsTableProps, 'holdings' | 'hasDex' | 'supposed'> {
  readonly isStop: boolean;
}

function Sums({ holdings, hasDex, supposed, isStop }: SumsProps) {
  const { value, profit, margin, funding } = sumsOf(holdings);
  return (
    <tfoot {...ROWS}>
      <tr {...ROW}>
        <th {...ROW_HEADING}>{drawRowButton({ name: SUM, label: 'Sum', isStop })}</th>
        {supposed && (
          <>
            <td {...CELL} colSpan={2} class="supposed" />
            <td {...CELL} class="number supposed" data-label="If: PnL">
              <SignedFigure text={supposed.unrealizedPnl} field="sumSupposedPnl" />
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

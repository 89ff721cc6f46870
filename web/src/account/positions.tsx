/** The positions: sortable, with sums; rows keep their place while figures move. */

import { useMemo } from 'preact/hooks';
import { digitsOfPosition, digitsOfSums, sumsOf } from '../figures/all-digits.ts';
import type { Position } from '../figures/answers.ts';
import { type ColumnName, type Sort, sortCoins } from '../figures/position-figures.ts';
import { formatPositionsCsv, nameOfCsv } from '../figures/positions-csv.ts';
import { DigitsDialog } from '../parts/digits-dialog.tsx';
import { Figure, SignedFigure } from '../parts/figure.tsx';
import { Frame } from '../parts/panel.tsx';
import { drawRowButton, useRows } from '../parts/row-buttons.tsx';
import { saveFile } from '../parts/save-file.ts';
import type { View } from '../view/view.ts';
import { PositionRow } from './position-row.tsx';

interface Column {
  readonly name: ColumnName;
  readonly label: string;
  readonly hint?: string;
  readonly isText?: boolean;
  /** The least comes first, as people expect of texts, and of what is the nearest. */
  readonly isAscending?: boolean;
}

const COLUMNS: readonly Column[] = [
  { name: 'coin', label: 'Coin', isText: true, isAscending: true },
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
  tell(notice: string): void;
}

export function PositionsPanel({ view, sortBy, tell }: PositionsPanelProps) {
  const { sort } = view;
  const { answer } = view.account;
  const positions = useMemo(
    () => answer?.value.assetPositions.map(({ position }) => position),
    [answer],
  );
  const count = positions?.length ?? 0;
  // The page renders at least every second; the table only for a new answer.
  const table = useMemo(
    () =>
      positions && (
        <PositionsTable key={`${view.user} ${view.dex}`} {...{ positions, sort, sortBy }} />
      ),
    [positions, sort],
  );
  const extra = positions && <span class="tag">{count}</span>;
  const tools = count > 0 && <CsvButton view={view} tell={tell} />;
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
      {positions === undefined ? null : count === 0 ? (
        <p class="empty">
          No positions here.
          {answer?.accountTime === undefined &&
            ' An address that the ledger has never seen looks the same.'}
        </p>
      ) : (
        table
      )}
    </Frame>
  );
}

/** Everything that is shown, at the height of the panel, in the endpoint's order. */
function CsvButton({ view, tell }: Pick<PositionsPanelProps, 'view' | 'tell'>) {
  const { user, dex, account } = view;
  const save = () => {
    if (account.answer === undefined) return;
    const { value, height, time } = account.answer;
    const positions = value.assetPositions.map(({ position }) => position);
    const name = nameOfCsv({ user, dex, height, time });
    saveFile(name, 'text/csv;charset=utf-8', formatPositionsCsv(positions));
    tell(`Saved ${name}`);
  };
  return (
    <button type="button" class="quiet" onClick={save}>
      CSV<span class="hidden"> of the positions</span>
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
  readonly positions: readonly Position[];
  readonly sort: Sort | undefined;
  sortBy(sort: Sort | undefined): void;
}

function PositionsTable({ positions, sort, sortBy }: PositionsTableProps) {
  const coins = positions.map(({ coin }) => coin).join(' ');
  // The order is frozen at the click: rows that move cannot be read.
  const order = useMemo(() => sortCoins(positions, sort), [coins, sort]);
  const isOvertaken = sort !== undefined && sortCoins(positions, sort).join() !== order.join();
  const byCoin = new Map(positions.map((position) => [position.coin, position]));
  const { stop, opened, close, handlers } = useRows([...order, SUM]);
  const digits = (row: string) => {
    const position = byCoin.get(row);
    return position === undefined ? digitsOfSums(positions) : digitsOfPosition(position);
  };
  return (
    <>
      <p class="sort-note muted small">
        {isOvertaken && sort && (
          <>
            Figures have moved since it was sorted.{' '}
            <button type="button" class="link-button" onClick={() => sortBy({ ...sort })}>
              Sort again
            </button>
          </>
        )}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard. */}
      <section class="scroll" tabIndex={0} aria-label="Table of positions">
        <table class="positions" {...handlers}>
          <thead>
            <tr>
              {COLUMNS.map((column) => (
                <Heading key={column.name} {...{ column, sort, sortBy }} />
              ))}
            </tr>
          </thead>
          <tbody>
            {order.map((coin) => {
              const position = byCoin.get(coin);
              return (
                position && <PositionRow key={coin} position={position} isStop={coin === stop} />
              );
            })}
          </tbody>
          <Sums positions={positions} isStop={stop === SUM} />
        </table>
      </section>
      {opened !== undefined && (
        <DigitsDialog
          title={opened === SUM ? 'Sum' : opened}
          figures={digits(opened)}
          close={close}
        />
      )}
    </>
  );
}

interface HeadingProps {
  readonly column: Column;
  readonly sort: Sort | undefined;
  sortBy(sort: Sort | undefined): void;
}

function Heading({ column, sort, sortBy }: HeadingProps) {
  const { name, label, hint, isText } = column;
  const isSorted = sort?.column === name;
  const direction = isSorted && (sort.isDescending ? 'descending' : 'ascending');
  return (
    <th scope="col" class={isText ? '' : 'number'} aria-sort={direction || 'none'}>
      <button type="button" title={hint} onClick={() => sortBy(nextSort(sort, column))}>
        {isText && label}
        <span aria-hidden="true" class="sort-mark">
          {isSorted ? (sort.isDescending ? '▼' : '▲') : ''}
        </span>
        {!isText && label}
      </button>
    </th>
  );
}

function Sums({ positions, isStop }: { positions: readonly Position[]; isStop: boolean }) {
  const { value, profit, margin, funding } = sumsOf(positions);
  return (
    <tfoot>
      <tr>
        <th scope="row" colSpan={3}>
          {drawRowButton({ name: SUM, label: 'Sum', isStop })}
        </th>
        <td class="number">
          <Figure text={value} field="sumValue" decimals={2} />
        </td>
        <td colSpan={2} />
        <td class="number">
          <SignedFigure text={profit} field="sumPnl" decimals={2} /> <span class="roe" />
        </td>
        <td />
        <td class="number">
          <Figure text={margin} field="sumMargin" decimals={2} />
        </td>
        <td class="number">
          <SignedFigure text={funding} field="sumFunding" decimals={2} />
        </td>
        <td />
      </tr>
    </tfoot>
  );
}

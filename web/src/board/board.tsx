/**
 * The board: a table with a row for each account. Rows keep their place while their figures change.
 */

import { useCallback, useMemo, useRef, useState } from 'preact/hooks';
import { type BoardColumnName, BoardOrder, type BoardSort } from '../figures/board-sort.ts';
import { formatCount } from '../figures/text.ts';
import { Figure, SignedFigure } from '../parts/figure.tsx';
import { CELL, COLUMN_HEADING, ROW, ROW_HEADING, ROWS, TABLE } from '../parts/roles.ts';
import { saveFile } from '../parts/save-file.ts';
import { type SortableColumn, SortHeading, StaleOrderNote } from '../parts/sorting.tsx';
import { type AddressBook, entryOf, formatBook, usersOnBoard } from '../view/address-book.ts';
import type { NoticeState, View } from '../view/store.ts';
import { AccountDialog, describeOrigin } from './account-dialog.tsx';
import { AddDialog, AddForm, LimitsDialog } from './board-dialogs.tsx';
import type { BoardFeed } from './board-feed.ts';
import { BoardRow } from './board-row.tsx';
import type { BoardRows } from './board-rows.ts';
import type { RowSchedule } from './row-schedule.ts';
import type { BoardSum, ShownRow, ShownRows } from './shown-rows.ts';

/** The parts that stay the same from one draw of the board to the next. */
export interface BoardParts {
  readonly rows: BoardRows;
  readonly shown: ShownRows;
  readonly schedule: RowSchedule;
  readonly feed: BoardFeed;
  /** Returns the row with its newest figures, to be drawn now. */
  take(user: string): ShownRow | undefined;
}

export interface BoardActions {
  sortBoard(sort: BoardSort): void;
  changeBook(book: AddressBook): void;
  openAccount(user: string): void;
  askToNotify(): void;
}

interface BoardProps {
  readonly view: View;
  readonly board: BoardParts;
  readonly actions: BoardActions;
}

type OpenDialog = 'add' | 'limits' | undefined;

export function BoardPanel({ view, board, actions }: BoardProps) {
  const { book } = view;
  const { changeBook } = actions;
  const [dialog, setDialog] = useState<OpenDialog>(undefined);
  const [edited, setEdited] = useState('');
  const users = useMemo(() => usersOnBoard(book), [book]);
  const isOld = view.link.state !== 'live' || view.keyProblem !== '';
  const close = () => setDialog(undefined);
  return (
    <section class={`panel panel-board ${isOld ? 'is-old' : ''}`} aria-labelledby="title-board">
      <header class="panel-head">
        <h2 id="title-board">Board</h2>
        <span class="tag">{users.length}</span>
        {isOld && <span class="tag tag-old">not current</span>}
        <span class="spacer" />
        {users.length > 0 && <Tools view={view} actions={actions} open={setDialog} />}
      </header>
      {users.length === 0 ? (
        <EmptyBoard {...{ book, changeBook }} />
      ) : (
        <BoardTable {...{ view, board, actions, users }} edit={setEdited} />
      )}
      {dialog === 'add' && <AddDialog {...{ book, changeBook, close }} />}
      {dialog === 'limits' && <LimitsDialog {...{ book, changeBook, close }} />}
      {edited !== '' && (
        <AccountDialog
          user={edited}
          {...{ book, changeBook }}
          alarms={view.alarms}
          close={() => setEdited('')}
        >
          <Origin row={board.rows.get(edited)} />
        </AccountDialog>
      )}
    </section>
  );
}

function Origin({ row }: { row: ReturnType<BoardRows['get']> }) {
  return (
    <p class="muted small" data-field="origin">
      {row?.account === undefined ? 'There is no answer yet.' : describeOrigin(row.account)}
      {row?.problem !== '' && ` ${row?.problem}`}
    </p>
  );
}

interface ToolsProps {
  readonly view: View;
  readonly actions: BoardActions;
  open(dialog: OpenDialog): void;
}

function Tools({ view, actions, open }: ToolsProps) {
  return (
    <div class="tools">
      <Notices state={view.notices} ask={actions.askToNotify} />
      <button type="button" onClick={() => open('limits')}>
        Limits for all
      </button>
      <button type="button" onClick={() => saveAsFile(view.book)}>
        Save as file
      </button>
      <button type="button" class="primary" onClick={() => open('add')}>
        Add accounts
      </button>
    </div>
  );
}

const NOTICE_WORDS: Readonly<Record<Exclude<NoticeState, 'ask'>, string>> = {
  granted: 'Notifications are on',
  denied: 'Notifications are blocked: allow them in the browser’s settings of this page',
  unsupported: 'Notifications are not available: they need HTTPS, and a browser that supports them',
};

/** Says whether notifications about crossed limits are on, or shows a button that turns them on. */
export function Notices({ state, ask }: { state: NoticeState; ask: () => void }) {
  if (state === 'ask') {
    return (
      <button type="button" onClick={ask}>
        Notify me
      </button>
    );
  }
  return (
    <span class="muted small" role="status" data-field="notices">
      {NOTICE_WORDS[state]}
    </span>
  );
}

function EmptyBoard({
  book,
  changeBook,
}: Pick<BoardActions, 'changeBook'> & { book: AddressBook }) {
  return (
    <div class="board-empty">
      <p class="muted">
        Watch many accounts at once: paste their addresses. The list stays in this browser.
      </p>
      <AddForm {...{ book, changeBook }} done={() => undefined} />
    </div>
  );
}

/** Saves the addresses with their labels and limits. The file never has the key. */
function saveAsFile(book: AddressBook): void {
  saveFile('perpinfo-board.json', 'application/json', formatBook(book));
}

type Column = SortableColumn<BoardColumnName>;

const COLUMNS: readonly Column[] = [
  { name: 'account', label: 'Account', isText: true, isAscending: true },
  { name: 'value', label: 'Value', hint: 'over all dexes' },
  {
    name: 'change',
    label: 'Today',
    hint: 'change of the value since midnight, or since first seen',
  },
  { name: 'risk', label: 'Risk', isText: true },
  {
    name: 'liquidation',
    label: 'Nearest liquidation',
    hint: 'how far the mark is from it, and what the position loses until then',
    isAscending: true,
  },
  { name: 'long', label: 'Long' },
  { name: 'short', label: 'Short' },
  { name: 'net', label: 'Net' },
  { name: 'pnl', label: 'Profit', hint: 'unrealized' },
  { name: 'unlock', label: 'Next unlock', hint: 'of its stakes', isAscending: true },
];

/**
 * Returns the order after a click on a column: first the column's default direction, then the
 * reverse direction.
 */
function nextSort(sort: BoardSort, { name, isAscending = false }: Column): BoardSort {
  const isDescending = sort.column === name ? !sort.isDescending : !isAscending;
  return { column: name, isDescending };
}

interface BoardTableProps extends BoardProps {
  readonly users: readonly string[];
  edit(user: string): void;
}

/** The interval at which the order and the sums are computed again. */
const SETTLE_MS = 1_000;

function BoardTable({ view, board, actions, users, edit }: BoardTableProps) {
  const { book, boardSort: sort, alarms } = view;
  const { shown } = board;
  const isAsked = view.keyProblem === '';
  const order = useRef(new BoardOrder()).current;
  const turn = Math.floor(performance.now() / SETTLE_MS);
  const { arranged, isOrderStale, sum } = useMemo(() => {
    const rows = shown.sortable(users, book);
    const list = order.arrange(rows, sort);
    return { arranged: list, isOrderStale: order.isOrderStale(rows), sum: shown.sum(users) };
  }, [users, book, sort, turn]);
  const open = useCallback(actions.openAccount, []);
  // The page renders several times a second. The list of rows renders only if one of these values
  // changes.
  const body = useMemo(
    () =>
      groupRows(arranged).map((group, index) => (
        <tbody {...ROWS} key={index}>
          {group.map((user) => (
            <BoardRow
              key={user}
              user={user}
              label={entryOf(book, user).label}
              alarms={alarms.get(user)}
              isAsked={isAsked}
              schedule={board.schedule}
              take={board.take}
              last={shown.last}
              {...{ open, edit }}
            />
          ))}
        </tbody>
      )),
    [arranged.join(), book, alarms, isAsked],
  );
  return (
    <>
      <SortNote {...{ isOrderStale, sum, users }} isShort={board.feed.isShort}>
        {() => actions.sortBoard({ ...sort })}
      </SortNote>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard. */}
      <section class="board-scroll" tabIndex={0} aria-label="Table of accounts">
        <table {...TABLE} class="board">
          <thead {...ROWS}>
            <tr {...ROW}>
              {COLUMNS.map((column) => (
                <SortHeading
                  key={column.name}
                  {...{ column, sort }}
                  onSort={() => actions.sortBoard(nextSort(sort, column))}
                />
              ))}
              <th {...COLUMN_HEADING}>
                <span class="hidden">Edit</span>
              </th>
            </tr>
          </thead>
          {body}
          <Sums sum={sum} count={users.length} />
        </table>
      </section>
    </>
  );
}

/**
 * The number of rows in a group. Browsers skip whole groups that are out of sight, because a check
 * of each row would cost more.
 */
const GROUP_ROWS = 25;

function groupRows(users: readonly string[]): string[][] {
  const groups: string[][] = [];
  for (let from = 0; from < users.length; from += GROUP_ROWS) {
    groups.push(users.slice(from, from + GROUP_ROWS));
  }
  return groups;
}

interface SortNoteProps {
  readonly isOrderStale: boolean;
  readonly sum: BoardSum;
  readonly users: readonly string[];
  /** True if the key's budget does not allow more subscriptions at the moment. */
  readonly isShort: boolean;
  /** Called to sort the rows again. */
  readonly children: () => void;
}

function SortNote({ isOrderStale, sum, users, isShort, children: sortAgain }: SortNoteProps) {
  return (
    <p class="sort-note muted small">
      {isShort &&
        `The key’s budget is spent: ${sum.known} of ${users.length} accounts so far, the others follow. `}
      {isOrderStale && <StaleOrderNote sortAgain={sortAgain} />}
    </p>
  );
}

function Sums({ sum, count }: { sum: BoardSum; count: number }) {
  const { known, value, change, long, short, net, unrealizedPnl, heights } = sum;
  const usd = (label: string, field: string, text: string) => (
    <td {...CELL} class="number" data-label={label}>
      <Figure text={text} field={field} decimals={2} />
    </td>
  );
  return (
    <tfoot {...ROWS} data-lowest={heights?.[0]} data-highest={heights?.[1]}>
      <tr {...ROW}>
        <th {...ROW_HEADING} class="cell-account">
          Sum of {known === count ? count : `${known} of ${count}`}
          <span class="under muted" data-field="sumHeights">
            {describeHeights(heights)}
          </span>
        </th>
        {usd('Value', 'sumValue', value)}
        <td {...CELL} class="number" data-label="Today">
          {change !== undefined && <SignedFigure text={change} field="sumChange" />}
        </td>
        <td {...CELL} />
        <td {...CELL} />
        {usd('Long', 'sumLong', long)}
        {usd('Short', 'sumShort', short)}
        {usd('Net', 'sumNet', net)}
        <td {...CELL} class="number" data-label="Profit">
          <SignedFigure text={unrealizedPnl} field="sumPnl" />
        </td>
        <td {...CELL} />
        <td {...CELL} />
      </tr>
    </tfoot>
  );
}

/**
 * Describes the heights of the rows. Rows change separately, so they may have different heights.
 */
function describeHeights(heights: BoardSum['heights']): string {
  if (heights === undefined) return '';
  const [lowest, highest] = heights.map(formatCount);
  return lowest === highest ? `height ${lowest}` : `heights ${lowest} to ${highest}`;
}

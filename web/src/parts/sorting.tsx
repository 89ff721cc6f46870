/** The common parts of tables that can be sorted. */

import { COLUMN_HEADING } from './roles.ts';

export interface SortableColumn<Name> {
  readonly name: Name;
  readonly label: string;
  readonly hint?: string;
  readonly isText?: boolean;
  /**
   * True if the first click puts the lowest value first, as people expect for texts and for
   * distances.
   */
  readonly isAscending?: boolean;
}

interface SortHeadingProps<Name> {
  readonly column: SortableColumn<Name>;
  /** The column that the rows are sorted by; undefined if the rows are not sorted. */
  readonly sort: { readonly column: Name; readonly isDescending: boolean } | undefined;
  /** Called at a click on the heading. */
  onSort(): void;
}

export function SortHeading<Name>({ column, sort, onSort }: SortHeadingProps<Name>) {
  const { name, label, hint, isText } = column;
  const isSorted = sort?.column === name;
  const direction = isSorted && (sort.isDescending ? 'descending' : 'ascending');
  return (
    <th {...COLUMN_HEADING} class={isText ? '' : 'number'} aria-sort={direction || 'none'}>
      <button type="button" title={hint} onClick={onSort}>
        {isText && label}
        <span aria-hidden="true" class="sort-mark">
          {isSorted ? (sort.isDescending ? '▼' : '▲') : ''}
        </span>
        {!isText && label}
      </button>
    </th>
  );
}

/**
 * Says that the order is stale. Rows do not move by themselves, because a person cannot read rows
 * that move.
 */
export function StaleOrderNote({ sortAgain }: { sortAgain(): void }) {
  return (
    <>
      Figures have changed since the table was sorted.{' '}
      <button type="button" class="link-button" onClick={sortAgain}>
        Sort again
      </button>
    </>
  );
}

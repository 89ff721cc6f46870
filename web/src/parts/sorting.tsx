/** The common parts of tables that can be sorted. */

import { COLUMN_HEADING } from './roles.ts';

export interface SortableColumn<Name> {
  readonly name: Name;
  readonly label: string;
  readonly hint?: string;
  readonly isText?: boolean;
  /** The least comes first, as people expect of texts, and of what is the nearest. */
  readonly isAscending?: boolean;
}

interface SortHeadingProps<Name> {
  readonly column: SortableColumn<Name>;
  /** Undefined for the order in which rows come. */
  readonly sort: { readonly column: Name; readonly isDescending: boolean } | undefined;
  /** Called with a click. */
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

/** The order is that of the click: rows that move by themselves cannot be read. */
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

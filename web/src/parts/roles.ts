/** Explicit roles of a table: in some browsers, rows that are laid out as a grid lose their roles. */

export const TABLE = { role: 'table' } as const;
export const ROWS = { role: 'rowgroup' } as const;
export const ROW = { role: 'row' } as const;
export const CELL = { role: 'cell' } as const;
export const ROW_HEADING = { role: 'rowheader', scope: 'row' } as const;
export const COLUMN_HEADING = { role: 'columnheader', scope: 'col' } as const;

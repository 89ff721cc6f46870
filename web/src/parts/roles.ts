/** Roles of a table, told again: style sheets that lay rows out as a grid take them away in some browsers. */

export const TABLE = { role: 'table' } as const;
export const ROWS = { role: 'rowgroup' } as const;
export const ROW = { role: 'row' } as const;
export const CELL = { role: 'cell' } as const;
export const ROW_HEADING = { role: 'rowheader', scope: 'row' } as const;
export const COLUMN_HEADING = { role: 'columnheader', scope: 'col' } as const;

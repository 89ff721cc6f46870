/**
 * Table rows that open a dialog. The table has only one tab stop, whatever its length: the row that
 * was last in use. Arrow keys move between the rows.
 */

import { useState } from 'preact/hooks';

const ROW_BUTTON = 'button[data-row]';

interface Rows {
  /** The row that Tab reaches. */
  readonly stop: string;
  readonly opened: string | undefined;
  close(): void;
  /** One handler of each kind serves all rows of the table. */
  readonly handlers: {
    onClick(event: Event): void;
    onFocusIn(event: Event): void;
    onKeyDown(event: KeyboardEvent): void;
  };
}

interface RowButton {
  /** The name of the row within its table. */
  readonly name: string;
  readonly label: string;
  /** True if Tab reaches this row. */
  readonly isStop: boolean;
  /** The text that is shown on hover. */
  readonly hint?: string;
}

/**
 * Draws the button of a row. This is a function and not a component, because there may be hundreds
 * of rows.
 */
export function drawRowButton({ name, label, isStop, hint = 'all digits' }: RowButton) {
  return (
    <button
      type="button"
      class="row-button"
      data-row={name}
      tabIndex={isStop ? 0 : -1}
      aria-haspopup="dialog"
      title={hint}
    >
      {label}
    </button>
  );
}

/**
 * Returns the state and the handlers of a table in which each row has a button. `names` has the
 * rows in their order.
 */
export function useRows(names: readonly string[]): Rows {
  const [last, setLast] = useState<string>();
  const [opened, setOpened] = useState<string>();
  return {
    stop: last !== undefined && names.includes(last) ? last : names[0],
    opened,
    close: () => setOpened(undefined),
    handlers: {
      onClick: (event) => setOpened(nameOf(event) ?? opened),
      onFocusIn: (event) => setLast(nameOf(event) ?? last),
      onKeyDown: moveFocus,
    },
  };
}

function findButton({ target }: Event): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>(ROW_BUTTON) : null;
}

function nameOf(event: Event): string | undefined {
  return findButton(event)?.dataset['row'];
}

function moveFocus(event: KeyboardEvent): void {
  const button = findButton(event);
  const table = button?.closest('table');
  if (button == null || table == null) return;
  const buttons = Array.from(table.querySelectorAll<HTMLElement>(ROW_BUTTON));
  const index = buttons.indexOf(button);
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: index + 1,
    ArrowUp: index - 1,
    Home: 0,
    End: buttons.length - 1,
  };
  const next = buttons[targets[event.key] ?? -1];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

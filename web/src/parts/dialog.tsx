/** A modal dialog. Its button, Escape, and a click outside of it close it. */

import type { ComponentChildren, TargetedMouseEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface DialogProps {
  readonly name: string;
  readonly title: string;
  /** Called after the dialog has closed. The browser has then returned the focus. */
  close(): void;
  readonly children: ComponentChildren;
}

export function Dialog({ name, title, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // A selection of text may start in the dialog and end outside. The dialog closes only if both
  // ends are outside.
  const isPressedOutside = useRef(false);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard has Escape, which the browser handles.
    <dialog
      ref={dialog}
      class={`dialog dialog-${name}`}
      aria-labelledby={`${name}-title`}
      onClose={close}
      onMouseDown={(event) => {
        isPressedOutside.current = isOutside(event);
      }}
      onClick={(event) => {
        if (isPressedOutside.current && isOutside(event)) event.currentTarget.close();
      }}
    >
      <div class="panel-head">
        <h2 id={`${name}-title`}>{title}</h2>
        <span class="spacer" />
        <button type="button" class="quiet" onClick={closeDialogOf}>
          Close
        </button>
      </div>
      {children}
    </dialog>
  );
}

/**
 * Returns true if a click was outside of the dialog. The backdrop is a part of the dialog, so only
 * the position of the click distinguishes them.
 */
function isOutside(event: TargetedMouseEvent<HTMLDialogElement>): boolean {
  const { target, currentTarget, clientX: x, clientY: y } = event;
  const { left, right, top, bottom } = currentTarget.getBoundingClientRect();
  return target === currentTarget && (x < left || x > right || y < top || y > bottom);
}

/** Closes the dialog that a button is in. */
export function closeDialogOf({ currentTarget }: TargetedMouseEvent<HTMLElement>): void {
  currentTarget.closest('dialog')?.close();
}

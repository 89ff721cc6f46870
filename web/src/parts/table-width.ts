/**
 * Fits a table into its place: a table that is too wide leaves out what it can, then becomes cards.
 * The style sheet decides by the width of the place in em. If the figures are too wide, this file
 * makes an em larger, so that the place has fewer em.
 */

import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/**
 * The widths at which the style sheet changes the table, in em, from the widest. Below the last
 * width, rows are cards.
 */
const STEPS_EM = [107, 95, 83];

/**
 * Observes the table in `place`, and makes it narrower when its figures do not fit. `columns`
 * identifies the columns of the table.
 */
export function useTableWidth(place: RefObject<HTMLElement | null>, columns: string): void {
  useLayoutEffect(() => {
    const room = place.current;
    const table = room?.querySelector('table');
    if (room == null || table == null) return undefined;
    room.style.fontSize = '';
    let frame = 0;
    const observer = new ResizeObserver(() => {
      if (!narrow(room, table.offsetWidth)) return;
      // The table is observed again only in the next frame, because an observer must not cause the
      // change that it observes.
      observer.unobserve(table);
      frame = requestAnimationFrame(() => observer.observe(table));
    });
    observer.observe(table);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
    };
  }, [columns]);
}

/**
 * Makes the table one step narrower if needed, and returns true if it did. The table never becomes
 * wider again, because changing figures would make the cards appear and disappear.
 */
function narrow(room: HTMLElement, neededPx: number): boolean {
  const roomPx = room.clientWidth;
  if (neededPx <= roomPx) return false;
  const emPx = Number.parseFloat(getComputedStyle(room).fontSize);
  const step = STEPS_EM.find((em) => roomPx > em * emPx);
  if (step === undefined) return false;
  const isLast = step === STEPS_EM.at(-1);
  // The table becomes cards until the place has the width that the table needed.
  room.style.fontSize = `${((isLast ? neededPx : roomPx) + 1) / step}px`;
  return true;
}

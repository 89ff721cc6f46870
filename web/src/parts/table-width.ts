/**
 * A table that is too wide for its place leaves out what it can, then becomes cards. The style sheet asks
 * how many em of the place there are; here an em becomes larger where figures turn out to be too wide.
 */

import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/**
 * The style sheet changes the table at these widths, from the widest; below the last width rows are cards.
 */
const STEPS_EM = [107, 95, 83];

/** Returns a reference for the element around a table with these columns. */
export function useTableWidth(place: RefObject<HTMLElement | null>, columns: string): void {
  useLayoutEffect(() => {
    const room = place.current;
    const table = room?.querySelector('table');
    if (room == null || table == null) return undefined;
    room.style.fontSize = '';
    let frame = 0;
    const observer = new ResizeObserver(() => {
      if (!narrow(room, table.offsetWidth)) return;
      // Asked again in the next frame: an observer must not cause what it observes.
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
 * Makes the table one step narrower if needed, and returns true if it did. The table never becomes wider
 * again, because figures that move would make cards come and go.
 */
function narrow(room: HTMLElement, neededPx: number): boolean {
  const roomPx = room.clientWidth;
  if (neededPx <= roomPx) return false;
  const emPx = Number.parseFloat(getComputedStyle(room).fontSize);
  const step = STEPS_EM.find((em) => roomPx > em * emPx);
  if (step === undefined) return false;
  const isLast = step === STEPS_EM.at(-1);
  // Cards stay until there is room for what the table needed.
  room.style.fontSize = `${((isLast ? neededPx : roomPx) + 1) / step}px`;
  return true;
}

/**
 * Decides which rows of a table are drawn: visible rows are drawn each time, the other rows every
 * few seconds.
 */

import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/**
 * Rows within this distance of the visible part count as visible, so that they are drawn before a
 * person scrolls to them.
 */
const NEAR = '100px';
/**
 * The maximum age of a hidden row, because the browser's search and screen readers reach hidden
 * rows, too.
 */
const ALL_MS = 10_000;

/**
 * Returns a function that says whether a row must be drawn. The body of the table has a row for
 * each name, in this order.
 */
export function useVisibleRows(
  body: RefObject<HTMLTableSectionElement | null>,
  names: readonly string[],
): (name: string) => boolean {
  const [, redraw] = useState({});
  const hidden = useRef(new Set<string>());
  const isAll = useRef(false);
  useLayoutEffect(() => {
    const nameOf = new Map(
      Array.from(body.current?.rows ?? [], (row, index) => [row, names[index]]),
    );
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const name = nameOf.get(target as HTMLTableRowElement) ?? '';
          if (!isIntersecting) hidden.current.add(name);
          else if (hidden.current.delete(name)) redraw({});
        }
      },
      { rootMargin: NEAR },
    );
    for (const row of nameOf.keys()) observer.observe(row);
    return () => observer.disconnect();
  }, [names.join()]);
  useLayoutEffect(() => {
    const drawAll = () => {
      if (document.hidden) return;
      isAll.current = true;
      redraw({});
    };
    const timer = setInterval(drawAll, ALL_MS);
    // A print or a copy of the table contains all rows, and they must be of the same ledger height.
    addEventListener('beforeprint', drawAll);
    document.addEventListener('copy', drawAll);
    return () => {
      clearInterval(timer);
      removeEventListener('beforeprint', drawAll);
      document.removeEventListener('copy', drawAll);
    };
  }, []);
  useLayoutEffect(() => {
    isAll.current = false;
  });
  return (name) => isAll.current || !hidden.current.has(name);
}

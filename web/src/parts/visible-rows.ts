/** Decides which rows of a table are drawn: visible rows each time, the other rows every few seconds. */

import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Rows are drawn before they are scrolled to. */
const NEAR = '100px';
/** The browser's search and screen readers reach hidden rows too: no row is older than this. */
const ALL_MS = 10_000;

/** Serves the body of a table with a row for each name, in this order. */
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
    // Printing or copying the table takes all rows, which must have the same height.
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

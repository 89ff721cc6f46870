/** Puts texts on the clipboard. */

/** The clipboard API needs a secure origin; selecting and copying works everywhere. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  // Nothing outside of an open dialog can be selected.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!isCopied) throw new Error('the browser did not allow it');
}

/** Copies, and tells what came of it: all digits can be read there too. */
export function copyAndTell(text: string, tell: (notice: string) => void): void {
  copyText(text).then(
    () => tell(`Copied ${text}`),
    () => tell(`The browser did not allow copying ${text}`),
  );
}

const FIGURE = /^-?\d+(\.\d+)?$/;

/** The complete text of the figure that an element is, or is part of. */
function findFigure(element: Element): string | undefined {
  const figure = element.closest<HTMLElement>('[data-field]');
  const complete = figure?.dataset['complete'] ?? figure?.title ?? '';
  return FIGURE.test(complete) ? complete : undefined;
}

/** A click on a figure copies all its digits. One listener for all: there may be thousands. */
export function copyFiguresOnClick(tell: (notice: string) => void): void {
  document.addEventListener('click', ({ target }) => {
    // Whoever selects a part of a figure wants that part.
    if (getSelection()?.isCollapsed === false) return;
    const text = target instanceof Element ? findFigure(target) : undefined;
    if (text !== undefined) copyAndTell(text, tell);
  });
}

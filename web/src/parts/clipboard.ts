/** Puts texts on the clipboard. */

/**
 * Copies a text. The clipboard API needs a secure origin. Without a secure origin, the text is put
 * into a temporary field, selected, and copied from there.
 */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  // A browser cannot select text outside of an open dialog.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!isCopied) throw new Error('the browser did not allow it');
}

/** Copies a text, and shows a notice with the text and the result. */
export function copyAndReport(text: string, showNotice: (notice: string) => void): void {
  copyText(text).then(
    () => showNotice(`Copied ${text}`),
    () => showNotice(`The browser did not allow copying ${text}`),
  );
}

const FIGURE = /^-?\d+(\.\d+)?$/;

/**
 * Returns the complete text of the figure that the element is, or is part of; returns undefined if
 * there is no figure.
 */
function findFigure(element: Element): string | undefined {
  const figure = element.closest<HTMLElement>('[data-field]');
  const complete = figure?.dataset['complete'] ?? figure?.title ?? '';
  return FIGURE.test(complete) ? complete : undefined;
}

/**
 * A click on a figure copies all its digits. One listener serves all figures, because there may be
 * thousands.
 */
export function copyFiguresOnClick(showNotice: (notice: string) => void): void {
  document.addEventListener('click', ({ target }) => {
    // If the person has selected a part of the page, a click does not copy another text.
    if (getSelection()?.isCollapsed === false) return;
    const text = target instanceof Element ? findFigure(target) : undefined;
    if (text !== undefined) copyAndReport(text, showNotice);
  });
}

/** Reads all figures off the page at one moment, each panel with the height that it is from. */

import type { Page } from 'playwright-core';

export interface Shown {
  /** The complete figure, where the page shows it rounded. */
  readonly complete: string;
  readonly text: string;
}

export type Fields = Record<string, Shown>;

export interface ShownPanel {
  /** 0 if it shows the exchange's own answer. */
  readonly height: number;
  /** When the account was read from the exchange; 0 on a ledger that follows none. */
  readonly accountTime: number;
  /** Fields outside of rows. */
  readonly fields: Fields;
  /** By coin or validator. */
  readonly rows: Record<string, Fields>;
  readonly order: readonly string[];
  /** Rows that are out of sight may be of an older height, which they name. */
  readonly olderRows: Readonly<Record<string, number>>;
}

/** Where an answer is from: a height, or the time of the exchange's own answer; 0 if there is none. */
export function placeOf(panel: ShownPanel | undefined): number {
  return panel?.height || panel?.accountTime || 0;
}

/** In one evaluation, so that nothing changes meanwhile. */
export function readPanels(page: Page): Promise<Record<string, ShownPanel>> {
  return page.evaluate(() => {
    const readFields = (elements: Iterable<Element>): Fields => {
      const entries = Array.from(elements, (element): [string, Shown] => {
        const text = (element.textContent ?? '').trim();
        const complete =
          element.getAttribute('data-complete') ?? element.getAttribute('title') ?? text;
        return [element.getAttribute('data-field') ?? '', { complete, text }];
      });
      return Object.fromEntries(entries);
    };
    const panels: Record<string, ShownPanel> = {};
    for (const panel of document.querySelectorAll('section.panel')) {
      const name = /panel-(\w+)/.exec(panel.className)?.[1] ?? '';
      const rows = Array.from(panel.querySelectorAll<HTMLElement>('tbody tr'));
      const nameOf = ({ dataset }: HTMLElement) => dataset['coin'] ?? dataset['validator'] ?? '';
      // What a chart says is of more than one height.
      const all = Array.from(panel.querySelectorAll('[data-field]')).filter(
        (element) => element.closest('figure') === null,
      );
      panels[name] = {
        height: Number(panel.getAttribute('data-height')),
        accountTime: Number(panel.getAttribute('data-account-time')),
        fields: readFields(all.filter((element) => element.closest('tbody tr') === null)),
        rows: Object.fromEntries(
          rows.map((row) => [nameOf(row), readFields(row.querySelectorAll('[data-field]'))]),
        ),
        order: rows.map(nameOf),
        olderRows: Object.fromEntries(
          rows
            .filter((row) => row.getBoundingClientRect().top >= innerHeight)
            .map((row) => [nameOf(row), Number(row.dataset['height'])]),
        ),
      };
    }
    return panels;
  });
}

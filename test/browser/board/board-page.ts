/** The board as a person uses it, and its rows as they are shown. */

import type { Page } from 'playwright-core';
import { until } from '../../../tools/harness/running.ts';
import { openPage, type PageOptions, untilConnected } from '../browser.ts';

async function paste(page: Page, list: string): Promise<void> {
  await page.getByRole('link', { name: 'Board' }).click();
  await page.getByLabel(/^Addresses/).fill(list);
  await page.getByRole('button', { name: /^Add \d/ }).click();
}

export async function openBoard(
  url: string,
  list: string,
  options: PageOptions = {},
): Promise<Page> {
  const page = await openPage(url, options);
  await untilConnected(page);
  await paste(page, list);
  return page;
}

export interface ShownRow {
  readonly user: string;
  /** 0 if it shows the exchange's own answer, or none. */
  readonly height: number;
  readonly accountTime: number;
  readonly texts: Readonly<Record<string, string>>;
  /** All digits, where the page shows a figure rounded. */
  readonly complete: Readonly<Record<string, string>>;
  /** What the account was worth when the day began. */
  readonly dayStart: string;
  readonly stakes: ShownStakes;
}

/** When the next stake is unlocked, and which answer says so. */
interface ShownStakes {
  /** 0 if none is locked. */
  readonly unlockTime: number;
  readonly height: number;
  readonly accountTime: number;
}

/** All rows at one moment. */
export function readRows(page: Page): Promise<ShownRow[]> {
  return page.evaluate(() =>
    Array.from(document.querySelectorAll<HTMLElement>('.board tbody tr'), (row) => {
      const fields = Array.from(row.querySelectorAll<HTMLElement>('[data-field]'));
      const nameOf = ({ dataset }: HTMLElement) => dataset['field'] ?? '';
      const unlock = row.querySelector<HTMLElement>('[data-field="unlock"]');
      return {
        user: row.dataset['user'] ?? '',
        height: Number(row.dataset['height'] ?? 0),
        accountTime: Number(row.dataset['accountTime'] ?? 0),
        texts: Object.fromEntries(fields.map((field) => [nameOf(field), field.innerText])),
        complete: Object.fromEntries(fields.map((field) => [nameOf(field), field.title])),
        dayStart: row.querySelector<HTMLElement>('[data-start]')?.dataset['start'] ?? '',
        stakes: {
          unlockTime: Number(unlock?.dataset['time'] ?? 0),
          height: Number(unlock?.dataset['height'] ?? 0),
          accountTime: Number(unlock?.dataset['accountTime'] ?? 0),
        },
      };
    }),
  );
}

export async function untilKnown(page: Page, count: number): Promise<ShownRow[]> {
  return until('all figures', async () => {
    const rows = await readRows(page);
    const isKnown = rows.length === count && rows.every(({ texts }) => texts['value'] !== '–');
    return isKnown && rows;
  });
}

export const rowOf = (page: Page, user: string) => page.locator(`tr[data-user="${user}"]`);

export async function edit(
  page: Page,
  user: string,
  fields: Record<string, string>,
): Promise<void> {
  await rowOf(page, user).getByRole('button', { name: /^Edit/ }).click();
  for (const [label, text] of Object.entries(fields)) await page.getByLabel(label).fill(text);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
}

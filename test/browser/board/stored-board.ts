/** A board that the browser has kept from an earlier visit. */

import type { Page } from 'playwright-core';
import { formatBook } from '../../../web/src/view/address-book.ts';
import { openPage, type PageOptions } from '../browser.ts';

/** Opens the board with these accounts. */
export async function openStoredBoard(
  url: string,
  users: readonly string[],
  { prepare, ...options }: PageOptions = {},
): Promise<Page> {
  const entry = { label: '', isOnBoard: true, thresholds: {} };
  const book = formatBook(new Map(users.map((user) => [user, entry])));
  const page = await openPage(url, {
    ...options,
    async prepare(opened) {
      await opened.addInitScript((text) => {
        localStorage.setItem('perpinfo.addressBook', text);
      }, book);
      await prepare?.(opened);
    },
  });
  await page.getByRole('link', { name: 'Board' }).click();
  await page.locator('.board tbody tr').first().waitFor();
  return page;
}

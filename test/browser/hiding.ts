/** A page that can be hidden, as one in the background is. */

import type { Page } from 'playwright-core';

/** To be called before the page is opened. */
export async function letHide(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const holder = globalThis as unknown as { isHidden: boolean };
    holder.isHidden = false;
    Object.defineProperty(document, 'hidden', { get: () => holder.isHidden });
  });
}

export function setHidden(page: Page, isHidden: boolean): Promise<void> {
  return page.evaluate((value) => {
    (globalThis as unknown as { isHidden: boolean }).isHidden = value;
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
}

/** The points of charts in the browser's database. */

import type { Page } from 'playwright-core';

export function countStored(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve, reject) => {
        const request = indexedDB.open('perpinfo');
        request.onerror = () => reject(request.error);
        request.onsuccess = () => {
          const database = request.result;
          const counting = database.transaction('values').objectStore('values').count();
          counting.onsuccess = () => {
            database.close();
            resolve(counting.result);
          };
        };
      }),
  );
}

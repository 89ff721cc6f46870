/** The points of charts in the browser's database. */

import type { Page } from 'playwright-core';

export interface StoredPoint {
  readonly account: string;
  readonly range: string;
  readonly time: number;
  readonly value: string;
  readonly isAfterGap: boolean;
}

export async function countStored(page: Page): Promise<number> {
  return (await readStored(page)).length;
}

export function readStored(page: Page): Promise<StoredPoint[]> {
  return storeAndRead(page, []);
}

/** Adds points, and returns all that there are then. */
export function storeAndRead(page: Page, added: readonly StoredPoint[]): Promise<StoredPoint[]> {
  return page.evaluate(
    (points) =>
      new Promise<StoredPoint[]>((resolve, reject) => {
        const request = indexedDB.open('perpinfo');
        request.onerror = () => reject(request.error);
        request.onsuccess = () => {
          const database = request.result;
          const store = database.transaction('values', 'readwrite').objectStore('values');
          for (const point of points) store.put(point);
          const reading = store.getAll();
          reading.onsuccess = () => {
            database.close();
            resolve(reading.result);
          };
        };
      }),
    added,
  );
}

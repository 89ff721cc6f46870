/** Stores histories of account values in the browser's database, so that they survive a reload. */

import { BrowserStore, requestResult } from './database.ts';
import { type Point, RANGES, type Range } from './value-history.ts';

const NAME = 'values';
const BY_AGE = 'byAge';

interface Row extends Point {
  /** The ledger, the user, and the dex or the sign for all dexes. */
  readonly account: string;
  readonly range: string;
}

const values = new BrowserStore('perpinfo', NAME, (database) => {
  const store = database.createObjectStore(NAME, { keyPath: ['account', 'range', 'time'] });
  store.createIndex(BY_AGE, ['range', 'time']);
});

/** Returns the points of each range; returns an empty list if the browser stores nothing. */
export function loadPoints(account: string): Promise<Point[][]> {
  return values.read<Point[][]>([], (store) => {
    const ends = (name: string) =>
      IDBKeyRange.bound([account, name, 0], [account, name, Number.POSITIVE_INFINITY]);
    return Promise.all(
      RANGES.map(async ({ name }) => {
        const rows: Row[] = await requestResult(store.getAll(ends(name)));
        return rows.map(({ time, value, isAfterGap }) => ({ time, value, isAfterGap }));
      }),
    );
  });
}

/** Adds points of a range, and drops the points of all accounts that are older than the range. */
export function savePoints(
  account: string,
  { name: range, retentionMs }: Range,
  points: readonly Point[],
): Promise<unknown> {
  return values.write(async (store) => {
    for (const point of points) store.put({ ...point, account, range } satisfies Row);
    const old = IDBKeyRange.bound([range, 0], [range, points[0].time - retentionMs]);
    for (const key of await requestResult(store.index(BY_AGE).getAllKeys(old))) store.delete(key);
  });
}

/** Drops the points of all accounts. */
export const forgetPoints = (): Promise<unknown> => values.clear();

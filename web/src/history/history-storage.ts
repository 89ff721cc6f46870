/** Histories of account values in the browser's database, so that a reload does not forget the day. */

import { databaseOpener, settle } from './database.ts';
import { type Point, RANGES, type Range } from './value-history.ts';

const DATABASE = 'perpinfo';
const STORE = 'values';
const BY_AGE = 'byAge';

interface Row extends Point {
  /** The ledger, the user, and the dex or all of them. */
  readonly account: string;
  readonly range: string;
}

const open = databaseOpener(DATABASE, (database) => {
  const store = database.createObjectStore(STORE, { keyPath: ['account', 'range', 'time'] });
  store.createIndex(BY_AGE, ['range', 'time']);
});

/** The points of each range; empty if the browser stores nothing. */
export async function loadPoints(account: string): Promise<Point[][]> {
  try {
    const store = (await open()).transaction(STORE).objectStore(STORE);
    const ends = (name: string) =>
      IDBKeyRange.bound([account, name, 0], [account, name, Number.POSITIVE_INFINITY]);
    return await Promise.all(
      RANGES.map(async ({ name }) => {
        const rows: Row[] = await settle(store.getAll(ends(name)));
        return rows.map(({ time, value, isAfterGap }) => ({ time, value, isAfterGap }));
      }),
    );
  } catch {
    return [];
  }
}

/** Adds points of a range, and drops those of all accounts that are older than it. */
export async function savePoints(
  account: string,
  { name: range, retentionMs }: Range,
  points: readonly Point[],
): Promise<void> {
  try {
    const store = (await open()).transaction(STORE, 'readwrite').objectStore(STORE);
    for (const point of points) store.put({ ...point, account, range } satisfies Row);
    const old = IDBKeyRange.bound([range, 0], [range, points[0].time - retentionMs]);
    for (const key of await settle(store.index(BY_AGE).getAllKeys(old))) store.delete(key);
  } catch {
    // Storage is switched off or full: the history lives for this visit.
  }
}

/** Drops the points of all accounts. */
export async function forgetPoints(): Promise<void> {
  try {
    (await open()).transaction(STORE, 'readwrite').objectStore(STORE).clear();
  } catch {
    // Storage is switched off: there are no points.
  }
}

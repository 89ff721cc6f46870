/**
 * The value of each account at the start of the day, in a separate database: one row for each account,
 * independent of the number of days.
 */

import { databaseOpener, settle } from './database.ts';
import type { DayStart } from './day-start.ts';

const DATABASE = 'perpinfo.days';
const STORE = 'starts';

interface Row extends DayStart {
  readonly ledger: string;
  readonly user: string;
}

const open = databaseOpener(DATABASE, (database) => {
  database.createObjectStore(STORE, { keyPath: ['ledger', 'user'] });
});

/** By user; empty if the browser stores nothing. */
export async function loadDayStarts(ledger: string): Promise<Map<string, DayStart>> {
  try {
    const store = (await open()).transaction(STORE).objectStore(STORE);
    const ofLedger = IDBKeyRange.bound([ledger, ''], [ledger, '\uffff']);
    const rows: Row[] = await settle(store.getAll(ofLedger));
    return new Map(
      rows.map(({ user, dayMs, value, sinceMs }) => [user, { dayMs, value, sinceMs }]),
    );
  } catch {
    return new Map();
  }
}

export async function saveDayStarts(
  ledger: string,
  starts: ReadonlyMap<string, DayStart>,
): Promise<void> {
  try {
    const store = (await open()).transaction(STORE, 'readwrite').objectStore(STORE);
    for (const [user, start] of starts) store.put({ ...start, ledger, user } satisfies Row);
  } catch {
    // Storage is switched off or full: the day is known for this visit.
  }
}

export async function forgetDayStarts(): Promise<void> {
  try {
    (await open()).transaction(STORE, 'readwrite').objectStore(STORE).clear();
  } catch {
    // The browser stores nothing.
  }
}

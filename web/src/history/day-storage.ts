/**
 * Stores the value of each account at the start of the day, in a separate database. Each account
 * has only one row, which the next day replaces.
 */

import { BrowserStore, requestResult } from './database.ts';
import type { DayStart } from './day-start.ts';

const NAME = 'starts';

interface Row extends DayStart {
  readonly ledger: string;
  readonly user: string;
}

const starts = new BrowserStore('perpinfo.days', NAME, (database) => {
  database.createObjectStore(NAME, { keyPath: ['ledger', 'user'] });
});

/** Returns the starts by user; the map is empty if the browser stores nothing. */
export function loadDayStarts(ledger: string): Promise<Map<string, DayStart>> {
  return starts.read(new Map(), async (store) => {
    const ofLedger = IDBKeyRange.bound([ledger, ''], [ledger, '\uffff']);
    const rows: Row[] = await requestResult(store.getAll(ofLedger));
    return new Map(
      rows.map(({ user, dayMs, value, sinceMs }) => [user, { dayMs, value, sinceMs }]),
    );
  });
}

export function saveDayStarts(
  ledger: string,
  changed: ReadonlyMap<string, DayStart>,
): Promise<unknown> {
  return starts.write((store) => {
    for (const [user, start] of changed) store.put({ ...start, ledger, user } satisfies Row);
  });
}

export const forgetDayStarts = (): Promise<unknown> => starts.clear();

/**
 * Finds the outdated records of an archive: the records that are needed only for heights before a
 * given height.
 */

import {
  type ArchiveTables,
  heightOfKey,
  markKey,
  subjectOfKey,
} from '../records/archive-tables.ts';
import { spanOf } from '../records/height-spans.ts';

const REMOVALS_PER_TRANSACTION = 10_000;

/** Removes one record. Call this in a transaction. */
export type Removal = () => void;

/**
 * Yields batches of removals. A record that is valid at the height stays, even if it was written
 * long before.
 */
export function* findRemovals(tables: ArchiveTables, height: number): Generator<Removal[]> {
  let batch: Removal[] = [];
  for (const removal of listRemovals(tables, height)) {
    batch.push(removal);
    if (batch.length < REMOVALS_PER_TRANSACTION) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

function* listRemovals(tables: ArchiveTables, height: number): Generator<Removal> {
  const { times, marks, accounts, delegations } = tables;
  for (const span of times.getKeys({ end: spanOf(height) })) yield () => times.removeSync(span);
  for (const key of marks.getKeys({ end: markKey(spanOf(height), 0) })) {
    yield () => marks.removeSync(key);
  }
  for (const table of [accounts, delegations]) {
    for (const key of listSuperseded(table.getKeys(), height)) yield () => table.removeSync(key);
  }
}

/**
 * Yields the keys that are followed by a key of the same subject, if that key is not later than the
 * height. The given keys are in order.
 */
function* listSuperseded(keys: Iterable<Buffer>, height: number): Generator<Buffer> {
  let before: Buffer | undefined;
  for (const key of keys) {
    const isSame = before !== undefined && subjectOfKey(key).equals(subjectOfKey(before));
    if (isSame && heightOfKey(key) <= height) yield before as Buffer;
    before = key;
  }
}

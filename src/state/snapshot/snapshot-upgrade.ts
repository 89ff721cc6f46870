/** Converts the tables of a snapshot from an earlier format to the present format. */

import { DELEGATIONS_CHANGED_AT, FIRST_DELEGATION } from '../addresses.ts';
import { MARK_CHANGED_AT, TERMS_CHANGED_AT } from '../markets/markets.ts';
import { PREVIOUS_DELEGATION } from '../staking.ts';
import { ACCOUNT_CHANGED_AT } from '../tables/columns.ts';
import type { Table } from '../tables/table.ts';

interface SnapshotTables {
  readonly addresses: Table;
  readonly marks: Table;
  readonly accounts: Table;
  readonly delegations: Table;
}

/** Format 2 stored the last delegation in this column. */
const LAST_DELEGATION = DELEGATIONS_CHANGED_AT;

/**
 * Format 2 did not store the heights of the last changes. The height of the snapshot is used
 * instead, because it is the latest possible height.
 */
export function upgradeFromFormat2(tables: SnapshotTables, height: number): void {
  linkLastDelegations(tables);
  tables.addresses.fillColumn(DELEGATIONS_CHANGED_AT, height);
  tables.accounts.fillColumn(ACCOUNT_CHANGED_AT, height);
  tables.marks.fillColumn(MARK_CHANGED_AT, height);
  tables.marks.fillColumn(TERMS_CHANGED_AT, height);
}

function linkLastDelegations({ addresses, delegations }: SnapshotTables): void {
  for (let row = 1; row < addresses.rowCount; row++) {
    const first = addresses.get(row, FIRST_DELEGATION);
    if (first === 0) continue;
    delegations.set(first, PREVIOUS_DELEGATION, addresses.get(row, LAST_DELEGATION));
  }
  delegations.commit();
}

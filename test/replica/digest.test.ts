import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { DELEGATIONS_CHANGED_AT } from '../../src/state/addresses.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { PREVIOUS_DELEGATION } from '../../src/state/staking.ts';
import { createState } from '../../src/state/state.ts';
import { ACCOUNT_CHANGED_AT } from '../../src/state/tables/columns.ts';
import type { Table } from '../../src/state/tables/table.ts';

/** Enough for every event that the simulator knows. */
const BLOCKS = 600;
const ROW_CELLS = 8;

const state = createState();
const simulator = createSimulator({ seed: 'digest', accounts: 50 });
for (let height = 1; height <= BLOCKS; height++) applyBlock(state, parseBlock(simulator.next()));
const digest = stateDigest(state);

/** The way back in a list only saves a search, and the heights of changes say nothing of the state. */
const OTHER_COLUMNS: ReadonlyMap<Table, readonly number[]> = new Map([
  [state.addresses.table, [DELEGATIONS_CHANGED_AT]],
  [state.accounts, [ACCOUNT_CHANGED_AT]],
  [state.delegations, [PREVIOUS_DELEGATION]],
]);

/** The last row with a value in this column, or 0. */
function findFilledRow(table: Table, column: number): number {
  let row = table.rowCount - 1;
  while (row > 0 && table.get(row, column) === 0) row--;
  return row;
}

/** Changes a cell, and says whether the digest notices. */
function isInDigest(table: Table, row: number, column: number): boolean {
  const value = table.get(row, column);
  // A link to row 0 ends its list, so that its rows are missing from the digest.
  table.set(row, column, 0);
  const changed = stateDigest(state);
  table.set(row, column, value);
  table.commit();
  return changed !== digest;
}

const TABLES: Readonly<Record<string, Table>> = {
  addresses: state.addresses.table,
  accounts: state.accounts,
  positions: state.positions,
  delegations: state.delegations,
};

for (const [name, table] of Object.entries(TABLES)) {
  test(`every column of the ${name} that any event fills is in the digest`, () => {
    for (let column = 0; column < ROW_CELLS; column++) {
      const row = findFilledRow(table, column);
      if (row === 0 || OTHER_COLUMNS.get(table)?.includes(column)) continue;
      assert.ok(isInDigest(table, row, column), `column ${column}`);
    }
    assert.equal(stateDigest(state), digest);
  });
}

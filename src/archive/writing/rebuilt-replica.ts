/**
 * Rebuilds the ledger's state at the end of an archive from the archive's records. An archiver that
 * was stopped for a while continues from this state if the snapshots before this state were
 * deleted, and the blocks after this state were not.
 */

import { Replica } from '../../replica/replica.ts';
import { findOrAddAccount } from '../../state/accounts.ts';
import { tierTermsOf } from '../../state/markets/margin-tiers.ts';
import { MARK_PRICE, MarketBook } from '../../state/markets/markets.ts';
import { TierTables } from '../../state/markets/tier-tables.ts';
import { createState, type State, type StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import { Table } from '../../state/tables/table.ts';
import type { Archive } from '../reading/archive.ts';
import { putDelegations, putPosition } from '../reading/past-state.ts';
import { AMOUNT } from '../records/account-versions.ts';
import { CELL } from '../records/position-cells.ts';

/** `later` is a state after the archive's end: addresses have the same rows in both states. */
export function rebuildReplica(archive: Archive, later: StateView): Replica {
  const { head } = archive.range;
  const state = listState(archive, head.height);
  const { table } = later.addresses;
  for (let row = 1; row < table.rowCount; row++) {
    state.addresses.findOrAdd(later.addresses.addressOf(row));
  }
  for (const [address, mode] of archive.modesAt(head.height)) {
    state.modes.set(state.addresses.findOrAdd(address), mode, head.height);
  }
  for (let row = 1; row < table.rowCount; row++) putAccounts(archive, state, row);
  const { addresses, markets, accounts, positions, delegations, modes, changes } = state;
  const parts = [addresses, markets, accounts, positions, delegations, modes, changes];
  for (const part of parts) part.commit();
  return new Replica(state, head);
}

/** Returns a state with everything except accounts, delegations and modes. */
function listState(archive: Archive, height: number): State {
  const { markets: listed, auction, isPartial, universes } = archive.listingAt(height);
  const marks = new Table(listed.markets.length + 1);
  for (const market of listed.markets.keys()) {
    marks.set(market + 1, MARK_PRICE, archive.markOf(market, height));
  }
  const tierTables = new TierTables(listed.tierTables.all.map(tierTermsOf));
  return {
    ...createState(),
    ledgerId: archive.range.ledgerId,
    height,
    time: archive.timeOf(height),
    markets: new MarketBook([...listed.dexes], [...listed.markets], marks, tierTables),
    ...{ auction, isPartial, universes },
  };
}

function putAccounts(archive: Archive, state: State, addressRow: number): void {
  const { height } = state;
  const user = state.addresses.addressOf(addressRow);
  const known = archive.findAddress(user);
  for (const dexIndex of known?.dexes ?? []) {
    const version = archive.accountAt(addressRow, dexIndex, height);
    if (version === undefined) continue;
    const { amounts, positions } = version;
    const account = findOrAddAccount(state, user, dexIndex);
    state.accounts.set(account, column.CASH, Number(amounts[AMOUNT.cash]));
    state.accounts.set(account, column.ORDER_MARGIN, Number(amounts[AMOUNT.orderMargin]));
    state.accounts.set(account, column.COLLATERAL, Number(amounts[AMOUNT.collateral]));
    state.accounts.set(account, column.ACCOUNT_TIME, Number(amounts[AMOUNT.readTime]));
    for (const start of positions.starts) {
      // Every position, including closed positions, has a leverage.
      if (positions.cells[start + CELL.leverage] === 0) continue;
      putPosition(state, account, positions.cells, start);
    }
  }
  const list = known && archive.delegationsAt(addressRow, height);
  if (list !== undefined) putDelegations(state, user, list);
}

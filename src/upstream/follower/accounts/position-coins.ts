/** Finds the coins in which a followed account has positions in the ledger. */

import { findAccount } from '../../../state/accounts.ts';
import type { StateView } from '../../../state/state.ts';
import * as column from '../../../state/tables/columns.ts';
import { marketOfTerms } from '../../../state/tables/columns.ts';
import type { Watched } from './watch-list.ts';

export function* findPositionCoins(
  ledger: StateView,
  { item, address }: Watched,
): Generator<string> {
  const { addresses, accounts, positions, markets } = ledger;
  const dexIndex = item.kind === 'account' ? markets.findDex(item.dex) : undefined;
  if (dexIndex === undefined) return;
  const account = findAccount(ledger, addresses.find(address), dexIndex);
  let position = accounts.get(account, column.FIRST_POSITION);
  for (; position !== 0; position = positions.get(position, column.NEXT_POSITION)) {
    if (positions.get(position, column.SIZE) === 0) continue;
    yield markets.markets[marketOfTerms(positions.get(position, column.TERMS))].coin;
  }
}

/** Finds the items of a ledger that were read shortly before its last block. */

import { formatAddress } from '../../../exact/address.ts';
import { FIRST_ACCOUNT } from '../../../state/addresses.ts';
import { accountTime, delegationsTime } from '../../../state/partial-ledger.ts';
import type { StateView } from '../../../state/state.ts';
import * as column from '../../../state/tables/columns.ts';
import type { FollowedItem } from '../../channel/follower-client.ts';
import type { Watched } from './watch-list.ts';

export function* findRecentItems(ledger: StateView, ageMsMax: number): Generator<FollowedItem> {
  const { addresses, accounts, markets, time } = ledger;
  const isRecent = (readTime: number) => readTime > 0 && time - readTime < ageMsMax;
  for (let row = 1; row < addresses.table.rowCount; row++) {
    const user = formatAddress(addresses.addressOf(row));
    let account = addresses.table.get(row, FIRST_ACCOUNT);
    for (; account !== 0; account = accounts.get(account, column.NEXT_ACCOUNT)) {
      if (!isRecent(accounts.get(account, column.ACCOUNT_TIME))) continue;
      const { name: dex } = markets.dexes[accounts.get(account, column.ACCOUNT_DEX)];
      yield { kind: 'account', user, dex };
    }
    if (isRecent(delegationsTime(ledger, addresses.addressOf(row)))) {
      yield { kind: 'delegations', user };
    }
  }
}

/**
 * Returns the time at which the ledger's version of the item was read, by the exchange's clock;
 * returns 0 if the item was never read.
 */
export function recordedTime(ledger: StateView, { item, address }: Watched): number {
  if (item.kind === 'delegations') return delegationsTime(ledger, address);
  const dexIndex = ledger.markets.findDex(item.dex);
  return dexIndex === undefined ? 0 : accountTime(ledger, address, dexIndex);
}

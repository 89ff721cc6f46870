/**
 * Whether two readings are of the same account. An answer does not say whose it is, so one that shares
 * nothing with what is known of the account is asked for again before it is recorded.
 */

import type { Address } from '../../exact/address.ts';
import { countOpenPositions, findAccount, findPosition } from '../../state/accounts.ts';
import type { StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import type { AccountRows, PositionRow } from './account-answer.ts';

/** The account as the ledger holds it: true if the rows can be taken for a later state of it. */
export function isRecorded(ledger: StateView, user: Address, rows: AccountRows): boolean {
  const dexIndex = ledger.markets.findDex(rows.dex);
  if (dexIndex === undefined) return false;
  const account = findAccount(ledger, ledger.addresses.find(user), dexIndex);
  if (account === 0) return false;
  if (rows.positions.some((row) => isRecordedPosition(ledger, account, row))) return true;
  return (
    rows.positions.length === 0 &&
    countOpenPositions(ledger, account) === 0 &&
    ledger.accounts.get(account, column.CASH) === rows.cash
  );
}

function isRecordedPosition(ledger: StateView, account: number, row: PositionRow): boolean {
  const marketIndex = ledger.markets.findMarket(row.market.coin);
  const position = marketIndex === undefined ? 0 : findPosition(ledger, account, marketIndex);
  if (position === 0) return false;
  const read = (cell: number) => ledger.positions.get(position, cell);
  return isSamePosition(row, {
    size: read(column.SIZE),
    entryNotional: read(column.ENTRY_NOTIONAL),
    fundingAllTime: read(column.FUNDING_ALL_TIME),
  });
}

/** True if two readings in a row can be of one account. */
export function isSameAccount(first: AccountRows, second: AccountRows): boolean {
  const byCoin = new Map(first.positions.map((row) => [row.market.coin, row]));
  const isShared = second.positions.some((row) => {
    const other = byCoin.get(row.market.coin);
    return other !== undefined && isSamePosition(other, row);
  });
  const areBothFlat = first.positions.length === 0 && second.positions.length === 0;
  return isShared || (areBothFlat && first.cash === second.cash);
}

type Fingerprint = Pick<PositionRow, 'size' | 'entryNotional' | 'fundingAllTime'>;

/** Between trades size and entry stay; between hours the funding stays, also through a trade. */
function isSamePosition(first: Fingerprint, second: Fingerprint): boolean {
  const isSameEntry = first.size === second.size && first.entryNotional === second.entryNotional;
  const isSameFunding =
    first.fundingAllTime === second.fundingAllTime && first.fundingAllTime !== 0;
  return isSameEntry || isSameFunding;
}

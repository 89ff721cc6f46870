/**
 * Decides whether two answers are about the same account. An answer does not contain the address of
 * its account. If an answer has nothing in common with the recorded account, the follower asks
 * again before it records the answer.
 */

import type { Address } from '../../exact/address.ts';
import { countOpenPositions, findAccount, findPosition } from '../../state/accounts.ts';
import type { StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import type { AccountRows, PositionRow } from './account-answer.ts';

/** Returns true if the rows can be a later state of the account in the ledger. */
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

/** Returns true if two consecutive answers can be about the same account. */
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

/**
 * Size and entry change only with a trade. Funding changes only at full hours, so it is the same
 * before and after a trade within an hour.
 */
function isSamePosition(first: Fingerprint, second: Fingerprint): boolean {
  const isSameEntry = first.size === second.size && first.entryNotional === second.entryNotional;
  const isSameFunding =
    first.fundingAllTime === second.fundingAllTime && first.fundingAllTime !== 0;
  return isSameEntry || isSameFunding;
}

/** The state: tables, books and the auction, all at one height. */

import { AccountModes } from './account-modes.ts';
import { AddressBook } from './addresses.ts';
import type { RecordedAuction } from './auction.ts';
import { ChangeLog } from './change-log.ts';
import { MarketBook } from './markets/markets.ts';
import type { TierTables } from './markets/tier-tables.ts';
import { NO_UNIVERSES, type Universes } from './markets/universe.ts';
import { Table } from './tables/table.ts';

/** Only the fold writes to the state; all other code gets a `StateView`. */
export interface State {
  /** The ledger's id: a shortened hash of its first block. Empty before the first block. */
  ledgerId: string;
  height: number;
  /** The time of the block at `height`, in milliseconds. */
  time: number;
  readonly addresses: AddressBook;
  readonly markets: MarketBook;
  readonly accounts: Table;
  readonly positions: Table;
  readonly delegations: Table;
  readonly modes: AccountModes;
  /** The lists of dexes and markets of another server. */
  universes: Universes;
  auction: RecordedAuction;
  /** The height of the auction's last event. */
  auctionChangedAt: number;
  readonly changes: ChangeLog;
  /**
   * True for a partial ledger: an account that no event has named is unknown there. On other
   * ledgers the account is empty.
   */
  isPartial: boolean;
}

export type TableView = Pick<
  Table,
  'get' | 'rowCount' | 'cells' | 'openSnapshot' | 'closeSnapshot'
>;

/** The state as answers, digests and snapshots see it. */
export interface StateView {
  readonly ledgerId: string;
  readonly height: number;
  readonly time: number;
  readonly addresses: Pick<AddressBook, 'find' | 'addressOf'> & { readonly table: TableView };
  readonly markets: Pick<
    MarketBook,
    | 'dexes'
    | 'markets'
    | 'markPrice'
    | 'findDex'
    | 'findMarket'
    | 'changedAt'
    | 'markChangedAt'
    | 'termsChangedAt'
    | 'dexesChangedAt'
    | 'tiersOf'
  > & {
    readonly marks: TableView;
    readonly tierTables: Pick<TierTables, 'count' | 'all'>;
  };
  readonly accounts: TableView;
  readonly positions: TableView;
  readonly delegations: TableView;
  readonly modes: Pick<AccountModes, 'find' | 'changedAt' | 'listChangedAt' | 'listAddresses'> & {
    readonly table: TableView;
  };
  readonly universes: Universes;
  readonly auction: RecordedAuction;
  readonly auctionChangedAt: number;
  /** The changes that push has not looked at yet; they are not part of the state. */
  readonly changes: Pick<ChangeLog, 'watch' | 'take'>;
  readonly isPartial: boolean;
}

/** The state of an empty ledger: height 0, time 0, and the first dex. */
export function createState(): State {
  return {
    ledgerId: '',
    height: 0,
    time: 0,
    addresses: new AddressBook(),
    markets: new MarketBook(),
    accounts: new Table(),
    positions: new Table(),
    delegations: new Table(),
    modes: new AccountModes(),
    universes: NO_UNIVERSES,
    auction: undefined,
    auctionChangedAt: 0,
    changes: new ChangeLog(),
    isPartial: false,
  };
}

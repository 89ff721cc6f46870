/** The state: tables, books and the auction, all at one height. */

import { AddressBook } from './addresses.ts';
import type { Auction } from './auction.ts';
import { MarketBook } from './markets.ts';
import { Table } from './table.ts';

/** Only the fold writes to it; everyone else gets a `StateView`. */
export interface State {
  height: number;
  /** Milliseconds; the time of the block at `height`. */
  time: number;
  readonly addresses: AddressBook;
  readonly markets: MarketBook;
  readonly accounts: Table;
  readonly positions: Table;
  readonly delegations: Table;
  auction: Auction | undefined;
}

export type TableView = Pick<
  Table,
  'get' | 'rowCount' | 'cells' | 'openSnapshot' | 'closeSnapshot'
>;

/** The state as answers, digests and snapshots see it. */
export interface StateView {
  readonly height: number;
  readonly time: number;
  readonly addresses: Pick<AddressBook, 'find' | 'addressOf'> & { readonly table: TableView };
  readonly markets: Pick<MarketBook, 'dexes' | 'markets' | 'markPrice' | 'findDex'> & {
    readonly marks: TableView;
  };
  readonly accounts: TableView;
  readonly positions: TableView;
  readonly delegations: TableView;
  readonly auction: Auction | undefined;
}

/** The state of an empty ledger: height 0, time 0, and the first dex. */
export function createState(): State {
  return {
    height: 0,
    time: 0,
    addresses: new AddressBook(),
    markets: new MarketBook(),
    accounts: new Table(),
    positions: new Table(),
    delegations: new Table(),
    auction: undefined,
  };
}

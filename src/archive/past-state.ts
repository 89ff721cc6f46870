/**
 * The state at a past height, as far as a question needs it: dexes and markets, and the accounts and
 * delegations that were loaded. It is an ordinary state, so the ordinary code answers from it.
 */

import type { Address } from '../exact/address.ts';
import type { AccountSums, PastView } from '../info/history-view.ts';
import type { Subject } from '../info/subject.ts';
import { findAccount, findOrAddAccount, findOrAddPosition } from '../state/accounts.ts';
import { DELEGATIONS_SEEN } from '../state/addresses.ts';
import * as column from '../state/columns.ts';
import { packTerms } from '../state/columns.ts';
import { MARK_PRICE, type MarketBook } from '../state/markets.ts';
import { listDelegation } from '../state/staking.ts';
import { createState, type State, type StateView } from '../state/state.ts';
import { Table } from '../state/table.ts';
import {
  type AccountVersion,
  AMOUNT,
  CELL,
  type PositionVersion,
  type VersionReader,
} from './account-versions.ts';
import type { Archive } from './archive.ts';
import type { KeptListing } from './listings.ts';

/** An account that was loaded, and its versions, to go on from. */
interface LoadedAccount {
  readonly user: Address;
  readonly addressRow: number;
  readonly dexIndex: number;
  /** Reads the pack that holds the version at `foundAt`; undefined if there was no account. */
  reader: VersionReader | undefined;
  foundAt: number;
  /** Where the archive ended then: later versions may be missing in the pack as it was read. */
  knownUntil: number;
  /** The height from which on versions are in another pack; undefined until it is needed. */
  nextPack: number | undefined;
}

const NO_SUMS: AccountSums = { netTransfers: 0, volume: 0 };

/** What rows are loaded into. It is used again: to allocate it takes longer than an answer. */
interface Room {
  readonly state: State;
  /** The markets that the state's were made of. */
  readonly listed: MarketBook;
  readonly marks: Table;
}

const spareRooms: Room[] = [];
const SPARE_MAX = 16;

/** A state with these markets and without rows. */
function takeRoom(listed: MarketBook): Room {
  const place = spareRooms.findIndex((room) => room.listed === listed);
  if (place === -1) return furnish(takeState(), listed);
  const [room] = spareRooms.splice(place, 1);
  removeRows(room.state);
  return room;
}

/** The room that has been spare for longest gives its state once there are many. */
function takeState(): State {
  const state = spareRooms.length < SPARE_MAX ? undefined : spareRooms.shift()?.state;
  if (state === undefined) return createState();
  removeRows(state);
  return state;
}

/** Nothing is ever committed to it, so this removes every row. */
function removeRows({ addresses, accounts, positions, delegations }: State): void {
  for (const part of [addresses, accounts, positions, delegations]) part.rollback();
}

function furnish(state: State, listed: MarketBook): Room {
  const marks = new Table();
  for (let market = 0; market < listed.markets.length; market++) marks.addRow();
  return { state: { ...state, markets: listed.withMarks(marks) }, listed, marks };
}

export class PastState implements PastView {
  readonly #archive: Archive;
  #room: Room;
  /** The markets whose marks are those of the height. */
  readonly #marksLoaded = new Set<number>();
  readonly #accounts: LoadedAccount[] = [];

  constructor(archive: Archive, height: number) {
    this.#archive = archive;
    const listing = archive.listingAt(height);
    this.#room = takeRoom(listing.markets);
    this.#state.ledgerId = archive.range.ledgerId;
    this.#setHeight(height, listing);
  }

  get #state(): State {
    return this.#room.state;
  }

  #setHeight(height: number, { auction, isPartial }: KeptListing): void {
    this.#state.height = height;
    this.#state.time = this.#archive.timeOf(height);
    this.#state.auction = auction;
    this.#state.isPartial = isPartial;
  }

  get state(): StateView {
    return this.#state;
  }

  release(): void {
    if (spareRooms.length < SPARE_MAX) spareRooms.push(this.#room);
  }

  load(subject: Subject): void {
    const known = this.#archive.findAddress(subject.user);
    if (known === undefined) return;
    if (subject.kind === 'delegations') {
      this.#loadDelegations(subject.user, known.row);
      return;
    }
    const { user, dexIndex } = subject;
    if (!known.dexes.includes(dexIndex)) return;
    const notFound = { reader: undefined, foundAt: 0, knownUntil: 0, nextPack: undefined };
    const account: LoadedAccount = { user, dexIndex, addressRow: known.row, ...notFound };
    this.#accounts.push(account);
    this.#loadPack(account);
  }

  #loadPack(account: LoadedAccount): void {
    const { addressRow, dexIndex } = account;
    const { height } = this.#state;
    const reader = this.#archive.readVersions(addressRow, dexIndex, height);
    account.reader = reader;
    account.foundAt = height;
    account.knownUntil = this.#archive.range.head.height;
    account.nextPack = undefined;
    if (reader !== undefined) this.#putVersion(account, reader.skipTo(height));
  }

  /** The rows are those of an earlier height: reads on from there. */
  #advance(account: LoadedAccount): void {
    const { addressRow, dexIndex, foundAt, knownUntil, reader } = account;
    const { height } = this.#state;
    account.nextPack ??= this.#archive.nextPackAfter(addressRow, dexIndex, foundAt);
    if (height >= account.nextPack || height > knownUntil) this.#loadPack(account);
    else if (reader === undefined) return;
    else if (reader.nextHeight > height) this.#loadMarksOf(reader.version);
    else this.#putVersion(account, reader.skipTo(height));
  }

  /** The rows are those of the last height, the marks are not. */
  #loadMarksOf({ positions }: AccountVersion): void {
    for (const { market, cells } of positions) if (cells[CELL.size] !== 0) this.#loadMark(market);
  }

  #putVersion({ user, dexIndex }: LoadedAccount, version: AccountVersion): void {
    const account = findOrAddAccount(this.#state, user, dexIndex);
    const { accounts } = this.#state;
    const { amounts } = version;
    accounts.set(account, column.CASH, Number(amounts[AMOUNT.cash]));
    accounts.set(account, column.ORDER_MARGIN, Number(amounts[AMOUNT.orderMargin]));
    accounts.set(account, column.COLLATERAL, Number(amounts[AMOUNT.collateral]));
    accounts.set(account, column.ACCOUNT_TIME, Number(amounts[AMOUNT.readTime]));
    for (const position of version.positions) {
      if (position.isRead) this.#putPosition(account, position);
      else if (position.cells[CELL.size] !== 0) this.#loadMark(position.market);
    }
  }

  #putPosition(account: number, position: PositionVersion): void {
    const { positions } = this.#state;
    const { market, cells } = position;
    position.isRead = false;
    const row = findOrAddPosition(this.#state, account, market);
    const packed = cells[CELL.leverage];
    const mode = packed % 2 === 1 ? 'isolated' : 'cross';
    positions.set(row, column.TERMS, packTerms(market, packed >>> 1, mode));
    positions.set(row, column.SIZE, cells[CELL.size]);
    positions.set(row, column.ENTRY_NOTIONAL, cells[CELL.entryNotional]);
    positions.set(row, column.RAW_USD, cells[CELL.rawUsd]);
    positions.set(row, column.FUNDING_ALL_TIME, cells[CELL.fundingAllTime]);
    positions.set(row, column.FUNDING_SINCE_OPEN, cells[CELL.fundingSinceOpen]);
    positions.set(row, column.FUNDING_SINCE_CHANGE, cells[CELL.fundingSinceChange]);
    if (cells[CELL.size] !== 0) this.#loadMark(market);
  }

  #loadMark(market: number): void {
    if (this.#marksLoaded.has(market)) return;
    this.#marksLoaded.add(market);
    const mark = this.#archive.markOf(market, this.#state.height);
    this.#room.marks.set(market + 1, MARK_PRICE, mark);
  }

  #loadDelegations(user: Address, addressRow: number): void {
    const list = this.#archive.delegationsAt(addressRow, this.#state.height);
    if (list === undefined) return;
    const row = this.#state.addresses.findOrAdd(user);
    this.#state.addresses.table.set(row, DELEGATIONS_SEEN, list.seen);
    for (const { validator, amount, lockedUntil } of list.delegations) {
      listDelegation(this.#state, user, { validator, amount, lockedUntilTimestamp: lockedUntil });
    }
  }

  loadMarks(): void {
    for (const market of this.#room.listed.markets.keys()) this.#loadMark(market);
  }

  moveTo(height: number): void {
    const listing = this.#archive.listingAt(height);
    if (listing.markets !== this.#room.listed) this.#room = furnish(this.#state, listing.markets);
    this.#setHeight(height, listing);
    this.#marksLoaded.clear();
    for (const account of this.#accounts) this.#advance(account);
  }

  sumsOf(user: Address, dexIndex: number): AccountSums {
    const loaded = this.#accounts.find(
      (account) => account.dexIndex === dexIndex && isSame(account.user, user),
    );
    const row = findAccount(this.#state, this.#state.addresses.find(user), dexIndex);
    if (loaded?.reader === undefined || row === 0) return NO_SUMS;
    const { amounts } = loaded.reader.version;
    return { netTransfers: amounts[AMOUNT.netTransfers], volume: amounts[AMOUNT.volume] };
  }
}

function isSame(a: Address, b: Address): boolean {
  return a.word0 === b.word0 && a.word1 === b.word1 && a.word2 === b.word2 && a.word3 === b.word3;
}

/**
 * The state at a past height, as far as a question needs it: dexes and markets, and the accounts
 * and delegations that were loaded. It is an ordinary state, so the ordinary code answers from it.
 */

import type { Address } from '../../exact/address.ts';
import type { AccountSums, PastView } from '../../info/archive/history-view.ts';
import type { QuestionSubject } from '../../info/question-subject.ts';
import { findOrAddAccount, findOrAddPosition } from '../../state/accounts.ts';
import { DELEGATIONS_SEEN } from '../../state/addresses.ts';
import { MARK_PRICE, type MarketBook } from '../../state/markets/markets.ts';
import { appendListedDelegation } from '../../state/staking.ts';
import { createState, type State, type StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import { marketOfTerms, packTerms } from '../../state/tables/columns.ts';
import { Table } from '../../state/tables/table.ts';
import { type AccountVersion, AMOUNT, type VersionReader } from '../records/account-versions.ts';
import type { DelegationList } from '../records/delegation-lists.ts';
import { CELL, unpackLeverage } from '../records/position-cells.ts';
import type { Archive } from './archive.ts';

/** A loaded account, with a reader of its versions, so that later versions can be read. */
interface LoadedAccount {
  readonly user: Address;
  readonly addressRow: number;
  readonly dexIndex: number;
  /** Reads the pack that contains the version at `foundAt`; undefined if there was no account. */
  reader: VersionReader | undefined;
  foundAt: number;
  /**
   * The last height of the archive when the pack was read. The pack may not have later versions.
   */
  knownUntil: number;
  /** The first height of the pack that `reader` reads. */
  packStart: number;
  /** The next pack; undefined until it is needed, null if there is none. */
  nextPack: VersionReader | null | undefined;
  /** The account's row in the state; 0 until a version is put into the state. */
  row: number;
}

export const NO_SUMS: AccountSums = { netTransfers: 0, volume: 0 };

/**
 * The tables into which rows are loaded. They are reused, because allocating new tables takes
 * longer than an answer.
 */
class PooledTables {
  readonly marks = new Table();
  readonly #empty = createState();
  /** The states that share these rows, by their markets. */
  readonly #states = new WeakMap<MarketBook, State>();

  stateWith(listed: MarketBook): State {
    const known = this.#states.get(listed);
    if (known !== undefined) return known;
    const { marks } = this;
    while (marks.rowCount <= listed.markets.length) marks.addRow();
    const state = { ...this.#empty, markets: listed.withMarks(marks) };
    this.#states.set(listed, state);
    return state;
  }

  /** Nothing is ever committed to this state, so a rollback removes every row. */
  clear(): void {
    const { addresses, accounts, positions, delegations, modes } = this.#empty;
    for (const part of [modes, addresses, accounts, positions, delegations]) part.rollback();
  }
}

const sparePooled: PooledTables[] = [];
const SPARE_MAX = 16;

export class PastState implements PastView {
  readonly #archive: Archive;
  readonly #pooled: PooledTables;
  /** The state at the height, with everything that was loaded. */
  #state: State;
  /** The height whose mark was loaded last, by market. */
  readonly #markHeights: number[] = [];
  readonly #accounts: LoadedAccount[] = [];

  constructor(archive: Archive, height: number) {
    this.#archive = archive;
    this.#pooled = sparePooled.pop() ?? new PooledTables();
    this.#state = this.#stateAt(height);
  }

  #stateAt(height: number): State {
    const { markets, auction, isPartial, universes } = this.#archive.listingAt(height);
    const state = this.#pooled.stateWith(markets);
    state.ledgerId = this.#archive.range.ledgerId;
    state.height = height;
    state.time = this.#archive.timeOf(height);
    state.auction = auction;
    state.isPartial = isPartial;
    state.universes = universes;
    return state;
  }

  get state(): StateView {
    return this.#state;
  }

  release(): void {
    if (sparePooled.length === SPARE_MAX) return;
    this.#pooled.clear();
    sparePooled.push(this.#pooled);
  }

  load(subject: QuestionSubject): void {
    this.#loadMode(subject.user);
    const known = this.#archive.findAddress(subject.user);
    if (known === undefined) return;
    if (subject.kind === 'delegations') {
      this.#loadDelegations(subject.user, known.row);
      return;
    }
    const { user, dexIndex } = subject;
    if (!known.dexes.includes(dexIndex)) return;
    const account: LoadedAccount = {
      user,
      dexIndex,
      addressRow: known.row,
      reader: undefined,
      foundAt: 0,
      knownUntil: 0,
      packStart: 0,
      nextPack: undefined,
      row: 0,
    };
    this.#accounts.push(account);
    this.#loadPack(account);
  }

  #loadMode(user: Address): void {
    const { addresses, modes, height } = this.#state;
    const mode = this.#archive.modeAt(user, height);
    if (mode !== undefined) modes.set(addresses.findOrAdd(user), mode, height);
  }

  /** Finds the pack that contains the version at the height. */
  #loadPack(account: LoadedAccount): void {
    const { addressRow, dexIndex } = account;
    const { height } = this.#state;
    account.knownUntil = this.#archive.range.head.height;
    account.foundAt = height;
    account.nextPack = undefined;
    account.reader = this.#archive.readVersions(addressRow, dexIndex, height);
    if (account.reader !== undefined) this.#startPack(account, account.reader);
  }

  #startPack(account: LoadedAccount, reader: VersionReader): void {
    account.reader = reader;
    account.packStart = reader.nextHeight;
    this.#putVersion(account, reader);
  }

  /** Moves a loaded account to the height of the state, from the earlier height of its rows. */
  #advance(account: LoadedAccount): void {
    const { knownUntil, reader } = account;
    const { height } = this.#state;
    const next = this.#findNextPack(account);
    if (height > knownUntil) this.#loadPack(account);
    else if (next !== null && height >= next.nextHeight) this.#leavePack(account, next);
    else if (reader === undefined) return;
    else if (reader.nextHeight > height) this.#loadMarksOf(account);
    else this.#putVersion(account, reader);
  }

  #findNextPack(account: LoadedAccount): VersionReader | null {
    if (account.nextPack === undefined) {
      const { addressRow, dexIndex, foundAt } = account;
      account.nextPack = this.#archive.readVersionsAfter(addressRow, dexIndex, foundAt) ?? null;
    }
    return account.nextPack;
  }

  /** Moves an account on if the height is in its next pack, or in a later pack. */
  #leavePack(account: LoadedAccount, next: VersionReader): void {
    const { height } = this.#state;
    const start = next.nextHeight;
    // Each pack of an account covers about the same number of heights. So a height that is far
    // beyond the start of the next pack is probably not in that pack.
    const isFar = height - start > start - account.packStart;
    account.foundAt = start;
    account.nextPack = undefined;
    const afterNext = isFar ? null : this.#findNextPack(account);
    if (isFar || (afterNext !== null && height >= afterNext.nextHeight)) this.#loadPack(account);
    else this.#startPack(account, next);
  }

  /** Puts the version at the height into the state, and the marks of that height. */
  #putVersion(account: LoadedAccount, reader: VersionReader): void {
    const { amounts } = reader.skipTo(this.#state.height);
    account.row ||= findOrAddAccount(this.#state, account.user, account.dexIndex);
    const { row } = account;
    const { accounts } = this.#state;
    accounts.set(row, column.CASH, Number(amounts[AMOUNT.cash]));
    accounts.set(row, column.ORDER_MARGIN, Number(amounts[AMOUNT.orderMargin]));
    accounts.set(row, column.COLLATERAL, Number(amounts[AMOUNT.collateral]));
    accounts.set(row, column.ACCOUNT_TIME, Number(amounts[AMOUNT.readTime]));
    reader.takeChanged((cells, start) => putPosition(this.#state, row, cells, start));
    this.#loadMarksOf(account);
  }

  #loadMarksOf({ row }: LoadedAccount, height = this.#state.height): void {
    const { accounts, positions } = this.#state;
    let position = accounts.get(row, column.FIRST_POSITION);
    for (; position !== 0; position = positions.get(position, column.NEXT_POSITION)) {
      if (positions.get(position, column.SIZE) === 0) continue;
      this.#archive.reads.marks += 1;
      this.#loadMark(marketOfTerms(positions.get(position, column.TERMS)), height);
    }
  }

  #loadMark(market: number, height: number): void {
    if (this.#markHeights[market] === height) return;
    this.#markHeights[market] = height;
    const mark = this.#archive.markOf(market, height);
    this.#pooled.marks.set(market + 1, MARK_PRICE, mark);
  }

  #loadDelegations(user: Address, addressRow: number): void {
    const list = this.#archive.delegationsAt(addressRow, this.#state.height);
    if (list === undefined) return;
    putDelegations(this.#state, user, list);
  }

  loadMarks(): void {
    const { markets } = this.#state.markets;
    this.#archive.reads.marks += markets.length;
    for (const market of markets.keys()) this.#loadMark(market, this.#state.height);
  }

  revalueAt(height: number): void {
    for (const account of this.#accounts) this.#loadMarksOf(account, height);
  }

  moveTo(height: number): void {
    this.#state = this.#stateAt(height);
    for (const account of this.#accounts) this.#advance(account);
  }

  sumsOf(user: Address, dexIndex: number): AccountSums {
    const loaded = this.#accounts.find(
      (account) => account.dexIndex === dexIndex && isSame(account.user, user),
    );
    if (loaded?.reader === undefined) return NO_SUMS;
    return sumsOf(loaded.reader.version);
  }
}

export function sumsOf({ amounts }: AccountVersion): AccountSums {
  return { netTransfers: amounts[AMOUNT.netTransfers], volume: amounts[AMOUNT.volume] };
}

function isSame(a: Address, b: Address): boolean {
  return a.word0 === b.word0 && a.word1 === b.word1 && a.word2 === b.word2 && a.word3 === b.word3;
}

/** Puts the cells of a version's position into the state. */
export function putPosition(state: State, account: number, cells: number[], start: number): void {
  const { positions } = state;
  const market = cells[start + CELL.market];
  cells[start + CELL.row] ||= findOrAddPosition(state, account, market);
  const row = cells[start + CELL.row];
  const { leverage, isIsolated, tierTable } = unpackLeverage(cells[start + CELL.leverage]);
  const mode = isIsolated ? 'isolated' : 'cross';
  positions.set(row, column.TERMS, packTerms(market, leverage, mode, tierTable));
  positions.set(row, column.SIZE, cells[start + CELL.size]);
  positions.set(row, column.ENTRY_NOTIONAL, cells[start + CELL.entryNotional]);
  positions.set(row, column.RAW_USD, cells[start + CELL.rawUsd]);
  positions.set(row, column.FUNDING_ALL_TIME, cells[start + CELL.fundingAllTime]);
  positions.set(row, column.FUNDING_SINCE_OPEN, cells[start + CELL.fundingSinceOpen]);
  positions.set(row, column.FUNDING_SINCE_CHANGE, cells[start + CELL.fundingSinceChange]);
}

export function putDelegations(state: State, user: Address, list: DelegationList): void {
  const row = state.addresses.findOrAdd(user);
  state.addresses.table.set(row, DELEGATIONS_SEEN, list.seen);
  for (const { validator, amount, lockedUntil } of list.delegations) {
    appendListedDelegation(state, user, { validator, amount, lockedUntilTimestamp: lockedUntil });
  }
}

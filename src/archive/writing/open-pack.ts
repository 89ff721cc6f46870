/** The newest pack of an account's versions, which is still written to. */

import { add, type Exact } from '../../exact/decimal.ts';
import { findAccount, findPosition } from '../../state/accounts.ts';
import { accountFigures } from '../../state/figures/figures.ts';
import type { StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import { marketOfTerms } from '../../state/tables/columns.ts';
import {
  AccountVersion,
  AMOUNT,
  packWhole,
  VersionChange,
  VersionReader,
} from '../records/account-versions.ts';
import { type AccountId, type ArchiveEntry, accountKey } from '../records/archive-tables.ts';
import { CELL, readCells } from '../records/position-cells.ts';
import { PackedWriter } from '../records/record-encoding.ts';
import { type AccountEffect, causesOf } from './block-effects.ts';

/** The minimum length of a complete pack, in bytes. A reader reads half of a pack on average. */
const PACK_BYTES = 1024;

/** One object, which is reused for every change. */
const change = new VersionChange();

export class OpenPack {
  readonly id: AccountId;
  #last = new AccountVersion();
  #firstHeight: number;
  #out: PackedWriter;
  /**
   * The length of the pack when it contained only its first version. The packs of large accounts
   * are larger.
   */
  #firstBytes = 0;
  #isDirty = false;
  readonly #finished: ArchiveEntry[] = [];

  /** Continues a stored pack, or starts the account's first pack. */
  constructor(id: AccountId, stored?: ArchiveEntry) {
    this.id = id;
    this.#out = new PackedWriter(stored?.record);
    this.#firstHeight = stored?.height ?? 0;
    if (stored === undefined) return;
    const reader = new VersionReader(id, stored);
    reader.next();
    this.#firstBytes = reader.offset;
    this.#last = reader.skipTo(Number.MAX_SAFE_INTEGER);
  }

  get isDirty(): boolean {
    return this.#isDirty;
  }

  /**
   * Adds the account's rows after the state's last block as the next version, if the rows have
   * changed.
   */
  add(state: StateView, effect: AccountEffect): void {
    const account = findAccount(state, this.id.addressRow, this.id.dexIndex);
    if (account === 0) return;
    const last = this.#last;
    const isNew = last.height === 0;
    change.begin(last, state.height);
    readAmounts(change.amounts, state, account);
    change.amounts[AMOUNT.volume] = add(last.amounts[AMOUNT.volume], effect.volume);
    change.amounts[AMOUNT.netTransfers] = isNew
      ? openingTransfers(state, account, effect)
      : add(last.amounts[AMOUNT.netTransfers], effect.transfers);
    if (isNew || effect.isReplaced) this.#putAllPositions(state, account, effect);
    else this.#putNamedPositions(state, account, effect);
    // The first version of a pack is packed as a whole, not as a change.
    const isFirst = isNew || this.#isFull;
    if (!change.end(isFirst ? undefined : this.#out)) return;
    if (isFirst) this.#startPack();
    this.#isDirty = true;
  }

  get #isFull(): boolean {
    return this.#out.length >= Math.max(PACK_BYTES, 4 * this.#firstBytes);
  }

  #putAllPositions(state: StateView, account: number, effect: AccountEffect): void {
    const last = this.#last.positions;
    let row = state.accounts.get(account, column.FIRST_POSITION);
    for (; row !== 0; row = state.positions.get(row, column.NEXT_POSITION)) {
      const market = readCells(change.cells, 0, state, row);
      const start = last.findOrAdd(market);
      last.cells[start + CELL.row] = row;
      change.putPosition(start, causesOf(effect, market));
    }
  }

  /**
   * Compares only the positions that the block concerns, because most accounts have far more
   * positions.
   */
  #putNamedPositions(state: StateView, account: number, { causes }: AccountEffect): void {
    const last = this.#last.positions;
    for (let index = 0; index < causes.length; index += 2) {
      const market = causes[index];
      const start = last.findOrAdd(market);
      last.cells[start + CELL.row] ||= findPosition(state, account, market);
      readCells(change.cells, 0, state, last.cells[start + CELL.row]);
      change.putPosition(start, causes[index + 1]);
    }
  }

  /** Starts the next pack, which begins with the whole last version. */
  #startPack(): void {
    if (this.#isDirty) this.#finished.push(this.#current());
    this.#out.clear();
    packWhole(this.#out, this.#last);
    this.#firstHeight = this.#last.height;
    this.#firstBytes = this.#out.length;
  }

  #current(): ArchiveEntry {
    const height = this.#firstHeight;
    const key = accountKey(this.id, height);
    return { key, height, record: this.#out.finish(key) };
  }

  /** Returns the packs that have changed since the last call. */
  takeChanged(): readonly ArchiveEntry[] {
    const changed = this.#finished.splice(0);
    if (this.#isDirty) changed.push(this.#current());
    this.#isDirty = false;
    return changed;
  }
}

/**
 * Returns the net transfers of an account's first version. If an event has replaced the whole
 * account, the value of the account counts as a transfer to it, because the account was empty
 * before.
 */
function openingTransfers(state: StateView, account: number, effect: AccountEffect): Exact {
  if (!effect.isReplaced) return effect.transfers;
  return accountFigures(state, account).summary.accountValue;
}

/** Returns the rows of the account as a version, without the sums, which only events change. */
export function versionOf(state: StateView, account: number): AccountVersion {
  const version = new AccountVersion();
  version.height = state.height;
  readAmounts(version.amounts, state, account);
  const { positions } = state;
  let row = state.accounts.get(account, column.FIRST_POSITION);
  for (; row !== 0; row = positions.get(row, column.NEXT_POSITION)) {
    const start = version.positions.findOrAdd(marketOfTerms(positions.get(row, column.TERMS)));
    readCells(version.positions.cells, start, state, row);
  }
  return version;
}

function readAmounts(amounts: Exact[], { accounts }: StateView, account: number): void {
  amounts[AMOUNT.cash] = accounts.get(account, column.CASH);
  amounts[AMOUNT.orderMargin] = accounts.get(account, column.ORDER_MARGIN);
  amounts[AMOUNT.collateral] = accounts.get(account, column.COLLATERAL);
  amounts[AMOUNT.readTime] = accounts.get(account, column.ACCOUNT_TIME);
}

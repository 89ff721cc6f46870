/** The newest pack of an account's versions, which is still written to. */

import { add, type Exact } from '../exact/decimal.ts';
import { findAccount } from '../state/accounts.ts';
import * as column from '../state/columns.ts';
import { isIsolatedTerms, leverageOfTerms, marketOfTerms } from '../state/columns.ts';
import { accountFigures } from '../state/figures.ts';
import type { StateView } from '../state/state.ts';
import {
  AccountVersion,
  AMOUNT,
  causeBit,
  describePack,
  hasChanged,
  packChange,
  VersionReader,
} from './account-versions.ts';
import type { AccountId } from './archive-tables.ts';
import type { AccountEffect } from './block-effects.ts';
import { PackedWriter } from './packed.ts';

/** A pack that has reached this size is complete. A reader reads half of one on average. */
const PACK_BYTES = 1024;

interface FinishedPack {
  readonly height: number;
  readonly record: Buffer;
}

export class OpenPack {
  readonly id: AccountId;
  #last = new AccountVersion();
  #firstHeight: number;
  #out: PackedWriter;
  /** The length of the pack when it held its first version: packs of large accounts are larger. */
  #firstBytes = 0;
  #isDirty = false;
  readonly #finished: FinishedPack[] = [];

  /** Continues a stored pack, or starts the first one. */
  constructor(id: AccountId, stored?: FinishedPack) {
    this.id = id;
    this.#out = new PackedWriter(stored?.record);
    this.#firstHeight = stored?.height ?? 0;
    if (stored === undefined) return;
    const reader = new VersionReader(stored.record, describePack(id));
    reader.next();
    this.#firstBytes = reader.offset;
    this.#last = reader.skipTo(Number.MAX_SAFE_INTEGER);
  }

  get isDirty(): boolean {
    return this.#isDirty;
  }

  /** The account's rows after the state's last block become the next version, if they are new. */
  add(state: StateView, effect: AccountEffect): void {
    const account = findAccount(state, this.id.addressRow, this.id.dexIndex);
    if (account === 0) return;
    const version = versionOf(state, account);
    for (const position of version.positions) {
      const causes = effect.causes.get(position.market) ?? 0;
      position.causes = causes | (effect.isReplaced ? causeBit('account') : 0);
    }
    const isNew = this.#last.height === 0;
    const { amounts } = this.#last;
    version.amounts[AMOUNT.volume] = add(amounts[AMOUNT.volume], effect.volume);
    version.amounts[AMOUNT.netTransfers] = isNew
      ? openingTransfers(state, account, effect)
      : add(amounts[AMOUNT.netTransfers], effect.transfers);
    this.#put(version);
  }

  #put(version: AccountVersion): void {
    if (!hasChanged(this.#last, version)) return;
    const isFull = this.#out.length >= Math.max(PACK_BYTES, 4 * this.#firstBytes);
    if (isFull) this.#startNext();
    packChange(this.#out, this.#last, version);
    if (this.#firstHeight === 0) {
      this.#firstHeight = version.height;
      this.#firstBytes = this.#out.length;
    }
    this.#last = version;
    this.#isDirty = true;
  }

  #startNext(): void {
    if (this.#isDirty) this.#finished.push(this.#current());
    this.#out = new PackedWriter();
    this.#last = new AccountVersion();
    this.#firstHeight = 0;
  }

  #current(): FinishedPack {
    return { height: this.#firstHeight, record: this.#out.finish() };
  }

  /** The packs that have changed since the last call. */
  takeChanged(): readonly FinishedPack[] {
    const changed = this.#finished.splice(0);
    if (this.#isDirty) changed.push(this.#current());
    this.#isDirty = false;
    return changed;
  }
}

/** Before its first version an account held nothing: what it begins with counts as transferred to it. */
function openingTransfers(state: StateView, account: number, effect: AccountEffect): Exact {
  if (!effect.isReplaced) return effect.transfers;
  return accountFigures(state, account).summary.accountValue;
}

/** The account's rows as a version, without what only events tell. */
export function versionOf(state: StateView, account: number): AccountVersion {
  const { accounts, positions } = state;
  const version = new AccountVersion();
  version.height = state.height;
  version.amounts[AMOUNT.cash] = accounts.get(account, column.CASH);
  version.amounts[AMOUNT.orderMargin] = accounts.get(account, column.ORDER_MARGIN);
  version.amounts[AMOUNT.collateral] = accounts.get(account, column.COLLATERAL);
  version.amounts[AMOUNT.readTime] = accounts.get(account, column.ACCOUNT_TIME);
  let row = accounts.get(account, column.FIRST_POSITION);
  for (; row !== 0; row = positions.get(row, column.NEXT_POSITION)) {
    const terms = positions.get(row, column.TERMS);
    version.positions.push({
      market: marketOfTerms(terms),
      cells: [
        leverageOfTerms(terms) * 2 + (isIsolatedTerms(terms) ? 1 : 0),
        positions.get(row, column.SIZE),
        positions.get(row, column.ENTRY_NOTIONAL),
        positions.get(row, column.RAW_USD),
        positions.get(row, column.FUNDING_ALL_TIME),
        positions.get(row, column.FUNDING_SINCE_OPEN),
        positions.get(row, column.FUNDING_SINCE_CHANGE),
      ],
      causes: 0,
    });
  }
  return version;
}

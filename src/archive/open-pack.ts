/** The newest pack of an account's versions, which is still written to. */

import { add, type Exact } from '../exact/decimal.ts';
import { findAccount } from '../state/accounts.ts';
import * as column from '../state/columns.ts';
import { isIsolatedTerms, leverageOfTerms, marketOfTerms } from '../state/columns.ts';
import { accountFigures } from '../state/figures.ts';
import type { StateView } from '../state/state.ts';
import {
  AccountVersion,
  CASH,
  COLLATERAL,
  causeBit,
  describePack,
  hasChanged,
  NET_TRANSFERS,
  ORDER_MARGIN,
  packChange,
  READ_TIME,
  VersionReader,
  VOLUME,
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
    const version = readVersion(state, account, effect);
    const isNew = this.#last.height === 0;
    const { amounts } = this.#last;
    version.amounts[VOLUME] = add(amounts[VOLUME], effect.volume);
    version.amounts[NET_TRANSFERS] = isNew
      ? openingTransfers(state, account, effect)
      : add(amounts[NET_TRANSFERS], effect.transfers);
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

function readVersion(state: StateView, account: number, effect: AccountEffect): AccountVersion {
  const { accounts, positions } = state;
  const version = new AccountVersion();
  version.height = state.height;
  version.amounts[CASH] = accounts.get(account, column.CASH);
  version.amounts[ORDER_MARGIN] = accounts.get(account, column.ORDER_MARGIN);
  version.amounts[COLLATERAL] = accounts.get(account, column.COLLATERAL);
  version.amounts[READ_TIME] = accounts.get(account, column.ACCOUNT_TIME);
  let row = accounts.get(account, column.FIRST_POSITION);
  for (; row !== 0; row = positions.get(row, column.NEXT_POSITION)) {
    const terms = positions.get(row, column.TERMS);
    const market = marketOfTerms(terms);
    version.positions.push({
      market,
      cells: [
        leverageOfTerms(terms) * 2 + (isIsolatedTerms(terms) ? 1 : 0),
        positions.get(row, column.SIZE),
        positions.get(row, column.ENTRY_NOTIONAL),
        positions.get(row, column.RAW_USD),
        positions.get(row, column.FUNDING_ALL_TIME),
        positions.get(row, column.FUNDING_SINCE_OPEN),
        positions.get(row, column.FUNDING_SINCE_CHANGE),
      ],
      causes: (effect.causes.get(market) ?? 0) | (effect.isReplaced ? causeBit('account') : 0),
    });
  }
  return version;
}

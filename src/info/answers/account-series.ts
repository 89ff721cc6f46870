/** Computes an account's figures over time, and writes them as JSON or CSV. */

import { USD_DECIMALS } from '../../events/fields.ts';
import type { Address } from '../../exact/address.ts';
import { add, type Exact } from '../../exact/decimal.ts';
import { findAccount } from '../../state/accounts.ts';
import { accountTotals } from '../../state/figures/account-totals.ts';
import type { StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import type { HistoryView, PastView } from '../archive/history-view.ts';
import type { SeriesPoint } from '../archive/time-range.ts';
import { requireDex } from '../fields/dex-field.ts';
import type { AnswerFormat } from '../fields/format-field.ts';
import { AnswerWriter, writtenText } from '../writing/answer-writer.ts';

/** The columns of a row, in their order. The columns after the time are amounts. */
export const COLUMNS = [
  ...['height', 'time', 'accountValue', 'totalNtlPos', 'totalMarginUsed', 'withdrawable'],
  ...['unrealizedPnl', 'cumFunding', 'netTransfers'],
];
export const CSV_HEAD = `${COLUMNS.join(',')}\r\n`;
export const SERIES_AMOUNTS = COLUMNS.length - 2;

/** A row of a series. */
export interface SeriesRow {
  /**
   * The height and the amounts are undefined in a gap, and if a partial ledger does not know the
   * account.
   */
  readonly height: number | undefined;
  readonly time: number;
  readonly amounts: readonly Exact[] | undefined;
}

/** A number of bytes that is enough for the longest row. */
const SERIES_ROW_BYTES = 1024;

/**
 * Writes the rows of a series. Each row is written when it is added, so that little work is left at
 * the end of the answer.
 */
export class SeriesWriter {
  readonly #format: AnswerFormat;
  readonly #out = new AnswerWriter();

  constructor(format: AnswerFormat) {
    this.#format = format;
    this.#out.long(format === 'csv' ? CSV_HEAD : '[');
  }

  add(row: SeriesRow): void {
    if (this.#format === 'csv') {
      writeCsvRow(this.#out, row);
      return;
    }
    writeJsonRow(this.#out, row);
    this.#out.text(',');
  }

  finish(): string {
    const text = this.#out.toString();
    if (this.#format === 'csv') return text;
    return text === '[' ? '[]' : `${text.slice(0, -1)}]`;
  }
}

function writeJsonRow(out: AnswerWriter, { height, time, amounts }: SeriesRow): void {
  out.reserve(SERIES_ROW_BYTES);
  out.text('[');
  if (height === undefined) out.text('null');
  else out.whole(height);
  out.text(',');
  out.whole(time);
  if (amounts === undefined) out.text(NO_AMOUNTS_JSON);
  for (const amount of amounts ?? []) {
    out.text(',"');
    out.units(amount, USD_DECIMALS);
    out.text('"');
  }
  out.text(']');
}

const NO_AMOUNTS_JSON = ',null'.repeat(SERIES_AMOUNTS);
const NO_AMOUNTS_CSV = ','.repeat(SERIES_AMOUNTS);

/** Ends the line with CRLF, as the CSV standard (RFC 4180) says. */
function writeCsvRow(out: AnswerWriter, { height, time, amounts }: SeriesRow): void {
  out.reserve(SERIES_ROW_BYTES);
  out.text(`${height ?? ''},`);
  out.whole(time);
  if (amounts === undefined) out.text(NO_AMOUNTS_CSV);
  for (const amount of amounts ?? []) {
    out.text(',');
    out.units(amount, USD_DECIMALS);
  }
  out.text('\r\n');
}

export function formatCsvRow(row: SeriesRow): string {
  return writtenText((out) => writeCsvRow(out, row));
}

/**
 * Returns the index of a dex. The dex is searched at the end of the range, because it may not exist
 * yet at the start. The index never changes.
 */
export function findDexAtEnd(history: HistoryView, { to }: { to: number }, dex: string): number {
  const height = history.heightAt(to) ?? history.range().first;
  const past = history.at(height);
  try {
    return requireDex(past.state, dex);
  } finally {
    past.release();
  }
}

/** Computes an account's figures at ascending heights. */
export class AccountSeries {
  readonly #history: HistoryView;
  readonly #user: Address;
  readonly #dexIndex: number;
  #past: PastView | undefined;

  constructor(history: HistoryView, user: Address, dexIndex: number) {
    this.#history = history;
    this.#user = user;
    this.#dexIndex = dexIndex;
  }

  rowAt({ height, time }: SeriesPoint): SeriesRow {
    const amounts = height === undefined ? undefined : this.#figuresAt(height);
    return { height: amounts === undefined ? undefined : height, time, amounts };
  }

  #moveTo(height: number): PastView {
    if (this.#past === undefined) {
      this.#past = this.#history.at(height);
      this.#past.load({ kind: 'account', user: this.#user, dexIndex: this.#dexIndex });
    } else {
      this.#past.moveTo(height);
    }
    return this.#past;
  }

  /** Call this after the last row. */
  release(): void {
    this.#past?.release();
    this.#past = undefined;
  }

  #findAccount(state: StateView): number {
    return findAccount(state, state.addresses.find(this.#user), this.#dexIndex);
  }

  /** Returns undefined if a partial ledger does not know the account. */
  #figuresAt(height: number): Exact[] | undefined {
    const past = this.#moveTo(height);
    const { state } = past;
    const account = this.#findAccount(state);
    if (account === 0 && state.isPartial) return undefined;
    const totals = accountTotals(state, account);
    const { accountValue, totalNtlPos, totalMarginUsed, withdrawable, unrealizedPnl } = totals;
    const { netTransfers } = past.sumsOf(this.#user, this.#dexIndex);
    const cumFunding = sumFunding(state, account);
    return [
      ...[accountValue, totalNtlPos, totalMarginUsed, withdrawable, unrealizedPnl],
      ...[cumFunding, netTransfers],
    ];
  }
}

/** The funding that the account has paid in all its positions, including closed positions. */
function sumFunding({ accounts, positions }: StateView, account: number): Exact {
  let sum: Exact = 0;
  let row = accounts.get(account, column.FIRST_POSITION);
  for (; row !== 0; row = positions.get(row, column.NEXT_POSITION)) {
    sum = add(sum, positions.get(row, column.FUNDING_ALL_TIME));
  }
  return sum;
}

/**
 * Checks an archive: the checksum of every record, and whether its last state equals the state that
 * results from the ledger's blocks.
 */

import { formatAddress } from '../exact/address.ts';
import { FIRST_ACCOUNT } from '../state/addresses.ts';
import { tierTermsOf } from '../state/markets/margin-tiers.ts';
import { termsOf } from '../state/markets/markets.ts';
import { describeAuction } from '../state/snapshot/snapshot.ts';
import type { StateView } from '../state/state.ts';
import * as column from '../state/tables/columns.ts';
import type { Archive } from './reading/archive.ts';
import { type AccountVersion, AMOUNT } from './records/account-versions.ts';
import { delegationsKey } from './records/archive-tables.ts';
import {
  type DelegationList,
  packDelegations,
  unpackDelegations,
} from './records/delegation-lists.ts';
import { CELL } from './records/position-cells.ts';
import { DamagedRecord } from './records/record-encoding.ts';
import { versionOf } from './writing/open-pack.ts';

export interface ArchiveCheckOptions {
  readonly archive: Archive;
  /** The ledger's state at the archive's last height. */
  readonly state: StateView;
  /** Called from time to time; may throw to abort the check. */
  progress(done: number, of: number): void;
}

/**
 * Throws a DamagedRecord if the checksum of a record is wrong, or if the archive differs from the
 * ledger.
 */
export function checkArchive({ archive, state, progress }: ArchiveCheckOptions): void {
  archive.checkRecords();
  checkListing(archive, state);
  checkMarks(archive, state);
  const { table } = state.addresses;
  for (let row = 1; row < table.rowCount; row++) {
    checkAddress(archive, state, row);
    progress(row, table.rowCount);
  }
}

function checkListing(archive: Archive, state: StateView): void {
  const { height } = state;
  const found = toText(describeListing(archive.listingAt(height)));
  requireEqual(`the listing of height ${height}`, found, toText(describeListing(state)));
}

/**
 * Compares the dexes, the terms of markets, the margin tiers of single positions, the auction, and
 * the lists of another server.
 */
function describeListing({ markets, auction, isPartial, universes }: ListingView): unknown[] {
  const dexes = markets.dexes.map(({ name, fullName, deployer }) => [name, fullName, deployer]);
  const terms = markets.markets.map(termsOf);
  const tables = markets.tierTables.all.map(tierTermsOf);
  const { dexes: listed, byDex } = universes;
  const texts = dexes.map((_dex, index) => byDex.get(index)?.text);
  return [dexes, terms, tables, describeAuction(auction), isPartial, listed?.text, texts];
}

type ListingView = Pick<StateView, 'markets' | 'auction' | 'isPartial' | 'universes'>;

function checkMarks(archive: Archive, { markets, height, time }: StateView): void {
  requireEqual(`the time of height ${height}`, archive.timeOf(height), time);
  for (const [market, { coin }] of markets.markets.entries()) {
    const mark = archive.markOf(market, height);
    requireEqual(`the mark of ${coin} at height ${height}`, mark, markets.markPrice(market));
  }
}

function checkAddress(archive: Archive, state: StateView, row: number): void {
  const address = state.addresses.addressOf(row);
  const text = formatAddress(address);
  let account = state.addresses.table.get(row, FIRST_ACCOUNT);
  const known = archive.findAddress(address);
  const mode = archive.modeAt(address, state.height);
  requireEqual(`the mode of ${text}`, mode, state.modes.find(row));
  if (known !== undefined) requireEqual(`the row of ${text}`, known.row, row);
  for (; account !== 0; account = state.accounts.get(account, column.NEXT_ACCOUNT)) {
    const dexIndex = state.accounts.get(account, column.ACCOUNT_DEX);
    const what = `the account of ${text} on dex ${dexIndex}`;
    if (!known?.dexes.includes(dexIndex)) throw new DamagedRecord(`${what} is not in the archive`);
    const found = archive.accountAt(row, dexIndex, state.height);
    requireEqual(what, found && describe(found), describe(versionOf(state, account)));
  }
  const stored = archive.delegationsAt(row, state.height) ?? NO_DELEGATIONS;
  const key = delegationsKey(row, state.height);
  const expected = unpackDelegations(packDelegations(state, row, key), key, text);
  requireEqual(`the delegations of ${text}`, toText(stored), toText(expected));
}

const NO_DELEGATIONS: DelegationList = { seen: 0, delegations: [] };

/**
 * Describes the values that answers show. Answers do not show the leverage of a closed position.
 */
function describe({ amounts, positions }: AccountVersion): string {
  const { starts, cells } = positions;
  const open = starts.filter((start) => cells[start + CELL.size] !== 0);
  return toText([
    amounts.slice(0, AMOUNT.netTransfers),
    open.map((start) => [cells[start + CELL.market], ...positions.archivedCells(start)]),
  ]);
}

function toText(value: unknown): string {
  return JSON.stringify(value, (_key, each) => (typeof each === 'bigint' ? String(each) : each));
}

function requireEqual(what: string, found: unknown, expected: unknown): void {
  if (found === expected) return;
  const [archived, actual] = [String(found), String(expected)];
  let same = 0;
  while (same < archived.length && archived[same] === actual[same]) same++;
  const [left, right] = [archived, actual].map((text) => excerpt(text, same));
  throw new DamagedRecord(`${what} is ${left} in the archive, and ${right} in the ledger`);
}

/** The length of an excerpt from a long text, because a listing has many kilobytes. */
const EXCERPT_LENGTH = 200;

function excerpt(text: string, place: number): string {
  if (text.length <= EXCERPT_LENGTH) return text;
  const start = Math.max(0, place - EXCERPT_LENGTH / 4);
  const end = start + EXCERPT_LENGTH;
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`;
}

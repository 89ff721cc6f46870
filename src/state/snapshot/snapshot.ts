/**
 * A snapshot of the state: a short description in JSON, and the raw bytes of the tables (doubles,
 * little-endian). To load a snapshot, decode the description, allocate the tables, and read each
 * table's bytes directly into its cells.
 *
 * Decoding trusts the bytes: the caller stores a checksum and verifies it first.
 */

import { AccountModes } from '../account-modes.ts';
import { AddressBook } from '../addresses.ts';
import type { Auction, RecordedAuction } from '../auction.ts';
import { ChangeLog } from '../change-log.ts';
import { type TierTerms, tierTermsOf } from '../markets/margin-tiers.ts';
import {
  createMarket,
  type Dex,
  MarketBook,
  type MarketTerms,
  termsOf,
} from '../markets/markets.ts';
import { TierTables } from '../markets/tier-tables.ts';
import {
  type DescribedUniverses,
  decodeUniverses,
  describeUniverses,
} from '../markets/universe.ts';
import type { State, StateView, TableView } from '../state.ts';
import { ROW_BYTES, Table } from '../tables/table.ts';
import type { TableSnapshot } from '../tables/table-snapshot.ts';
import { upgradeFromFormat2 } from './snapshot-upgrade.ts';

/**
 * The number of the present format. Increment it when the format changes, and write an upgrade from
 * the previous format. Snapshots with formats that are not in FORMATS_READ are ignored.
 */
const FORMAT = 4;
const FORMATS_READ: readonly number[] = [2, 3, FORMAT];

const TABLE_NAMES = [
  'addresses',
  'marks',
  'accounts',
  'positions',
  'delegations',
  'modes',
] as const;
type TableName = (typeof TABLE_NAMES)[number];
/** The first format that has the table of modes. */
const MODES_FORMAT = 4;

/** The tables whose bytes are in a snapshot. */
function tablesIn({ format }: SnapshotDescription): readonly TableName[] {
  return format < MODES_FORMAT ? TABLE_NAMES.filter((name) => name !== 'modes') : TABLE_NAMES;
}

/** An auction as JSON. Gas is decimal text of its smallest unit, because JSON has no bigint. */
export type DescribedAuction = Record<keyof Auction, number | string | null> | 'none' | null;

export interface SnapshotDescription {
  format: number;
  /** Present since format 3. */
  ledgerId?: string;
  height: number;
  time: number;
  dexes: { name: string; fullName: string; deployer: string | null }[];
  markets: MarketTerms[];
  /** Present since format 4. */
  tierTables?: TierTerms[][];
  auction: DescribedAuction;
  /** Present since format 3. */
  auctionChangedAt?: number;
  isPartial: boolean;
  /** Present since format 4. */
  universes?: DescribedUniverses;
  /** The table `modes` is present since format 4. */
  rowCounts: Record<TableName, number>;
}

function tablesOf(state: StateView) {
  return {
    addresses: state.addresses.table,
    marks: state.markets.marks,
    accounts: state.accounts,
    positions: state.positions,
    delegations: state.delegations,
    modes: state.modes.table,
  };
}

function describe(state: StateView): SnapshotDescription {
  const tables = tablesOf(state);
  const { auction, markets } = state;
  return {
    format: FORMAT,
    ledgerId: state.ledgerId,
    height: state.height,
    time: state.time,
    dexes: markets.dexes.map((dex) => ({ ...dex, deployer: dex.deployer ?? null })),
    markets: markets.markets.map(termsOf),
    tierTables: markets.tierTables.all.map(tierTermsOf),
    auction: describeAuction(auction),
    auctionChangedAt: state.auctionChangedAt,
    isPartial: state.isPartial,
    universes: describeUniverses(state.universes),
    rowCounts: {
      addresses: tables.addresses.rowCount,
      marks: tables.marks.rowCount,
      accounts: tables.accounts.rowCount,
      positions: tables.positions.rowCount,
      delegations: tables.delegations.rowCount,
      modes: tables.modes.rowCount,
    },
  };
}

export interface EncodedSnapshot {
  readonly description: Uint8Array;
  /** The bytes of the tables, in pieces. Each piece is valid until the next piece is taken. */
  readonly tables: Iterable<Uint8Array>;
  /**
   * Must be called at the end, also after a failure: while a snapshot is open, writes to the tables
   * take longer.
   */
  release(): void;
}

/** Encodes the present state, between two blocks. Later blocks do not change the snapshot. */
export function encodeSnapshot(state: StateView): EncodedSnapshot {
  const named = tablesOf(state);
  const tables = TABLE_NAMES.map((name) => named[name]);
  const snapshots = openAll(tables);
  return {
    description: new TextEncoder().encode(JSON.stringify(describe(state))),
    tables: piecesOf(snapshots),
    release() {
      for (const table of tables) table.closeSnapshot();
    },
  };
}

/** Opens a snapshot of every table. If this fails for a table, closes all snapshots and throws. */
function openAll(tables: readonly TableView[]): TableSnapshot[] {
  const snapshots: TableSnapshot[] = [];
  try {
    for (const table of tables) snapshots.push(table.openSnapshot());
  } catch (error) {
    for (const table of tables.slice(0, snapshots.length)) table.closeSnapshot();
    throw error;
  }
  return snapshots;
}

function* piecesOf(snapshots: readonly TableSnapshot[]): Generator<Uint8Array, void, void> {
  for (const snapshot of snapshots) {
    for (const piece of snapshot.pieces()) yield bytesOf(piece);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/**
 * The error for a snapshot whose format this version cannot read. The snapshot may be undamaged.
 */
export class SnapshotFormatError extends Error {
  override readonly name = 'SnapshotFormatError';
}

export function decodeDescription(bytes: Uint8Array): SnapshotDescription {
  const description = JSON.parse(new TextDecoder().decode(bytes)) as SnapshotDescription;
  const { format } = description;
  if (FORMATS_READ.includes(format)) return description;
  const version = format > FORMAT ? 'a newer perpinfo: upgrade this one' : 'an older perpinfo';
  throw new SnapshotFormatError(
    `it has format ${format}, expected one of ${FORMATS_READ.join(', ')}; it was written by ${version}`,
  );
}

/** The number of bytes of all tables together. */
export function tableByteLength(description: SnapshotDescription): number {
  let rows = 0;
  for (const name of tablesIn(description)) {
    const count = description.rowCounts[name];
    const isSound = Number.isSafeInteger(count) && count >= 1;
    if (!isSound) throw new Error(`the row count of ${name} is ${count}, expected 1 or more`);
    rows += count;
  }
  return rows * ROW_BYTES;
}

/**
 * Returns tables of the right sizes, and views of their cells. The caller reads the snapshot's
 * bytes into the views.
 */
export function allocateTables(description: SnapshotDescription) {
  const names = tablesIn(description);
  const tables = {} as Record<TableName, Table>;
  for (const name of TABLE_NAMES) {
    tables[name] = names.includes(name) ? new Table(description.rowCounts[name]) : new Table();
  }
  return { tables, targets: names.map((name) => bytesOf(tables[name].cells)) };
}

export function describeAuction(auction: RecordedAuction): DescribedAuction {
  if (auction === undefined) return null;
  if (auction === null) return 'none';
  return {
    ...auction,
    startGas: auction.startGas.toString(),
    floorGas: auction.floorGas.toString(),
    endGas: auction.endGas?.toString() ?? null,
  };
}

export function decodeAuction(auction: DescribedAuction): RecordedAuction {
  if (auction === null) return undefined;
  if (auction === 'none') return null;
  return {
    startTimeSeconds: Number(auction.startTimeSeconds),
    durationSeconds: Number(auction.durationSeconds),
    startGas: BigInt(auction.startGas ?? 0),
    floorGas: BigInt(auction.floorGas ?? 0),
    endGas: auction.endGas === null ? undefined : BigInt(auction.endGas),
  };
}

/** Returns the state. Call this function after the cells of the tables have been read. */
export function decodeState(
  description: SnapshotDescription,
  tables: Record<TableName, Table>,
): State {
  if (description.format === 2) upgradeFromFormat2(tables, description.height);
  const dexes: Dex[] = description.dexes.map((dex) => ({
    ...dex,
    deployer: dex.deployer ?? undefined,
  }));
  const tierTables = new TierTables(description.tierTables);
  return {
    ledgerId: description.ledgerId ?? '',
    height: description.height,
    time: description.time,
    addresses: new AddressBook(tables.addresses),
    markets: new MarketBook(dexes, description.markets.map(createMarket), tables.marks, tierTables),
    accounts: tables.accounts,
    positions: tables.positions,
    delegations: tables.delegations,
    modes: new AccountModes(tables.modes),
    universes: decodeUniverses(description.universes),
    auction: decodeAuction(description.auction),
    auctionChangedAt: description.auctionChangedAt ?? description.height,
    changes: new ChangeLog(),
    isPartial: description.isPartial,
  };
}

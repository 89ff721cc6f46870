/**
 * Writes the archive: applies each block of the ledger, and notes what the block changed. The
 * changes since the last flush are in memory. A flush is one transaction, so the archive always
 * ends after a whole block.
 */

import type { StoredBlock } from '../../ledger/ledger.ts';
import type { OwnerEntry } from '../../ledger/ownership/owner-entry.ts';
import type { Replica } from '../../replica/replica.ts';
import { DELEGATIONS_SEEN, FIRST_ACCOUNT, FIRST_DELEGATION } from '../../state/addresses.ts';
import type { StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import { packKnownAddress } from '../records/address-record.ts';
import { type ArchiveRange, putRange } from '../records/archive-range.ts';
import {
  type AccountId,
  type ArchiveEntry,
  type ArchiveFolder,
  type ArchiveTables,
  delegationsKey,
  findPack,
  markKey,
  packAddress,
} from '../records/archive-tables.ts';
import { packDelegations } from '../records/delegation-lists.ts';
import {
  MarkSpan,
  packTimes,
  placeInSpan,
  SPAN_HEIGHTS,
  spanOf,
  unpackTimes,
} from '../records/height-spans.ts';
import { findListingChange, listedIn } from '../records/listing-changes.ts';
import { requireArchiveOwner } from './archive-owner.ts';
import { type AccountEffect, BlockEffects, numberAccount } from './block-effects.ts';
import { OpenPack } from './open-pack.ts';
import { findRemovals } from './outdated-records.ts';

/**
 * The maximum number of packs that stay in memory after a flush, so that the packs of busy accounts
 * need not be read again.
 */
const PACKS_KEPT_MAX = 20_000;
/** The image of a large ledger is written in transactions of this many addresses. */
const IMAGE_ADDRESSES = 20_000;
/**
 * The room on the disk, in bytes, that a flush may take for each changed record, in addition to the
 * bytes of the record.
 */
const RECORD_PAGE_BYTES = 4096;

interface Put {
  readonly bytes: number;
  /** Writes the record. Called in the transaction. */
  apply(): void;
}

export interface ArchiverParts {
  readonly folder: ArchiveFolder;
  /** The owner entry with which the archive was taken over. */
  readonly owner: OwnerEntry;
  /** A replica at the end of the archive, or at any height if the archive is empty. */
  readonly replica: Replica;
  /** The heights of the archive; undefined if the archive is empty. */
  readonly range: ArchiveRange | undefined;
}

export class Archiver {
  readonly #folder: ArchiveFolder;
  readonly #tables: ArchiveTables;
  readonly #replica: Replica;
  readonly #owner: OwnerEntry;
  #range: ArchiveRange | undefined;
  /** The first height, as long as the archive is empty. */
  readonly #start: number;
  readonly #packs = new Map<number, OpenPack>();
  /** The number of packs that have changed since the last flush. */
  #accountsPending = 0;
  readonly #puts: Put[] = [];
  #span = -1;
  #times: Float64Array = new Float64Array(SPAN_HEIGHTS).fill(Number.NaN);
  #areTimesDirty = false;
  readonly #marks = new Map<number, MarkSpan>();
  readonly #dirtyMarks = new Set<number>();
  #listedBefore: ReturnType<typeof listedIn>;
  #bytesPending = 0;

  constructor({ folder, owner, replica, range }: ArchiverParts) {
    this.#folder = folder;
    this.#tables = folder.tables;
    this.#owner = owner;
    this.#replica = replica;
    this.#range = range;
    this.#start = replica.point.height + 1;
    this.#listedBefore = listedIn(replica.state);
    if (range !== undefined) this.#continueSpan(range.head.height);
  }

  get height(): number {
    return this.#replica.point.height;
  }

  get hasPending(): boolean {
    return this.#range?.head.height !== this.height && this.height > 0;
  }

  /** The approximate number of bytes that the next flush writes. */
  get bytesPending(): number {
    return this.#bytesPending;
  }

  /**
   * The number of accounts that the next flush writes. Each account takes memory until then, even
   * if its events are short.
   */
  get accountsPending(): number {
    return this.#accountsPending;
  }

  apply(stored: StoredBlock): void {
    const effects = new BlockEffects(this.#replica.state);
    this.#replica.apply(stored, effects);
    this.#note(effects);
    this.#bytesPending += stored.line.length;
  }

  #note(effects: BlockEffects): void {
    const { state } = this.#replica;
    this.#noteListing(state);
    this.#noteTime(state);
    this.#noteMarks(state);
    for (const effect of effects.accounts.values()) this.#noteAccount(state, effect);
    for (const addressRow of effects.delegators) this.#noteDelegations(state, addressRow);
  }

  #noteListing(state: StateView, isWhole = false): void {
    const record = findListingChange(state, this.#listedBefore, isWhole);
    this.#listedBefore = listedIn(state);
    if (record === undefined) return;
    const { height } = state;
    this.#put(record.length, () => void this.#tables.listings.put(height, record));
  }

  #put(bytes: number, apply: () => void): void {
    this.#puts.push({ bytes, apply });
  }

  #noteTime({ height, time }: StateView): void {
    if (spanOf(height) !== this.#span) this.#startSpan(height);
    this.#times[placeInSpan(height)] = time;
    this.#areTimesDirty = true;
  }

  /** Starts the span of a height. The records of the previous span are complete then. */
  #startSpan(height: number): void {
    this.#putSpan();
    this.#span = spanOf(height);
    this.#times = new Float64Array(SPAN_HEIGHTS).fill(Number.NaN);
    for (const [market, { last }] of this.#marks) {
      this.#marks.set(market, new MarkSpan(last));
      this.#dirtyMarks.add(market);
    }
  }

  #putSpan(): void {
    const span = this.#span;
    if (this.#areTimesDirty) {
      const record = packTimes(this.#times, span);
      this.#put(record.length, () => void this.#tables.times.put(span, record));
    }
    for (const market of this.#dirtyMarks) {
      const key = markKey(span, market);
      const record = (this.#marks.get(market) as MarkSpan).pack(key);
      this.#put(record.length, () => void this.#tables.marks.put(key, record));
    }
    this.#areTimesDirty = false;
    this.#dirtyMarks.clear();
  }

  #noteMarks({ markets, height }: StateView, isWhole = false): void {
    for (let market = 0; market < markets.markets.length; market++) {
      if (!isWhole && markets.markChangedAt(market) !== height) continue;
      const span = this.#marks.get(market) ?? new MarkSpan(0);
      this.#marks.set(market, span);
      span.add(placeInSpan(height), markets.markPrice(market));
      this.#dirtyMarks.add(market);
    }
  }

  /** Reads the records of the archive's last span, so that they can be continued. */
  #continueSpan(height: number): void {
    this.#span = spanOf(height);
    const times = this.#tables.times.get(this.#span);
    if (times !== undefined) this.#times = unpackTimes(times, this.#span);
    const { markets } = this.#replica.state.markets;
    for (let market = 0; market < markets.length; market++) {
      const key = markKey(this.#span, market);
      const record = this.#tables.marks.get(key);
      if (record === undefined) continue;
      this.#marks.set(market, MarkSpan.unpack(record, key, `the marks of market ${market}`));
    }
  }

  #noteAccount(state: StateView, effect: AccountEffect): void {
    const pack = this.#packOf(state, effect);
    const wasDirty = pack.isDirty;
    pack.add(state, effect);
    if (pack.isDirty && !wasDirty) this.#accountsPending++;
  }

  #packOf(state: StateView, { addressRow, dexIndex }: AccountId): OpenPack {
    const number = numberAccount(addressRow, dexIndex);
    const known = this.#packs.get(number);
    if (known !== undefined) return known;
    const id = { addressRow, dexIndex };
    const stored = findPack(this.#tables, id);
    if (stored === undefined) this.#putAddress(state, addressRow);
    const pack = new OpenPack(id, stored);
    this.#packs.set(number, pack);
    return pack;
  }

  /** The record of an address names the dexes on which it has accounts. */
  #putAddress(state: StateView, addressRow: number): void {
    const dexes: number[] = [];
    let account = state.addresses.table.get(addressRow, FIRST_ACCOUNT);
    for (; account !== 0; account = state.accounts.get(account, column.NEXT_ACCOUNT)) {
      dexes.push(state.accounts.get(account, column.ACCOUNT_DEX));
    }
    const key = packAddress(state.addresses.addressOf(addressRow));
    const record = packKnownAddress({ row: addressRow, dexes }, key);
    this.#put(record.length, () => void this.#tables.addresses.put(key, record));
  }

  #noteDelegations(state: StateView, addressRow: number): void {
    const key = delegationsKey(addressRow, state.height);
    const record = packDelegations(state, addressRow, key);
    const address = packAddress(state.addresses.addressOf(addressRow));
    if (!this.#tables.addresses.doesExist(address)) this.#putAddress(state, addressRow);
    this.#put(record.length, () => void this.#tables.delegations.put(key, record));
  }

  /** Makes everything up to the last block durable in one transaction. */
  async flush(): Promise<void> {
    if (!this.hasPending) return;
    const { ledgerId } = this.#replica.state;
    const before = this.#range ?? { ledgerId, first: this.#start, firstImage: 0, gaps: [] };
    await this.#commit({ ...before, head: this.#replica.point });
  }

  async #commit(range: ArchiveRange | undefined): Promise<void> {
    this.#putSpan();
    for (const { key, record } of this.#takePacks()) {
      this.#put(record.length, () => void this.#tables.accounts.put(key, record));
    }
    const puts = this.#puts.splice(0);
    const bytes = puts.reduce((sum, put) => sum + put.bytes + RECORD_PAGE_BYTES, 0);
    await this.#folder.transact(bytes, () => {
      // The memory of this process does not contain what another process has written.
      requireArchiveOwner(this.#tables, this.#owner);
      for (const put of puts) put.apply();
      if (range !== undefined) putRange(this.#tables, range);
    });
    this.#range = range ?? this.#range;
    this.#bytesPending = 0;
    this.#accountsPending = 0;
    this.#forgetPacks();
  }

  *#takePacks(): Iterable<ArchiveEntry> {
    for (const pack of this.#packs.values()) {
      if (pack.isDirty) yield* pack.takeChanged();
    }
  }

  /** Removes packs from memory, the oldest packs first. */
  #forgetPacks(): void {
    for (const number of this.#packs.keys()) {
      if (this.#packs.size <= PACKS_KEPT_MAX) return;
      this.#packs.delete(number);
    }
  }

  /**
   * Removes versions that were replaced before a height. The version just before the height stays,
   * because sums begin with this version.
   */
  async forgetBefore(height: number): Promise<void> {
    if (this.#range === undefined || height <= this.#range.first) return;
    const gaps = this.#range.gaps.filter(([, to]) => to > height);
    // The range is written first, so that no reader asks for records that are removed.
    await this.#commit({ ...this.#range, first: height, firstImage: 0, gaps });
    for (const removals of findRemovals(this.#tables, height - 1)) {
      await this.#folder.transact(0, () => {
        for (const remove of removals) remove();
      });
    }
  }

  /**
   * Writes an image of the whole state, for a ledger whose first blocks were pruned, or whose
   * blocks were pruned before they were archived. Readers see the image when all of it is written.
   */
  async noteImage(progress: (done: number, of: number) => void): Promise<void> {
    const { state } = this.#replica;
    this.#noteListing(state, true);
    this.#noteTime(state);
    this.#noteMarks(state, true);
    const { table } = state.addresses;
    for (let row = 1; row < table.rowCount; row++) {
      this.#noteAddress(state, row);
      if (row % IMAGE_ADDRESSES !== 0) continue;
      await this.#commit(undefined);
      progress(row, table.rowCount);
    }
    const before = this.#range;
    const { ledgerId, height } = state;
    const range = before ?? { ledgerId, first: height, firstImage: height, gaps: [] };
    const gaps: ArchiveRange['gaps'] =
      before === undefined ? [] : [...before.gaps, [before.head.height + 1, height - 1]];
    await this.#commit({ ...range, gaps, head: this.#replica.point });
  }

  #noteAddress(state: StateView, addressRow: number): void {
    let account = state.addresses.table.get(addressRow, FIRST_ACCOUNT);
    for (; account !== 0; account = state.accounts.get(account, column.NEXT_ACCOUNT)) {
      const dexIndex = state.accounts.get(account, column.ACCOUNT_DEX);
      const effect = { transfers: 0, volume: 0, causes: [], isReplaced: true };
      this.#noteAccount(state, { addressRow, dexIndex, ...effect });
    }
    const hasDelegations =
      state.addresses.table.get(addressRow, FIRST_DELEGATION) !== 0 ||
      state.addresses.table.get(addressRow, DELEGATIONS_SEEN) !== 0;
    if (hasDelegations) this.#noteDelegations(state, addressRow);
  }
}

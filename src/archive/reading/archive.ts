/**
 * Reads an archive: the parts of the state that a question needs, at any height that the archive
 * contains.
 */

import { type Address, formatAddress, parseAddress } from '../../exact/address.ts';
import { LedgerError } from '../../ledger/ledger.ts';
import { type AccountVersion, type ReadCount, VersionReader } from '../records/account-versions.ts';
import { type KnownAddress, unpackKnownAddress } from '../records/address-record.ts';
import { type ArchiveRange, isInRange, readRange } from '../records/archive-range.ts';
import {
  type ArchiveFolder,
  findDelegations,
  findPack,
  findPackFrom,
  markKey,
  openArchiveFolder,
  packAddress,
} from '../records/archive-tables.ts';
import { type DelegationList, unpackDelegations } from '../records/delegation-lists.ts';
import {
  lastPlace,
  placeInSpan,
  SPAN_HEIGHTS,
  spanOf,
  unpackMark,
  unpackMarks,
  unpackTimes,
} from '../records/height-spans.ts';
import { type KeptListing, KeptListings } from '../records/listing-changes.ts';
import { checkRecord } from '../records/record-encoding.ts';
import { MarkCache } from './mark-cache.ts';

/** The maximum number of spans whose first times are cached, for the search by time. */
const TIMES_KEPT_MAX = 65_536;
/** The maximum number of spans whose times are cached. Each span takes two kilobytes. */
const SPANS_KEPT_MAX = 1024;

export class Archive {
  readonly #folder: ArchiveFolder;
  readonly #listings: KeptListings;
  #range: ArchiveRange;
  readonly #firstTimes = new Map<number, number>();
  readonly #times = new Map<number, Float64Array>();
  readonly #marks = new MarkCache({
    readMark: (market, height) =>
      this.#withMarks(market, spanOf(height), (record, key, what) =>
        unpackMark(record, key, what, placeInSpan(height)),
      ),
    readMarks: (market, span) => this.#withMarks(market, span, unpackMarks),
  });
  readonly reads: ReadCount = { marks: 0, changes: 0 };
  /**
   * The first time that is not 0, and the first height of the archive when this time was found; 0
   * if unknown.
   */
  #firstTime = 0;
  #firstTimeOfHeight = 0;
  /** The span in which a time was found last. */
  #lastFound = -1;

  constructor(folder: ArchiveFolder, range: ArchiveRange) {
    this.#folder = folder;
    this.#range = range;
    this.#listings = new KeptListings(folder.tables);
    this.#listings.update();
  }

  /**
   * Refreshes the range of the archive. Call this before the questions of each turn of the event
   * loop.
   */
  refresh(): ArchiveRange {
    this.#folder.refresh();
    const range = readRange(this.#folder.tables);
    if (range === undefined) throw new LedgerError('missing', 'the archive is being built again');
    if (range.head.height !== this.#range.head.height) {
      this.#listings.update();
      this.#forgetSpan(spanOf(this.#range.head.height));
    }
    this.#range = range;
    return range;
  }

  /**
   * Drops the cached values of a span that was the last span. Only the last span grows; other spans
   * never change.
   */
  #forgetSpan(span: number): void {
    this.#times.delete(span);
    this.#marks.forget(span);
  }

  get range(): ArchiveRange {
    return this.#range;
  }

  holds(height: number): boolean {
    return isInRange(this.#range, height);
  }

  listingAt(height: number): KeptListing {
    return this.#listings.at(height);
  }

  modeAt(address: Address, height: number): string | undefined {
    return this.#listings.modeAt(formatAddress(address), height);
  }

  /** All modes at a height, in the order in which events first named their addresses. */
  *modesAt(height: number): Iterable<readonly [address: Address, mode: string]> {
    for (const text of this.#listings.modedAddresses()) {
      const mode = this.#listings.modeAt(text, height);
      const address = parseAddress(text);
      if (mode !== undefined && address !== undefined) yield [address, mode];
    }
  }

  timeOf(height: number): number {
    const time = this.#timesOf(spanOf(height))?.[placeInSpan(height)];
    if (time !== undefined) return time;
    throw new LedgerError('corrupt', `the archive has no time of height ${height}`);
  }

  /**
   * The first time that a question may ask about. The first blocks of a followed ledger have the
   * time 0, because they are written before the exchange has sent its time.
   */
  firstTime(): number {
    const { first, head } = this.#range;
    if (first !== this.#firstTimeOfHeight || this.#firstTime === 0) {
      const last = this.timeOf(first) > 0 ? first - 1 : (this.heightAt(0) as number);
      const next =
        this.#range.gaps.find(([from, to]) => from === last + 1 && from <= to)?.[1] ?? last;
      this.#firstTime = next < head.height ? this.timeOf(next + 1) : 0;
      this.#firstTimeOfHeight = first;
    }
    return this.#firstTime;
  }

  /** Returns the times of a span's blocks; returns undefined in a gap. */
  #timesOf(span: number): Float64Array | undefined {
    const kept = this.#times.get(span);
    if (kept !== undefined) return kept;
    const record = this.#folder.tables.times.getBinaryFast(span);
    if (record === undefined) return undefined;
    const times = unpackTimes(record, span);
    if (this.#times.size === SPANS_KEPT_MAX) this.#times.clear();
    this.#times.set(span, times);
    return times;
  }

  /**
   * The last height whose block is not later than the time; undefined if the first block is later.
   */
  heightAt(time: number): number | undefined {
    if (time < this.timeOf(this.#range.first)) return undefined;
    if (!this.#isInSpan(this.#lastFound, time)) this.#lastFound = this.#findSpan(time);
    return this.#lastNotLater(this.#lastFound, time);
  }

  /**
   * True if the span contains the time. The last span that was found is checked before the search,
   * because consecutive times are mostly in the same span.
   */
  #isInSpan(span: number, time: number): boolean {
    const { first, head } = this.#range;
    const isKept = span >= spanOf(first) && span < spanOf(head.height);
    return isKept && this.#firstTimeOf(span) <= time && this.#firstTimeOf(span + 1) > time;
  }

  /** The last span whose first block is not later than the time. */
  #findSpan(time: number): number {
    const { first, head } = this.#range;
    let low = spanOf(first);
    let high = spanOf(head.height);
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#firstTimeOf(middle) <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The time of the first block of the span; -Infinity if the span is in a gap. */
  #firstTimeOf(span: number): number {
    const known = this.#firstTimes.get(span);
    if (known !== undefined) return known;
    const times = this.#timesOf(span) ?? [];
    const time = times.find((each) => !Number.isNaN(each)) ?? Number.NEGATIVE_INFINITY;
    if (this.#firstTimes.size === TIMES_KEPT_MAX) this.#firstTimes.clear();
    this.#firstTimes.set(span, time);
    return time;
  }

  #lastNotLater(span: number, time: number): number | undefined {
    for (let each = span; each >= spanOf(this.#range.first); each--) {
      const times = this.#timesOf(each);
      const place = times === undefined ? -1 : lastPlace(times, time);
      if (place !== -1) return each * SPAN_HEIGHTS + place;
    }
    return undefined;
  }

  markOf(market: number, height: number): number {
    return this.#marks.get(market, height);
  }

  #withMarks<T>(
    market: number,
    span: number,
    unpack: (record: Buffer, key: Buffer, what: string) => T,
  ): T {
    const key = markKey(span, market);
    const record = this.#folder.tables.marks.getBinaryFast(key);
    const what = `the record of marks of market ${market} in span ${span}`;
    if (record === undefined) throw new LedgerError('corrupt', `the archive lacks ${what}`);
    return unpack(record, key, what);
  }

  findAddress(address: Address): KnownAddress | undefined {
    const key = packAddress(address);
    const record = this.#folder.tables.addresses.get(key);
    return record === undefined ? undefined : unpackKnownAddress(record, key);
  }

  /** The account's version at a height; undefined if there was no account. */
  accountAt(addressRow: number, dexIndex: number, height: number): AccountVersion | undefined {
    return this.readVersions(addressRow, dexIndex, height)?.skipTo(height);
  }

  /**
   * Returns a reader of the pack that contains the version at a height; returns undefined if there
   * is no version.
   */
  readVersions(addressRow: number, dexIndex: number, height: number): VersionReader | undefined {
    const id = { addressRow, dexIndex };
    const pack = findPack(this.#folder.tables, id, height);
    return pack === undefined ? undefined : new VersionReader(id, pack, this.reads);
  }

  /**
   * Returns a reader of the account's first pack that begins after a height; returns undefined if
   * there is none.
   */
  readVersionsAfter(
    addressRow: number,
    dexIndex: number,
    height: number,
  ): VersionReader | undefined {
    const id = { addressRow, dexIndex };
    const pack = findPackFrom(this.#folder.tables, id, height + 1);
    return pack === undefined ? undefined : new VersionReader(id, pack, this.reads);
  }

  /**
   * Yields the account's versions from one height to another, in order. Each version is valid until
   * the next version is read.
   */
  *versionsOf(
    addressRow: number,
    dexIndex: number,
    { from, to }: { readonly from: number; readonly to: number },
  ): Iterable<AccountVersion> {
    const id = { addressRow, dexIndex };
    const { tables } = this.#folder;
    let pack = findPack(tables, id, from) ?? findPackFrom(tables, id, from);
    // Packs are found one by one: the caller may pause, and an open cursor would prevent LMDB from
    // reusing old pages.
    for (; pack !== undefined; pack = findPackFrom(tables, id, pack.height + 1)) {
      const reader = new VersionReader(id, pack, this.reads);
      while (reader.nextHeight <= to) {
        const version = reader.next();
        if (version.height >= from) yield version;
      }
      if (reader.nextHeight !== Number.POSITIVE_INFINITY) return;
    }
  }

  delegationsAt(addressRow: number, height: number): DelegationList | undefined {
    const found = findDelegations(this.#folder.tables, addressRow, height);
    if (found === undefined) return undefined;
    const { key, record } = found;
    return unpackDelegations(record, key, `the delegations of address ${addressRow}`);
  }

  /**
   * False if the archive's file was removed or replaced. The open file then does not grow any more.
   */
  isInPlace(): boolean {
    return this.#folder.isInPlace();
  }

  /** Throws a DamagedRecord if the checksum of any record is wrong. */
  checkRecords(): void {
    const { meta: _checked, ...tables } = this.#folder.tables;
    for (const [name, table] of Object.entries(tables)) {
      for (const { key, value } of table.getRange()) {
        const shown = Buffer.isBuffer(key) ? key.toString('hex') : key;
        checkRecord(value, key, `the record ${shown} of ${name}`);
      }
    }
  }

  close(): Promise<void> {
    return this.#folder.close();
  }
}

/**
 * Opens an archive for reading. Returns undefined if there is no archive, or if its first image is
 * not complete.
 */
export async function openArchive(dataDirectory: string): Promise<Archive | undefined> {
  const folder = await openArchiveFolder(dataDirectory, { readOnly: true });
  if (folder === undefined) return undefined;
  try {
    const range = readRange(folder.tables);
    if (range !== undefined) return new Archive(folder, range);
  } catch (error) {
    await folder.close();
    throw error;
  }
  await folder.close();
  return undefined;
}
